/**
 * Handles the fields that this release does not have, in objects that servers of other releases have written. An update
 * on this server keeps such unknown fields if the request does not mention them; changes that the request itself makes
 * to them are reported.
 *
 * A stored unknown field is kept if its parent still exists: a struct field or map entry of the same name, the list
 * item with the same keys, or, in lists whose items have no keys, an item whose known part is unchanged. If the parent
 * is removed or replaced, the unknown fields in it are dropped.
 */
import { isJsonObject, jsonEquals, ownMember, setMember, type JsonObject } from "../meta/json.ts";
import { matchItems } from "./list-items.ts";
import type { FieldSchema, StructSchema } from "./schema.ts";

/** Field names and list positions. */
export type ValuePath = readonly (string | number)[];

export interface NamedField {
  /**
   * The path in field validation: `spec.ports[0].name`. If several items of a list have the field, the path of the
   * first one.
   */
  readonly name: string;
  /**
   * The paths of the field and of all values in it, because a release may have the field but not every field inside.
   */
  readonly paths: readonly ValuePath[];
}

/**
 * The meaning of an existing field that is absent from a body. A full object omits fields that the client does not
 * know. A JSON Patch omits fields that it has removed. A merge patch replaces whole lists, so an item may omit fields
 * that the client does not know; outside lists, an absent field has been removed explicitly.
 */
export type Omission = "not-known" | "removed" | "removed-outside-lists";

interface UnknownFieldsInput {
  /** The object as sent, or the result of applying a patch to the existing object. */
  readonly sent: JsonObject;
  /** The part of `sent` that this release knows. */
  readonly known: JsonObject;
  readonly existing: JsonObject;
  readonly schema: StructSchema;
  readonly omission: Omission;
}

export interface SettledFields {
  /** The known part with the unknown fields that are kept. Shares values with the body and the existing object. */
  readonly object: JsonObject;
  /** Fields whose stored value the body repeats, by their path in field validation. */
  readonly repeated: ReadonlySet<string>;
  /** Unknown fields that the body adds, changes or removes. */
  readonly named: readonly NamedField[];
  /** True if the body changes more unknown fields than the limit. */
  readonly isNamedCut: boolean;
}

/** Whether the object has fields that the schema does not. Called on every update, so it allocates nothing. */
export function hasUnknownFields(object: JsonObject, schema: StructSchema): boolean {
  if (schema.preserveUnknown) return false;
  for (const key in object) {
    const field = schema.fields.get(key);
    if (field === undefined) return true;
    if (isUnknownBelow(object[key], field)) return true;
  }
  return false;
}

function isUnknownBelow(value: unknown, field: FieldSchema): boolean {
  if (field.type === "struct") {
    return field.struct !== undefined && isJsonObject(value) && hasUnknownFields(value, field.struct);
  }
  const { items } = field;
  if (items === undefined || !mayHold(items)) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (isUnknownBelow(item, items)) return true;
  } else if (field.type === "map" && isJsonObject(value)) {
    for (const key in value) if (isUnknownBelow(value[key], items)) return true;
  }
  return false;
}

/** Whether the type can contain unknown fields; scalars and raw JSON cannot. */
function mayHold({ type }: FieldSchema): boolean {
  return type === "struct" || type === "array" || type === "map";
}

export function settleUnknownFields(input: UnknownFieldsInput): SettledFields {
  const findings = new Findings(input.omission);
  const { sent, known, existing, schema } = input;
  const object = settleStruct({ sent, known, existing }, schema, { ...ROOT, findings });
  return { object, repeated: findings.repeated, named: [...findings.named.values()], isNamedCut: findings.isCut };
}

/** The sent, known and existing state of one value. */
interface Versions<T> {
  readonly sent: T;
  readonly known: T;
  /** Undefined if the value did not exist. */
  readonly existing: T | undefined;
}

interface Place {
  readonly findings: Findings;
  readonly parent: Place | undefined;
  readonly step: string | number;
  readonly isInList: boolean;
}

const ROOT = { parent: undefined, step: "", isInList: false } as const;

/**
 * Limit of distinct changed fields, regardless of list positions. No kind gains so many fields from one release to the
 * next.
 */
const NAMED_MAX = 1000;
/** Limit of paths of values inside changed fields: this many are enough to find a release that has the fields. */
const PATHS_MAX = 1000;

class Findings {
  readonly repeated = new Set<string>();
  /** Keyed by the path without list positions. */
  readonly named = new Map<string, { name: string; paths: ValuePath[] }>();
  isCut = false;
  readonly #omission: Omission;
  #paths = 0;

  constructor(omission: Omission) {
    this.#omission = omission;
  }

  keepsOmitted({ isInList }: Place): boolean {
    return this.#omission === "not-known" || (this.#omission === "removed-outside-lists" && isInList);
  }

  addRepeated(place: Place): void {
    this.repeated.add(nameOf(pathOf(place)));
  }

  addNamed(place: Place, value: unknown): void {
    const path = pathOf(place);
    const shape = shapeOf(path);
    let field = this.named.get(shape);
    if (field === undefined) {
      if (this.named.size >= NAMED_MAX) {
        this.isCut = true;
        return;
      }
      field = { name: nameOf(path), paths: [path] };
      this.named.set(shape, field);
    }
    this.#addBelow(value, path, field.paths);
  }

