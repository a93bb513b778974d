/** Determines the resource to which a key in the store belongs. */
import type { GroupResource } from "../../meta/group-version.ts";
import { storagePlaces, type StoragePlace } from "../../objects/catalog/storage-places.ts";

type Location =
  | { readonly kind: "object"; readonly place: StoragePlace; readonly namespace: string; readonly name: string }
  /** A record of the servers themselves, not an API object. */
  | { readonly kind: "private" }
  /** The key has a prefix that no release uses, such as that of a custom resource. */
  | { readonly kind: "unknown"; readonly prefix: string };

const PRIVATE: ReadonlySet<string> = new Set(["evenkeel", "masterleases", "peerserverleases", "ranges"]);
const PREFIX_LENGTH_MAX = 256;

/** The returned function accepts keys below the storage root. */
export function createLocator(storageRoot: string): (key: string) => Location {
  const places = new Map(storagePlaces().map((place) => [place.prefix, place]));
  return (key) => {
    const rest = key.slice(storageRoot.length);
    const first = rest.indexOf("/");
    const second = rest.indexOf("/", first + 1);
    if (PRIVATE.has(rest.slice(0, Math.max(first, 0)))) return { kind: "private" };
    for (const end of [first, second]) {
      const place = end <= 0 ? undefined : places.get(rest.slice(0, end));
      if (place !== undefined && end < rest.length - 1) return objectAt(place, rest.slice(end + 1));
    }
    return { kind: "unknown", prefix: unknownPrefix(rest, { first, second }) };
  };
}

/**
 * The returned function returns the resource to which a key belongs, also a custom resource; undefined for the records
 * of the servers themselves.
 */
export function createResourceOfKey(storageRoot: string): (key: string) => GroupResource | undefined {
  const locate = createLocator(storageRoot);
  return (key) => {
    if (!key.startsWith(storageRoot)) return undefined;
    const found = locate(key);
    if (found.kind === "object") return { group: found.place.group, resource: found.place.resource };
    if (found.kind === "private") return undefined;
    // The group of a custom resource contains a dot.
    const [group = "", resource] = found.prefix.split("/");
    return resource === undefined ? undefined : { group, resource };
  };
}

function objectAt(place: StoragePlace, path: string): Location {
  const slash = place.namespaced ? path.indexOf("/") : -1;
  const namespace = path.slice(0, Math.max(slash, 0));
  return { kind: "object", place, namespace, name: path.slice(slash + 1) };
}

/**
 * The first two segments, such as "example.com/widgets", if the first contains a dot and so is a group; otherwise the
 * first segment.
 */
function unknownPrefix(rest: string, { first, second }: { readonly first: number; readonly second: number }): string {
  const group = first < 0 ? rest : rest.slice(0, first);
  const end = group.includes(".") && second > 0 ? second : group.length;
  return rest.slice(0, Math.min(end, PREFIX_LENGTH_MAX));
}
