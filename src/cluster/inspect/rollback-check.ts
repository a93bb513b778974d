/** Reports which objects in this store a server of another release could not read, or would not serve. */
import type { Catalog } from "../../objects/catalog/catalog.ts";
import { storageOfRelease, type StoragePlace } from "../../objects/catalog/storage-places.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { formatGroupResource, parseGroupVersion } from "../../meta/group-version.ts";
import { ByVersion, compareText, surveyStore, type FoundObject, type ObjectName, type Survey } from "./survey.ts";
import type { WalkOptions } from "./walk-store.ts";

export type Reading =
  | { readonly kind: "ok" }
  /** The server could not decode the object. */
  | { readonly kind: "unreadable"; readonly reason: string }
  /** The object would stay in the store, but no client could request it. */
  | { readonly kind: "unserved"; readonly reason: string };

interface RollbackCheck extends Survey {
  readonly kind: "RollbackCheck";
  readonly apiVersion: "evenkeel.io/v1";
  /** The release of the local server. */
  readonly release: ReleaseName;
  /** The release of the server after the rollback. If it emulates another release: "1.37 as 1.36". */
  readonly to: string;
  /** Number of examined objects, without unreadable values. */
  readonly objects: number;
  /** Unreadable objects first, then sorted by resource and version. */
  readonly findings: readonly RollbackFinding[];
  /** Values that no release can read, including the current one. */
  readonly broken: readonly BrokenValues[];
}

interface RollbackFinding {
  readonly problem: "unreadable" | "unserved";
  readonly group: string;
  readonly resource: string;
  readonly storedVersion: string;
  readonly reason: string;
  readonly count: number;
  /** The names of the first objects; `count` is the number of all. */
  readonly names: readonly ObjectName[];
}

interface BrokenValues {
  readonly group: string;
  readonly resource: string;
  readonly count: number;
  readonly names: readonly ObjectName[];
}

/** Maximum number of names for one resource in one version, and for the whole report. */
const FINDING_NAMES_MAX = 100;
const NAMES_MAX = 1_000;

/** Decides how a server with this catalog treats an object that is stored in this API version. */
export function decideReading(target: Catalog, place: StoragePlace, apiVersion: string): Reading {
  const release = `Kubernetes ${effectiveName(target)}`;
  const resource = formatGroupResource(place);
  const storage = storageOfRelease(place, target.release.name, target.emulation);
  if (storage === undefined) return { kind: "unreadable", reason: `${release} does not know ${resource}` };
  const { decodableVersions } = storage;
  if (!decodableVersions.includes(apiVersion)) {
    const known = decodableVersions.map((one) => shortVersion(place, one)).join(", ");
    const reason = `${release} reads ${resource} in ${known}, not in ${shortVersion(place, apiVersion)}`;
    return { kind: "unreadable", reason };
  }
  // Servers write StorageVersions themselves, so users do not miss them if they are not served.
  const isTheServers = place.group === "internal.apiserver.k8s.io";
  if (!isTheServers && target.resource(place.group, place.resource) === undefined)
    return { kind: "unserved", reason: `${release} reads ${resource}, but serves no version of it by default` };
  return { kind: "ok" };
}

/** The release as which the server behaves, with that of its binary if it is another: "1.37 as 1.36". */
function effectiveName({ release: { name }, emulation }: Catalog): string {
  return emulation === undefined || emulation.binary === name ? name : `${emulation.binary} as ${name}`;
}

/** `release` is that of the local server. */
export async function rollbackCheck(
  options: WalkOptions & { readonly release: ReleaseName; readonly target: Catalog },
): Promise<RollbackCheck> {
  const { release, target } = options;
  const readings = new ByVersion((place, storedVersion) => ({
    place,
    storedVersion,
    reading: decideReading(target, place, storedVersion),
    names: new Names(),
  }));
  const broken = new ByVersion((place) => ({ place, names: new Names() }));
  let objects = 0;
  let room = NAMES_MAX;
  const note = (names: Names, found: FoundObject): void => {
    if (names.add(found, room)) room--;
  };
  const survey = await surveyStore(options, (found) => {
    const { place, apiVersion } = found;
    if (apiVersion === undefined) return note(broken.of(place, "").names, found);
    objects++;
    const { reading, names } = readings.of(place, apiVersion);
    if (reading.kind !== "ok") note(names, found);
  });
  const findings = readings.all().flatMap(({ place, storedVersion, reading, names }): RollbackFinding[] => {
    if (reading.kind === "ok") return [];
    const { group, resource } = place;
    return [{ problem: reading.kind, group, resource, storedVersion, reason: reading.reason, ...names.reported() }];
  });
  return {
    kind: "RollbackCheck",
    apiVersion: "evenkeel.io/v1",
    release,
    to: effectiveName(target),
    ...survey,
    objects,
    findings: findings.toSorted(byImportance),
    broken: broken.all().map(({ place: { group, resource }, names }) => ({ group, resource, ...names.reported() })),
  };
}

class Names {
  readonly #names: ObjectName[] = [];
  #count = 0;

  /** Counts the object. Returns true if its name was added to the list, which counts toward the limit. */
  add({ namespace, name }: FoundObject, room: number): boolean {
    this.#count++;
    if (room <= 0 || this.#names.length >= FINDING_NAMES_MAX) return false;
    this.#names.push({ ...(namespace === undefined ? {} : { namespace }), name });
    return true;
  }

  reported(): { readonly count: number; readonly names: readonly ObjectName[] } {
    return { count: this.#count, names: this.#names };
  }
}

function byImportance(left: RollbackFinding, right: RollbackFinding): number {
  return (
    compareText(left.problem, right.problem) ||
    compareText(formatGroupResource(left), formatGroupResource(right)) ||
    compareText(left.storedVersion, right.storedVersion)
  );
}

/** Returns "v1" for a version of the resource's own group; otherwise the whole apiVersion. */
function shortVersion({ group }: StoragePlace, apiVersion: string): string {
  const parsed = parseGroupVersion(apiVersion);
  return parsed.group === group ? parsed.version : apiVersion;
}