  #addBelow(value: unknown, path: ValuePath, paths: ValuePath[]): void {
    if (value === null || typeof value !== "object") return;
    for (const [key, member] of Object.entries(value)) {
      if (this.#paths++ >= PATHS_MAX) return;
      const below = [...path, Array.isArray(value) ? Number(key) : key];
      paths.push(below);
      this.#addBelow(member, below, paths);
    }
  }
}

function pathOf(place: Place): ValuePath {
  const path: (string | number)[] = [];
  for (let at = place; at.parent !== undefined; at = at.parent) path.push(at.step);
  return path.toReversed();
}

/** The path without list positions, because a type has the field at every position or at none. */
function shapeOf(path: ValuePath): string {
  return path.map((step) => (typeof step === "number" ? "[]" : `.${JSON.stringify(step)}`)).join("");
}

function nameOf(path: ValuePath): string {
  return path.reduce<string>((name, step) => {
    if (typeof step === "number") return `${name}[${step}]`;
    return name === "" ? step : `${name}.${step}`;
  }, "");
}

function memberPlace(parent: Place, step: string): Place {
  return { findings: parent.findings, parent, step, isInList: parent.isInList };
}

/** A copy of `known` with the given fields set; `known` itself if there are none. */
function withMembers(known: JsonObject, members: ReadonlyMap<string, unknown>): JsonObject {
  if (members.size === 0) return known;
  const object = { ...known };
  for (const [key, value] of members) setMember(object, key, value);
  return object;
}

function settleStruct(versions: Versions<JsonObject>, schema: StructSchema, place: Place): JsonObject {
  const { sent, known, existing } = versions;
  const members = schema.preserveUnknown ? new Map<string, unknown>() : settleUnknownMembers(versions, schema, place);
  for (const key of Object.keys(known)) {
    const field = schema.fields.get(key);
    if (field === undefined || !mayHold(field)) continue;
    const member = { sent: sent[key], known: known[key], existing: existing && ownMember(existing, key) };
    const settled = settleValue(member, field, memberPlace(place, key));
    if (settled !== known[key]) members.set(key, settled);
  }
  return withMembers(known, members);
}

/** The unknown fields that are kept. */
function settleUnknownMembers(
  { sent, existing = {} }: Versions<JsonObject>,
  { fields }: StructSchema,
  place: Place,
): Map<string, unknown> {
  const kept = new Map<string, unknown>();
  const { findings } = place;
  for (const key of Object.keys(sent)) {
    if (fields.has(key)) continue;
    const there = ownMember(existing, key);
    const at = memberPlace(place, key);
    if (there !== undefined && jsonEquals(sent[key], there)) {
      kept.set(key, there);
      findings.addRepeated(at);
    } else if (there !== undefined || sent[key] !== null) {
      findings.addNamed(at, sent[key]);
    }
  }
  for (const key of Object.keys(existing)) {
    if (fields.has(key) || Object.hasOwn(sent, key)) continue;
    if (findings.keepsOmitted(place)) kept.set(key, existing[key]);
    else findings.addNamed(memberPlace(place, key), undefined);
  }
  return kept;
}

function settleValue(versions: Versions<unknown>, field: FieldSchema, place: Place): unknown {
  const { sent, known, existing } = versions;
  const { struct, items, type } = field;
  if (type === "array") {
    if (items === undefined || !mayHold(items) || !Array.isArray(sent) || !Array.isArray(known)) return known;
    return settleList({ sent, known, existing: Array.isArray(existing) ? existing : undefined }, field, place);
  }
  if (!isJsonObject(sent) || !isJsonObject(known)) return known;
  const objects = { sent, known, existing: isJsonObject(existing) ? existing : undefined };
  if (type === "struct") return struct === undefined ? known : settleStruct(objects, struct, place);
  return items === undefined || !mayHold(items) ? known : settleMap(objects, items, place);
}

function settleMap({ sent, known, existing }: Versions<JsonObject>, items: FieldSchema, place: Place): JsonObject {
  const members = new Map<string, unknown>();
  for (const key of Object.keys(known)) {
    const member = { sent: sent[key], known: known[key], existing: existing && ownMember(existing, key) };
    const settled = settleValue(member, items, memberPlace(place, key));
    if (settled !== known[key]) members.set(key, settled);
  }
  return withMembers(known, members);
}

function settleList({ sent, known, existing }: Versions<unknown[]>, field: FieldSchema, place: Place): unknown[] {
  const items = field.items!;
  const before = existing === undefined ? [] : matchItems({ sent, known, before: existing }, field);
  const settled = known.map((item, index) =>
    settleValue({ sent: sent[index], known: item, existing: before[index] }, items, {
      findings: place.findings,
      parent: place,
      step: index,
      isInList: true,
    }),
  );
  return settled.every((item, index) => item === known[index]) ? known : settled;
}

/** Whether the type has a field at this path. Does not check the types of values. */
export function hasPlaceFor(schema: StructSchema, path: ValuePath): boolean {
  let struct: StructSchema | undefined = schema;
  let field: FieldSchema | undefined;
  for (const step of path) {
    if (struct !== undefined) {
      field = struct.fields.get(String(step));
      if (field === undefined) return struct.preserveUnknown;
    } else {
      field = field?.items;
    }
    if (field === undefined) return true;
    struct = field.type === "struct" ? field.struct : undefined;
  }
  return true;
}
