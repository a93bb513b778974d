/** Matches the items of an updated list with the items that it had before. */
import { isJsonObject, setMember, type JsonObject } from "../meta/json.ts";
import type { FieldSchema, StructSchema } from "./schema.ts";

interface Items {
  /** The items as the client sent them. */
  readonly sent: readonly unknown[];
  /** The part of each sent item that the schema describes. */
  readonly known: readonly unknown[];
  readonly before: readonly unknown[];
}

/**
 * For each item, the item of the previous list that it matches; undefined for a new item, and if the match is
 * ambiguous. An item matches if it is the only one with its keys, if it is unchanged, or if its known part is
 * unchanged. Items with the same known part match in order, provided that their number is unchanged.
 */
export function matchItems(items: Items, list: FieldSchema): unknown[] {
  const matches = new Matches(items);
  const keys = identifyingFields(list);
  const keyOf = (item: unknown): string | undefined => itemKey(item, list, keys);
  if (keys.length > 0) matches.add(items.known, { nameOf: keyOf, sharedBy: "nobody" });
  matches.add(items.sent, { nameOf: wholeText, sharedBy: "any" });
  const struct = list.items?.struct;
  const knownText = (item: unknown): string | undefined =>
    isJsonObject(item) && struct !== undefined ? canonicalText(knownPart(item, struct)) : undefined;
  matches.add(items.known, { nameOf: knownText, sharedBy: "as-many" });
  return matches.found.map((index) => (index === undefined ? undefined : items.before[index]));
}

interface Naming {
  /** The text by which items are matched; undefined for an item that has none. */
  readonly nameOf: (item: unknown) => string | undefined;
  /** How many items may share a name: only one, as many as before, or any number. */
  readonly sharedBy: "nobody" | "as-many" | "any";
}

class Matches {
  readonly found: (number | undefined)[];
  readonly #before: readonly unknown[];
  readonly #isTaken = new Set<number>();

  constructor({ known, before }: Items) {
    this.found = known.map(() => undefined);
    this.#before = before;
  }

  /** Matches the items that no earlier call has matched. */
  add(items: readonly unknown[], { nameOf, sharedBy }: Naming): void {
    const now = this.#byName(items, nameOf, (index) => this.found[index] === undefined);
    if (now.size === 0) return;
    const then = this.#byName(this.#before, nameOf, (index) => !this.#isTaken.has(index));
    for (const [name, indexes] of now) {
      const were = then.get(name) ?? [];
      if (sharedBy !== "any" && were.length !== indexes.length) continue;
      if (sharedBy === "nobody" && indexes.length > 1) continue;
      were.slice(0, indexes.length).forEach((was, position) => {
        this.found[indexes[position]!] = was;
        this.#isTaken.add(was);
      });
    }
  }

  #byName(
    items: readonly unknown[],
    nameOf: Naming["nameOf"],
    isOpen: (index: number) => boolean,
  ): Map<string, number[]> {
    const named = new Map<string, number[]>();
    items.forEach((item, index) => {
      const name = isOpen(index) ? nameOf(item) : undefined;
      if (name === undefined) return;
      const same = named.get(name);
      if (same === undefined) named.set(name, [index]);
      else same.push(index);
    });
    return named;
  }
}

function wholeText(item: unknown): string | undefined {
  return isJsonObject(item) ? canonicalText(item) : undefined;
}

function identifyingFields({ listType, listMapKeys, patchMergeKey }: FieldSchema): readonly string[] {
  if (listType === "map" && listMapKeys !== undefined) return listMapKeys;
  return patchMergeKey === undefined ? [] : [patchMergeKey];
}

/** The keys of an item as text; undefined for an item that has none of the keys. */
function itemKey(item: unknown, list: FieldSchema, keys: readonly string[]): string | undefined {
  if (!isJsonObject(item)) return undefined;
  const values = keys.map((key) => item[key] ?? list.items?.struct?.fields.get(key)?.default);
  return values.every((value) => value === undefined) ? undefined : canonicalText(values);
}

/** The part of an object that the schema describes. */
export function knownPart(object: JsonObject, schema: StructSchema): JsonObject {
  const known: JsonObject = {};
  for (const key of Object.keys(object)) {
    const field = schema.fields.get(key);
    if (field !== undefined) setMember(known, key, knownValue(object[key], field));
    else if (schema.preserveUnknown) setMember(known, key, object[key]);
  }
  return known;
}

function knownValue(value: unknown, field: FieldSchema): unknown {
  const { type, struct, items } = field;
  if (type === "struct") return isJsonObject(value) && struct !== undefined ? knownPart(value, struct) : value;
  if (items === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => knownValue(item, items));
  if (type !== "map" || !isJsonObject(value)) return value;
  const known: JsonObject = {};
  for (const key of Object.keys(value)) setMember(known, key, knownValue(value[key], items));
  return known;
}

/** The same text for equal values, regardless of the order of their fields. */
function canonicalText(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    isJsonObject(member) ? Object.fromEntries(Object.entries(member).toSorted(byKey)) : member,
  );
}

function byKey([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
