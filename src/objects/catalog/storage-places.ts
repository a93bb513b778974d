/**
 * Looks up the key prefix and the storage versions of any resource of any release, even if the server's release does
 * not serve the resource.
 */
import { decodedOnce, storedResources } from "./data-files.ts";
import { emulatedStorage, type Emulation } from "./emulation.ts";
import { valueIn, type ReleaseName } from "./release.ts";
import type { ResourceHistory } from "./stored-format.ts";

export interface StoragePlace {
  readonly group: string;
  readonly resource: string;
  readonly namespaced: boolean;
  /** Key prefix under the storage root, such as "services/specs". */
  readonly prefix: string;
}

/**
 * One resource for each key prefix. If two groups share a prefix, as the events of both groups do, the resource is that
 * of the core group.
 */
export function storagePlaces(): readonly StoragePlace[] {
  return [...placesByPrefix().values()].map(({ place }) => place);
}

/**
 * The key prefix of a resource; undefined if no release stores the resource, or if another resource owns its prefix.
 */
export function storagePlaceOf(group: string, resource: string): StoragePlace | undefined {
  return storagePlaces().find((place) => place.group === group && place.resource === resource);
}

export interface StorageOfRelease {
  /** The version in which the release writes objects, such as "resource.k8s.io/v1". */
  readonly storageVersion: string;
  /** Versions that the release can decode, most preferred first. */
  readonly decodableVersions: readonly string[];
}

/**
 * How the release stores the resource; undefined if neither the release nor the binary that emulates it has the
 * resource.
 */
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
