/**
 * Finds the stored objects of a namespace: those of every resource of every release, whether or not a server serves it,
 * and custom resources, which are stored under prefixes that no release uses. It always reads the newest revision.
 */
import type { WalkOptions } from "./walk-store.ts";
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { keyAfter, prefixEnd } from "../../storage/kv.ts";
import { createLocator } from "./resource-of-key.ts";

type Reading = Pick<WalkOptions, "kv" | "storageRoot">;

/** The objects of one resource in the namespace. */
export interface NamespacePart {
  readonly group: string;
  readonly resource: string;
  /** The prefix of their keys; ends with a slash. */
  readonly prefix: string;
  readonly count: number;
}

export interface NamespaceKey {
  readonly group: string;
  readonly resource: string;
  readonly name: string;
  readonly key: string;
  readonly revision: number;
}

const RANGES_AT_ONCE = 8;
/** Maximum number of reads in the search for unknown prefixes. */
const STEPS_MAX = 10_000;
const PAGE_KEYS = 100;

/** The content by resource and count, which the server checks before it finalizes a namespace. */
export function createNamespaceContent(
  options: Reading,
): (namespace: string) => Promise<readonly { readonly resource: string; readonly count: number }[]> {
  return async (namespace) =>
    (await namespaceParts(options, namespace)).map((part) => ({
      resource: formatGroupResource(part),
      count: part.count,
    }));
}

/** Returns only parts that have objects. Rejects with a StorageError if the store fails. */
export async function namespaceParts(options: Reading, namespace: string): Promise<NamespacePart[]> {
  // The namespace becomes a segment of keys, so it must be exactly one segment.
  if (namespace === "" || namespace.includes("/")) return [];
  const known = storagePlaces()
    .filter(({ namespaced }) => namespaced)
    .map(({ group, resource, prefix }): Place => ({ group, resource, prefix: `${options.storageRoot}${prefix}/` }));
  const places = [...known, ...(await unknownPlaces(options))];
  const parts: NamespacePart[] = [];
  for (let at = 0; at < places.length; at += RANGES_AT_ONCE) {
    const batch = places.slice(at, at + RANGES_AT_ONCE).map(async (place) => {
      const prefix = `${place.prefix}${namespace}/`;
      const { count } = await options.kv.range({ start: prefix, end: prefixEnd(prefix), countOnly: true });
      return { ...place, prefix, count };
    });
    parts.push(...(await Promise.all(batch)).filter(({ count }) => count > 0));
  }
  return parts;
}

/** Returns at most `keysMax` keys, in order. */
export async function namespaceKeys(
  { kv }: Reading,
  { group, resource, prefix }: NamespacePart,
  keysMax: number,
): Promise<NamespaceKey[]> {
  const keys: NamespaceKey[] = [];
  let start = prefix;
  while (keys.length < keysMax) {
    const limit = Math.min(PAGE_KEYS, keysMax - keys.length);
    const { items, count } = await kv.range({ start, end: prefixEnd(prefix), limit });
    for (const { key, modRevision: revision } of items)
      keys.push({ group, resource, name: key.slice(prefix.length), key, revision });
    const last = items.at(-1);
    if (last === undefined || count <= items.length) break;
    start = keyAfter(last.key);
  }
  return keys;
}

type Place = Pick<NamespacePart, "group" | "resource" | "prefix">;

/**
 * Finds prefixes that no release uses. It reads the first key after each prefix, so it skips the objects in between.
 */
async function unknownPlaces({ kv, storageRoot }: Reading): Promise<Place[]> {
  const locate = createLocator(storageRoot);
  const end = prefixEnd(storageRoot);
  const places: Place[] = [];
  let start = storageRoot;
  for (let step = 0; step < STEPS_MAX; step++) {
    const { items } = await kv.range({ start, end, limit: 1 });
    const [first] = items;
    if (first === undefined) break;
    const location = locate(first.key);
    if (location.kind === "unknown") {
      const place = unknownPlace(storageRoot, first.key);
      if (place !== undefined) places.push(place);
      start = place === undefined ? keyAfter(first.key) : prefixEnd(place.prefix);
    } else {
      const below = location.kind === "object" ? location.place.prefix : firstSegment(storageRoot, first.key);
      start = prefixEnd(`${storageRoot}${below}/`);
    }
  }
  return places;
}

/**
 * Parses keys such as "example.com/widgets/…", which belong to a custom resource; undefined if the key has too few
 * segments, or begins like a known prefix.
 */
function unknownPlace(storageRoot: string, key: string): Place | undefined {
  const [first = "", second, third] = key.slice(storageRoot.length).split("/", 3);
  if (second === undefined || first === "") return undefined;
  if (!first.includes(".")) {
    // For example, keys below "services/specs" would otherwise look like the content of a namespace named "specs".
    const isShared = storagePlaces().some(({ prefix }) => prefix.startsWith(`${first}/`));
    return isShared ? undefined : { group: "", resource: first, prefix: `${storageRoot}${first}/` };
  }
  if (third === undefined || second === "") return undefined;
  return { group: first, resource: second, prefix: `${storageRoot}${first}/${second}/` };
}

function firstSegment(storageRoot: string, key: string): string {
  return key.slice(storageRoot.length).split("/", 1)[0] ?? "";
}
