/** Where objects lie in the store and in which versions, over all releases: also what a given one does not serve. */
import { decodedOnce, storedResources } from "./data-files.ts";
import { emulatedStorage, type Emulation } from "./emulation.ts";
import { valueIn, type ReleaseName } from "./release.ts";
import type { ResourceHistory } from "./stored-format.ts";

export interface StoragePlace {
  readonly group: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** Key part under the storage root, such as "services/specs". */
  readonly prefix: string;
}

/** One for each prefix: where two resources share one, as both kinds of events do, the core group's stands for both. */
export function storagePlaces(): readonly StoragePlace[] {
  return [...placesByPrefix().values()].map(({ place }) => place);
}

/** Where objects of a resource lie; undefined for what no release stores, and for other names of what it does. */
export function storagePlaceOf(group: string, resource: string): StoragePlace | undefined {
  return storagePlaces().find((place) => place.group === group && place.resource === resource);
}

export interface StorageOfRelease {
  /** In which the release writes objects, such as "resource.k8s.io/v1". */
  readonly storageVersion: string;
  /** What the release can read, most preferred first. */
  readonly decodableVersions: readonly string[];
}

/** Undefined when the release, or the binary that emulates it, does not know the resource. */
export function storageOfRelease(
  place: StoragePlace,
  release: ReleaseName,
  emulation?: Emulation,
): StorageOfRelease | undefined {
  const stored = placesByPrefix().get(place.prefix)?.stored;
  if (stored !== undefined && emulation !== undefined) return emulatedStorage(stored, release, emulation);
  const { storage = [], decodable = [] } = stored ?? {};
  const storageVersion = valueIn(storage, release);
  if (storageVersion === undefined) return undefined;
  return { storageVersion, decodableVersions: valueIn(decodable, release) ?? [] };
}

interface Placed {
  readonly place: StoragePlace;
  readonly stored: ResourceHistory;
}

function placesByPrefix(): ReadonlyMap<string, Placed> {
  return decodedOnce("places", () => {
    const places = new Map<string, Placed>();
    for (const stored of storedResources().resources) {
      const { group, resource, namespaced, prefix = resource } = stored;
      if (stored.storage === undefined || places.has(prefix)) continue;
      places.set(prefix, { place: Object.freeze({ group, resource, namespaced, prefix }), stored });
    }
    return places;
  });
}
