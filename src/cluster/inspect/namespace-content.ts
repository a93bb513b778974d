/**
 * The stored content of a namespace: of every resource of every release, whether or not a server serves it, and of
 * custom resources, which are stored under prefixes that no release uses. All reads are of the newest state.
 */
import type { WalkOptions } from "./walk-store.ts";
import { storagePlaces } from "../../objects/catalog/storage-places.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { keyAfter, prefixEnd } from "../../storage/kv.ts";
import { createLocator } from "./resource-of-key.ts";

type Reading = Pick<WalkOptions, "kv" | "storageRoot">;

/** Objects of one resource in one namespace. */
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
/** Maximum number of unknown prefixes that are examined. */
const STEPS_MAX = 10_000;
const PAGE_KEYS = 100;

/** For the guard of finalize: names and counts of the content. */
export function createNamespaceContent(
  options: Reading,
): (namespace: string) => Promise<readonly { readonly resource: string; readonly count: number }[]> {
  return async (namespace) =>
    (await namespaceParts(options, namespace)).map((part) => ({
      resource: formatGroupResource(part),
      count: part.count,
    }));
}

/** Only parts with objects. Rejects with a StorageError if the store fails. */
export async function namespaceParts(options: Reading, namespace: string): Promise<NamespacePart[]> {
  // The name becomes a part of keys, so it must not span segments.
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

/** At most this many, in the order of their keys. */
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

/** Skips from prefix to prefix by reading the first key of each: the objects in between are not read. */
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

/** "example.com/widgets/…" is a custom resource of a group; undefined for a key with too few segments. */
function unknownPlace(storageRoot: string, key: string): Place | undefined {
  const [first = "", second, third] = key.slice(storageRoot.length).split("/", 3);
  if (second === undefined || first === "") return undefined;
  if (!first.includes(".")) {
    // Beside "services/specs", a namespace with the name "specs" would seem to hold all services.
    const isShared = storagePlaces().some(({ prefix }) => prefix.startsWith(`${first}/`));
    return isShared ? undefined : { group: "", resource: first, prefix: `${storageRoot}${first}/` };
  }
  if (third === undefined || second === "") return undefined;
  return { group: first, resource: second, prefix: `${storageRoot}${first}/${second}/` };
}

function firstSegment(storageRoot: string, key: string): string {
  return key.slice(storageRoot.length).split("/", 1)[0] ?? "";
}
