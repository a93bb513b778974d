/** Validates the flags that choose what a server serves (release, emulation, --runtime-config, --feature-gates). */
import { asOption, OptionError } from "../../base/option-error.ts";
import { parseBoolean } from "../../meta/boolean.ts";
import { openCatalog, type Catalog } from "./catalog.ts";
import { effectiveVersion, type EffectiveVersion, type EmulationOptions } from "./effective-version.ts";
import { catalogGateNames } from "./feature-gates.ts";
import { ignoredGates, type IgnoredGate } from "./ignored-gates.ts";
import { gatesOf } from "./release-gates.ts";
import { DEFAULT_RELEASE, isReleaseName, RELEASES, type ReleaseName } from "./release.ts";
import { EMPTY_RUNTIME_CONFIG, parseRuntimeConfig } from "./runtime-config.ts";

export interface ReleaseOptions extends EmulationOptions {
  /**
   * The Kubernetes release of the server, "1.28" … "1.37"; with `emulatedVersion`, the release of its binary. Default:
   * the newest final release.
   */
  readonly release?: string;
  /** Use exactly the defaults of the release, without the APIs that this project turns on in every release. */
  readonly strictRelease?: boolean;
  /** In the form of kube-apiserver's flag: "api/all=true,batch/v1=false,…". */
  readonly runtimeConfig?: readonly string[];
  /** In the form of kube-apiserver's flag: "Name=true,Other=false". */
  readonly featureGates?: readonly string[];
}

interface ResolvedRelease {
  readonly version: EffectiveVersion;
  readonly strictRelease: boolean;
  /** The gates that were set and that control resources. */
  readonly featureGates: ReadonlyMap<string, boolean>;
  /** All gates that were set. Gates that have no effect here are accepted, because kube-apiserver has many more. */
  readonly gatesSet: ReadonlyMap<string, boolean>;
  readonly catalog: Catalog;
  /** The gates that were set although the release does not have them, or has no choice. */
  readonly ignoredGates: readonly IgnoredGate[];
  /** Whether discovery has the aggregated form. */
  readonly servesAggregatedDiscovery: boolean;
  /** Whether objects that cannot be read can be deleted. */
  readonly allowsUnsafeDeletion: boolean;
}

/** Throws an OptionError if a flag is invalid. */
export function resolveRelease(options: ReleaseOptions): ResolvedRelease {
  const version = effectiveVersion(binaryRelease(options.release ?? DEFAULT_RELEASE), options);
  const { release, emulation } = version;
  const given = options.runtimeConfig;
  const runtimeConfig = given === undefined ? EMPTY_RUNTIME_CONFIG : asOption(() => parseRuntimeConfig(given));
  const { featureGates, gatesSet } = parseFeatureGates(options.featureGates ?? [], version);
  const strictRelease = options.strictRelease ?? false;
  const catalog = asOption(() =>
    openCatalog({ release, runtimeConfig, featureGates, extensions: !strictRelease, emulation }),
  );
  return {
    version,
    strictRelease,
    featureGates,
    gatesSet,
    catalog,
    ignoredGates: ignoredGates(gatesSet, version.binary),
    servesAggregatedDiscovery: isAggregatedDiscoveryServed(release, gatesSet),
    allowsUnsafeDeletion: isUnsafeDeletionAllowed(release, gatesSet),
  };
}

function isAggregatedDiscoveryServed(release: ReleaseName, gatesSet: ReadonlyMap<string, boolean>): boolean {
  if (!gatesOf(release).isOn("AggregatedDiscoveryIsOptional")) return true;
  return gatesSet.get("AggregatedDiscoveryEndpoint") ?? gatesSet.get("AllBeta") ?? true;
}

/** The gate is alpha before the release that turns it on, and beta from then on. */
function isUnsafeDeletionAllowed(release: ReleaseName, gatesSet: ReadonlyMap<string, boolean>): boolean {
  const gates = gatesOf(release);
  if (!gates.isOn("UnsafeDeletionOption")) return false;
  const byDefault = gates.isOn("AllowUnsafeMalformedObjectDeletion");
  return (
    gatesSet.get("AllowUnsafeMalformedObjectDeletion") ?? gatesSet.get(byDefault ? "AllBeta" : "AllAlpha") ?? byDefault
  );
}

function binaryRelease(release: string): ReleaseName {
  if (!isReleaseName(release))
    throw new OptionError(`the release must be one of ${RELEASES.join(", ")}, not ${JSON.stringify(release)}`);
  return release;
}

function parseFeatureGates(
  entries: readonly string[],
  { release, binary, minCompatibility }: EffectiveVersion,
): Pick<ResolvedRelease, "featureGates" | "gatesSet"> {
  const known = catalogGateNames(release);
  const later = catalogGateNames(binary);
  const featureGates = new Map<string, boolean>();
  const gatesSet = new Map<string, boolean>();
  for (const entry of entries.flatMap((text) => text.split(","))) {
    if (entry === "") continue;
    const [given = "", value = "", ...rest] = entry.split("=");
    // As kubernetes: the prefix names the component of the gate, and no other component has gates in this program.
    const name = given.replace(/^kube:/, "");
    const isOn = parseBoolean(value);
    if (name === "" || rest.length > 0 || isOn === undefined)
      throw new OptionError(`a feature gate must look like Name=true or Name=false, not ${JSON.stringify(entry)}`);
    if (later.has(name) && !known.has(name))
      throw new OptionError(
        `cannot set feature gate ${name} to ${isOn}, feature is PreAlpha at emulated version ${release}, min compatibility version ${minCompatibility}`,
      );
    if (known.has(name) || name === "AllAlpha" || name === "AllBeta") featureGates.set(name, isOn);
    gatesSet.set(name, isOn);
  }
  return { featureGates, gatesSet };
}
