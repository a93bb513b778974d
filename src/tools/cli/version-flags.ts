/** The flags by which a server behaves as another release than the one it is. */
import type { Command } from "commander";
import type { EmulationOptions } from "../../objects/catalogue/effective-version.ts";
import { commaList } from "./flags.ts";

export function withVersionFlags(command: Command): Command {
  return command
    .option(
      "--emulated-version <version>",
      "release to behave as: 1.35 or kube=1.35; not greater than --release, at most three less",
      commaList,
    )
    .option(
      "--min-compatibility-version <version>",
      "oldest release to stay compatible with: what is stored can be read by it (default the one before the emulated)",
      commaList,
    )
    .option(
      "--emulation-forward-compatible",
      "serve later versions, up to --release, of what the emulated release serves",
    )
    .option(
      "--runtime-config-emulation-forward-compatible",
      "let --runtime-config switch on what came after the emulated release",
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
