/**
 * Finds for each value of a new object the corresponding value of the existing object, and whether the two are equal.
 * CEL rules use it for ratcheting: an unchanged invalid value does not fail an update.
 */
import { isJsonObject, jsonEquals, ownMember, type JsonObject } from "../../../../meta/json.ts";
import type { StructuralSchema } from "../schema.ts";

/** Returns the element of the existing list that has the same key as the given element. */
type Counterpart = (element: unknown) => unknown;

function keyOf(element: unknown, keys: readonly string[]): string | undefined {
  if (!isJsonObject(element)) return undefined;
  const values: unknown[] = [];
  for (const key of keys) {
    const value = Object.hasOwn(element, key) ? element[key] : undefined;
    if (value === undefined || value === null || typeof value === "object") return undefined;
    values.push(value);
  }
  return JSON.stringify(values);
}

const NO_COUNTERPART: Counterpart = () => undefined;

/** Only elements of lists of type map can be correlated. */
export function counterparts(schema: StructuralSchema, existing: unknown): Counterpart {
  const keys = schema.listMapKeys;
  if (schema.listType !== "map" || keys.length === 0 || !Array.isArray(existing)) return NO_COUNTERPART;
  let byKey: Map<string, unknown> | undefined;
  return (element) => {
    if (byKey === undefined) {
      byKey = new Map();
      for (const one of existing) {
        const key = keyOf(one, keys);
        if (key !== undefined && !byKey.has(key)) byKey.set(key, one);
      }
    }
    const key = keyOf(element, keys);
    return key === undefined ? undefined : byKey.get(key);
  };
}

export class Correlation {
  readonly #value: unknown;
  readonly #existing: unknown;
  readonly #schema: StructuralSchema;
  readonly #children = new Map<string | number, Correlation>();
  #counterpart: Counterpart | undefined;
  #isUnchanged: boolean | undefined;

  constructor(value: unknown, existing: unknown, schema: StructuralSchema) {
    this.#value = value;
    this.#existing = existing;
    this.#schema = schema;
  }

  /** Undefined if the existing object does not have the field, or the schema does not specify it. */
  member(name: string): Correlation | undefined {
    const known = this.#children.get(name);
    if (known !== undefined) return known;
    const value = ownMember(this.#value, name);
    const existing = ownMember(this.#existing, name);
    const schema = this.#schema.properties.get(name) ?? this.#schema.additionalProperties;
    if (value === undefined || existing === undefined || typeof schema !== "object") return undefined;
    const child = new Correlation(value, existing, schema);
    this.#children.set(name, child);
    return child;
  }

  element(index: number): Correlation | undefined {
    const known = this.#children.get(index);
    if (known !== undefined) return known;
    const { items } = this.#schema;
    if (!Array.isArray(this.#value) || items === undefined) return undefined;
    this.#counterpart ??= counterparts(this.#schema, this.#existing);
    const existing = this.#counterpart(this.#value[index]);
    if (existing === undefined || existing === null) return undefined;
    const child = new Correlation(this.#value[index], existing, items);
    this.#children.set(index, child);
    return child;
  }

  isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare();
    return this.#isUnchanged;
  }

  #compare(): boolean {
    const value = this.#value ?? null;
    const existing = this.#existing ?? null;
    if (value === null || existing === null) return value === existing;
    if (Array.isArray(value) && Array.isArray(existing)) return this.#compareLists(value, existing);
    if (isJsonObject(value) && isJsonObject(existing)) return this.#compareObjects(value, existing);
    return jsonEquals(value, existing);
  }

  #compareLists(value: readonly unknown[], existing: readonly unknown[]): boolean {
    if (value.length !== existing.length) return false;
    if (this.#schema.listType !== "map") return jsonEquals(value, existing);
    return value.every((_element, index) => this.element(index)?.isUnchanged() === true);
  }

  #compareObjects(value: JsonObject, existing: JsonObject): boolean {
    const names = Object.keys(value);
    if (names.length !== Object.keys(existing).length) return false;
    return names.every((name) => this.member(name)?.isUnchanged() === true);
  }
}

/** The correlation of the current value, and of its nearest ancestor that has one; undefined if there is none. */
export interface Ratcheting {
  readonly current: Correlation | undefined;
  readonly nearest: Correlation | undefined;
}

export const NOT_RATCHETED: Ratcheting = { current: undefined, nearest: undefined };

export function memberRatcheting(at: Ratcheting, name: string): Ratcheting {
  if (at.current === undefined) return at;
  const isTypeMeta = at.nearest === undefined && (name === "apiVersion" || name === "kind");
  return isTypeMeta ? NOT_RATCHETED : { current: at.current.member(name), nearest: at.current };
}

export function elementRatcheting(at: Ratcheting, index: number): Ratcheting {
  return at.current === undefined ? at : { current: at.current.element(index), nearest: at.current };
}

/**
 * Whether errors of the current value are tolerated, because the value, or its nearest correlated ancestor, is
 * unchanged.
 */
export function isTolerated({ current, nearest }: Ratcheting): boolean {
  return (current ?? nearest)?.isUnchanged() === true;
}
