/** The flags of `serve` by which a server emulates an older release. */
import type { Command } from "commander";
import type { EmulationOptions } from "../../objects/catalog/effective-version.ts";
import { commaList } from "./flags.ts";

export function withVersionFlags(command: Command): Command {
  return command
    .option(
      "--emulated-version <version>",
      "release to emulate, 1.35 or kube=1.35; not newer than --release, at most three minors older",
      commaList,
    )
    .option(
      "--min-compatibility-version <version>",
      "oldest release that must be able to read stored objects (default: the one before the emulated release)",
      commaList,
    )
    .option(
      "--emulation-forward-compatible",
      "also serve newer API versions, introduced up to --release, of resources that the emulated release serves",
    )
    .option(
      "--runtime-config-emulation-forward-compatible",
      "allow --runtime-config to enable APIs that were introduced after the emulated release",
    );
}

export function emulationOptionsOf(flags: EmulationOptions): EmulationOptions {
  const { emulatedVersion, minCompatibilityVersion } = flags;
  return {
    ...(emulatedVersion === undefined ? {} : { emulatedVersion }),
    ...(minCompatibilityVersion === undefined ? {} : { minCompatibilityVersion }),
    emulationForwardCompatible: flags.emulationForwardCompatible ?? false,
    runtimeConfigEmulationForwardCompatible: flags.runtimeConfigEmulationForwardCompatible ?? false,
  };
}
