/** The flags of `serve` by which a server emulates an older release. */
import type { Command } from "commander";
import type { EmulationOptions } from "../../objects/catalog/effective-version.ts";
import { OptionError } from "../../base/option-error.ts";
import { parseBoolean } from "../../meta/boolean.ts";
import { releaseInfo, isReleaseName } from "../../objects/catalog/release.ts";
import { booleanOption, commaList } from "./flags.ts";

export interface VersionFlags extends EmulationOptions {
  readonly release: string;
  readonly version?: string;
}

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
    .addOption(
      booleanOption(
        "--emulation-forward-compatible",
        "also serve newer API versions, introduced up to --release, of resources that the emulated release serves",
      ),
    )
    .addOption(
      booleanOption(
        "--runtime-config-emulation-forward-compatible",
        "allow --runtime-config to enable APIs that were introduced after the emulated release",
      ),
    )
    .option("--version [text]", "print the version and exit; with vX.Y.Z, report this version at /version");
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

/**
 * As kube-apiserver's --version: "print" for true and raw; otherwise the text is the version that the server reports.
 * Undefined if the flag is not set.
 */
export function versionRequest({
  release,
  version,
}: VersionFlags): "print" | { readonly reported: string } | undefined {
  if (version === undefined) return undefined;
  const isSet = version === "raw" ? true : parseBoolean(version);
  if (isSet !== undefined) return isSet ? "print" : undefined;
  if (!/^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]{0,200})?$/.test(version) || !version.startsWith(`v${release}.`))
    throw new OptionError(
      `--version=${version.slice(0, 200)} must be true, false, raw or a version of release ${release} such as v${release}.0-custom`,
    );
  return { reported: version };
}

/** The line that --version prints; undefined for an unknown release. */
export function versionLine({ release }: Pick<VersionFlags, "release">): string | undefined {
  return isReleaseName(release) ? `Kubernetes ${releaseInfo(release).gitVersion}+evenkeel` : undefined;
}
