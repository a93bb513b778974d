/**
 * Decides as which release a server behaves, and which release must be able to decode the objects that it writes, with
 * kube-apiserver's flags, ranges and errors.
 */
import { isReleaseName, type ReleaseName } from "./release.ts";
import type { Emulation } from "./emulation.ts";
import { OptionError } from "../../base/option-error.ts";

export interface EmulationOptions {
  /** `--emulated-version`: "1.35" or "kube=1.35". Default: the release of the code. */
  readonly emulatedVersion?: readonly string[];
  /**
   * `--min-compatibility-version`, in the same form as `emulatedVersion`. Default: the release before the emulated one,
   * but not older than the oldest release that the binary can emulate.
   */
  readonly minCompatibilityVersion?: readonly string[];
  /** `--emulation-forward-compatible`: also serve later versions of the resources that the emulated release serves. */
  readonly emulationForwardCompatible?: boolean;
  /** `--runtime-config-emulation-forward-compatible`: also serve later versions that the runtime config names. */
  readonly runtimeConfigEmulationForwardCompatible?: boolean;
}

export interface EffectiveVersion {
  /** The release of the code. */
  readonly binary: ReleaseName;
  /** The release as which the server behaves. */
  readonly release: ReleaseName;
  /** The minor version, such as "1.35". */
  readonly minCompatibility: string;
  /** Undefined unless `emulatedVersion` or `minCompatibilityVersion` is set. */
  readonly emulation: Emulation | undefined;
}

interface Flag {
  readonly name: string;
  /** The first release that has the flag. */
  readonly sinceMinor: number;
}

const EMULATED: Flag = { name: "emulated-version", sinceMinor: 31 };
const MIN_COMPATIBILITY: Flag = { name: "min-compatibility-version", sinceMinor: 35 };
const FORWARD: Flag = { name: "emulation-forward-compatible", sinceMinor: 33 };
const RUNTIME_CONFIG_FORWARD: Flag = { name: "runtime-config-emulation-forward-compatible", sinceMinor: 33 };

/** The oldest release that binaries from WIDE_RANGE_MINOR on can emulate. */
const FLOOR_MINOR = 31;
/** From this release on, a binary can emulate up to three releases before it. Older binaries can emulate only one. */
const WIDE_RANGE_MINOR = 33;

export function effectiveVersion(binary: ReleaseName, options: EmulationOptions): EffectiveVersion {
  const highest = minorOf(binary);
  const emulated = parsedFlag(EMULATED, options.emulatedVersion, highest);
  const oldest = parsedFlag(MIN_COMPATIBILITY, options.minCompatibilityVersion, highest);
  const isForwardCompatible = isOn(FORWARD, options.emulationForwardCompatible, highest);
  const isRuntimeConfigForwardCompatible = isOn(
    RUNTIME_CONFIG_FORWARD,
    options.runtimeConfigEmulationForwardCompatible,
    highest,
  );
  const floor = highest < WIDE_RANGE_MINOR ? highest - 1 : Math.max(highest - 3, FLOOR_MINOR);
  const emulation = emulated ?? highest;
  checkRange("emulation version", emulation, [floor, highest]);
  // The default is never older than the oldest release that the binary can emulate.
  const minCompatibility = oldest ?? (emulated === undefined ? highest - 1 : Math.max(emulation - 1, floor));
  if (oldest !== undefined) checkRange("minCompatibilityVersion version", oldest, [floor, emulation]);
  if (emulation === highest) rejectForward({ isForwardCompatible, isRuntimeConfigForwardCompatible });
  const names = { release: nameOf(emulation), minCompatibility: nameOf(minCompatibility) };
  const { release } = names;
  if (!isReleaseName(release)) throw new OptionError(`unknown release ${release}`);
  const isPlain = emulated === undefined && oldest === undefined;
  return {
    binary,
    release,
    minCompatibility: names.minCompatibility,
    emulation: isPlain
      ? undefined
      : {
          binary,
          minCompatibility: isReleaseName(names.minCompatibility) ? names.minCompatibility : release,
          isForwardCompatible,
          isRuntimeConfigForwardCompatible,
        },
  };
}

/** The minor version that the flag names; undefined if the flag is not set. */
function parsedFlag(flag: Flag, texts: readonly string[] | undefined, binaryMinor: number): number | undefined {
  const entries = (texts ?? []).flatMap((text) => text.split(",")).filter((entry) => entry !== "");
  if (entries.length > 0) requireFlag(flag, binaryMinor);
  let found: number | undefined;
  for (const entry of entries) {
    const equals = entry.indexOf("=");
    const component = equals < 0 ? "kube" : entry.slice(0, equals).trim();
    const minor = parsedMinor(component, entry.slice(equals + 1).trim());
    if (component !== "kube") throw new OptionError(`component not registered: ${component}`);
    if (found !== undefined)
      throw new OptionError(`duplicate version flag, kube=${nameOf(found)} and kube=${nameOf(minor)}`);
    found = minor;
  }
  return found;
}

function parsedMinor(component: string, text: string): number {
  const numbers = /^v?(\d{1,9}(?:\.\d{1,9}){0,2})$/.exec(text)?.[1]?.split(".").map(Number);
  if (numbers === undefined) throw new OptionError(`could not parse ${JSON.stringify(text)} as version`);
  const [major, minor, patch = 0] = numbers;
  if (minor === undefined) throw new OptionError(`illegal version string ${JSON.stringify(text)}`);
  if (patch !== 0) throw new OptionError(`patch version not allowed, got: ${component}=${numbers.join(".")}`);
  if (major !== 1) throw new OptionError(`unknown release ${major}.${minor}`);
  return minor;
}

function isOn(flag: Flag, value: boolean | undefined, binaryMinor: number): boolean {
  if (value === true) requireFlag(flag, binaryMinor);
  return value === true;
}

function requireFlag({ name, sinceMinor }: Flag, binaryMinor: number): void {
  if (binaryMinor < sinceMinor)
    throw new OptionError(
      `release ${nameOf(binaryMinor)} has no flag --${name}: it was added in ${nameOf(sinceMinor)}`,
    );
}

function checkRange(what: string, minor: number, [lowest, highest]: readonly [number, number]): void {
  if (minor < lowest || minor > highest)
    throw new OptionError(`${what} ${nameOf(minor)} is not between [${nameOf(lowest)}, ${nameOf(highest)}]`);
}

function rejectForward(flags: Pick<Emulation, "isForwardCompatible" | "isRuntimeConfigForwardCompatible">): void {
  const names = [
    ...(flags.isForwardCompatible ? ["EmulationForwardCompatible"] : []),
    ...(flags.isRuntimeConfigForwardCompatible ? ["RuntimeConfigEmulationForwardCompatible"] : []),
  ];
  for (const name of names)
    throw new OptionError(
      `ServerRunOptions.${name} cannot be set to true if the emulation version is the same as the binary version`,
    );
}

function minorOf(release: ReleaseName): number {
  return Number(release.slice("1.".length));
}

function nameOf(minor: number): string {
  return `1.${minor}`;
}
