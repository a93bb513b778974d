/** The API versions that servers of a release serve with the flags of the inspected cluster, and those that they could serve. */
import { openCatalog, type Catalog } from "../../../../objects/catalog/catalog.ts";
import { effectiveVersion } from "../../../../objects/catalog/effective-version.ts";
import type { Emulation } from "../../../../objects/catalog/emulation.ts";
import { catalogGateNames } from "../../../../objects/catalog/feature-gates.ts";
import { RELEASES, type ReleaseName } from "../../../../objects/catalog/release.ts";
import {
  EMPTY_RUNTIME_CONFIG,
  parseRuntimeConfig,
  type RuntimeConfig,
} from "../../../../objects/catalog/runtime-config.ts";

/** The flags of the API servers that decide what they serve. */
interface ServingFlags {
  readonly runtimeConfig: readonly string[];
  readonly featureGates: readonly string[];
}

export interface ReleaseView {
  readonly release: ReleaseName;
  /** With the flags of the cluster. */
  readonly catalog: Catalog;
  /** With all API versions enabled. */
  readonly widest: Catalog;
  /** The entries of --runtime-config that the release does not know: its servers do not start with them. */
  readonly unknownEntries: readonly string[];
}

interface EmulatedRelease {
  readonly release: ReleaseName;
  readonly binary: ReleaseName;
}

const ALL_ON = parseRuntimeConfig("api/all=true");
const ALL_GATES: ReadonlyMap<string, boolean> = new Map([
  ["AllAlpha", true],
  ["AllBeta", true],
]);

export function openView(release: ReleaseName, flags: ServingFlags, emulated?: EmulatedRelease): ReleaseView {
  const emulation = emulated === undefined ? undefined : emulationOf(emulated);
  const featureGates = gatesOf(release, flags.featureGates);
  const { known, unknownEntries } = splitRuntimeConfig(release, flags.runtimeConfig, emulation);
  return {
    release,
    catalog: openCatalog({ release, runtimeConfig: known, featureGates, emulation }),
    widest: widestCatalog(release, emulation),
    unknownEntries,
  };
}

/** With all API versions and feature gates enabled. */
export function widestCatalog(release: ReleaseName, emulation?: Emulation): Catalog {
  return openCatalog({ release, runtimeConfig: ALL_ON, featureGates: ALL_GATES, emulation });
}

/**
 * The releases after `from` up to the last target, or only the next one if there is no target; only the targets if
 * `from` is unknown or newer. If the servers emulate `from`, the first hop is that of their binary without emulation.
 */
export function hopsBetween(
  from: ReleaseName | undefined,
  to: readonly ReleaseName[],
  binary?: ReleaseName,
): readonly ReleaseName[] {
  const targets = RELEASES.filter((release) => to.includes(release));
  const last = targets.at(-1);
  if (from === undefined) return targets;
  const first = binary === undefined ? RELEASES.indexOf(from) + 1 : RELEASES.indexOf(binary);
  const hops = RELEASES.slice(first, last === undefined ? first + 1 : RELEASES.indexOf(last) + 1);
  return hops.length > 0 ? hops : targets.filter((release) => release !== from);
}

/** Whether servers of a release can behave as an older one. */
export function canEmulate(binary: ReleaseName, release: ReleaseName): boolean {
  return emulationOf({ release, binary }) !== undefined;
}

function emulationOf({ release, binary }: EmulatedRelease): Emulation | undefined {
  if (release === binary) return undefined;
  try {
    return effectiveVersion(binary, { emulatedVersion: [release] }).emulation;
  } catch {
    // The binary cannot emulate the release, so the flag is wrong.
    return undefined;
  }
}

/** Gates that the release does not have, or that control no resource, change nothing here. */
function gatesOf(release: ReleaseName, entries: readonly string[]): ReadonlyMap<string, boolean> {
  const known = catalogGateNames(release);
  const gates = new Map<string, boolean>();
  for (const entry of entries) {
    const [name = "", value = ""] = entry.split("=");
    if (known.has(name)) gates.set(name, /^(?:t|true|1)$/i.test(value));
  }
  return gates;
}

function splitRuntimeConfig(
  release: ReleaseName,
  entries: readonly string[],
  emulation: Emulation | undefined,
): { readonly known: RuntimeConfig; readonly unknownEntries: readonly string[] } {
  const unknownEntries: string[] = [];
  const knownEntries = entries.filter((entry) => {
    const isKnown = acceptedConfig(release, [entry], emulation) !== undefined;
    // Alone, it is rejected because it leaves nothing to serve.
    if (isKnown || entry.startsWith("api/all=")) return true;
    unknownEntries.push(entry);
    return false;
  });
  return { known: acceptedConfig(release, knownEntries, emulation) ?? EMPTY_RUNTIME_CONFIG, unknownEntries };
}

function acceptedConfig(
  release: ReleaseName,
  entries: readonly string[],
  emulation: Emulation | undefined,
): RuntimeConfig | undefined {
  try {
    const runtimeConfig = parseRuntimeConfig(entries);
    openCatalog({ release, runtimeConfig, emulation });
    return runtimeConfig;
  } catch {
    return undefined;
  }
}
