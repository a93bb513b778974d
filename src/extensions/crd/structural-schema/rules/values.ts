/** Converts the values of an object to CEL values by their schema. A value is converted when an expression uses it. */
import {
  ArrayList,
  EvalError,
  equals,
  ListValue,
  MapValue,
  NO_SUCH_OVERLOAD,
  OpaqueValue,
  Timestamp,
  type Value,
} from "../../../../objects/cel/values/value.ts";
import { jsonEquals, isJsonObject, type JsonObject } from "../../../../meta/json.ts";
import type { StructuralSchema } from "../schema.ts";
import { escapeName, unescapeName } from "../../../../objects/cel/escaping.ts";
import { formattedString } from "./formatted-strings.ts";
import { withTypeAndObjectMeta } from "./resource-root.ts";
import { goType } from "../../../../meta/go-fmt.ts";

function invalid(message: string): EvalError {
  return new EvalError(`invalid data, ${message}`);
}

function integer(value: unknown): bigint | undefined {
  if (typeof value === "bigint") return value;
  return typeof value === "number" && Number.isInteger(value) ? BigInt(value) : undefined;
}

function intOrString(value: unknown): Value {
  if (typeof value === "string") return value;
  return integer(value) ?? invalid("expected XIntOrString value to be either a string or integer");
}

function scalar(value: unknown, schema: StructuralSchema): Value {
  switch (schema.type) {
    case "string":
      if (typeof value !== "string") return invalid(`expected string, got ${goType(value)}`);
      return formattedString(value, schema.value.format);
    case "number":
      if (typeof value !== "number" && typeof value !== "bigint")
        return invalid(`expected float, got ${goType(value)}`);
      return Number(value);
    case "integer":
      return integer(value) ?? invalid(`expected int, got ${goType(value)}`);
    case "boolean":
      return typeof value === "boolean" ? value : invalid(`expected bool, got ${goType(value)}`);
    default:
      if (schema.preserveUnknown) return new PreservedValue(value);
      return new EvalError(
        "invalid type, expected object, array, number, integer, boolean or string, or no type with " +
          "x-kubernetes-int-or-string or x-kubernetes-preserve-unknown-fields is true, got ",
      );
  }
}

export function valueOf(value: unknown, schema: StructuralSchema): Value {
  if (value === null || value === undefined)
    return schema.nullable ? null : invalid("got null for schema with nullable=false");
  if (schema.intOrString) return intOrString(value);
  if (schema.type === "object") {
    if (!isJsonObject(value)) return invalid("expected a map for the provided schema with type=object");
    return new JsonMap(value, schema.embeddedResource ? withTypeAndObjectMeta(schema) : schema);
  }
  if (schema.type !== "array") return scalar(value, schema);
  if (!Array.isArray(value)) return invalid("expected an array for the provided schema with type=array");
  if (schema.items === undefined) return new EvalError("invalid array type, expected Items with a non-empty Schema");
  return listValue(value, schema, schema.items);
}

function listValue(elements: readonly unknown[], schema: StructuralSchema, items: StructuralSchema): ListValue {
  switch (schema.listType) {
    case "map":
      return new MapList(elements, items, schema.listMapKeys);
    case "set":
      return new SetList(elements, items);
    default:
      return new JsonList(elements, items);
  }
}

/** A value without a schema. Expressions can only compare it. */
class PreservedValue extends OpaqueValue {
  readonly typeName = "unknown";
  readonly #value: unknown;

  constructor(value: unknown) {
    super();
    this.#value = value;
  }

  equals(other: Value): boolean {
    return other instanceof PreservedValue && jsonEquals(this.#value, other.#value);
  }

  toString(): string {
    return JSON.stringify(this.#value);
  }
}

class JsonMap extends MapValue {
  readonly #object: JsonObject;
  readonly #schema: StructuralSchema;
  readonly #hasProperties: boolean;
  #found: Map<string, Value> | undefined;
  #size: number | undefined;

  constructor(object: JsonObject, schema: StructuralSchema) {
    super();
    this.#object = object;
    this.#schema = schema;
    this.#hasProperties = schema.properties.size > 0;
  }

  get size(): number {
    this.#size ??= Object.keys(this.#object).length;
    return this.#size;
  }

  #schemaOf(property: string): StructuralSchema | undefined {
    if (this.#hasProperties || this.#schema.embeddedResource) return this.#schema.properties.get(property);
    const { additionalProperties } = this.#schema;
    return typeof additionalProperties === "object" ? additionalProperties : undefined;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return NO_SUCH_OVERLOAD;
    const property = this.#hasProperties ? unescapeName(key) : key;
    return property === undefined ? undefined : this.#property(property);
  }

  /** Caches objects and lists, because expressions use them repeatedly and they cache their own values. */
  #property(property: string): Value | undefined {
    const known = this.#found?.get(property);
    if (known !== undefined) return known;
    if (!Object.hasOwn(this.#object, property)) return undefined;
    const json = this.#object[property];
    if (json === undefined || (json === null && this.#hasProperties)) return undefined;
    const schema = this.#schemaOf(property);
    if (schema === undefined) return undefined;
    const value = valueOf(json, schema);
    if (value instanceof MapValue || value instanceof ListValue) {
      this.#found ??= new Map();
      this.#found.set(property, value);
    }
    return value;
  }

  keys(): readonly Value[] {
    const keys = Object.keys(this.#object).filter((property) => this.#schemaOf(property) !== undefined);
    return this.#hasProperties ? keys.map((property) => escapeName(property) ?? property) : keys;
  }

  override equals(other: Value): boolean | EvalError {
    if (!(other instanceof MapValue)) return NO_SUCH_OVERLOAD;
    if (this.size !== other.size) return false;
    for (const property of Object.keys(this.#object)) {
      const isEqual =
        this.#schemaOf(property) === undefined ? this.#sameUnknown(property, other) : this.#same(property, other);
      if (isEqual !== true) return isEqual;
    }
    return true;
  }

  #same(property: string, other: MapValue): boolean | EvalError {
    const key = this.#hasProperties ? (escapeName(property) ?? property) : property;
    const mine = this.find(key);
    const theirs = other.find(key);
    if (mine === undefined || theirs === undefined) return mine === theirs;
    return equals(mine, theirs);
  }

  #sameUnknown(property: string, other: MapValue): boolean | EvalError {
    if (!(other instanceof JsonMap)) return NO_SUCH_OVERLOAD;
    if (!Object.hasOwn(other.#object, property)) return true;
    return jsonEquals(this.#object[property], other.#object[property]);
  }
}

class JsonList extends ListValue {
  readonly size: number;
  protected readonly json: readonly unknown[];
  protected readonly items: StructuralSchema;
  readonly #read: (Value | undefined)[] = [];

  constructor(json: readonly unknown[], items: StructuralSchema) {
    super();
    this.json = json;
    this.items = items;
    this.size = json.length;
  }

  at(index: number): Value {
    const known = this.#read[index];
    if (known !== undefined) return known;
    const value = valueOf(this.json[index], this.items);
    this.#read[index] = value;
    return value;
  }

  elements(): readonly Value[] {
    return this.json.map((_element, index) => this.at(index));
  }

  override equals(other: Value): boolean | EvalError {
    return other instanceof ListValue ? this.hasEqualElements(other) : NO_SUCH_OVERLOAD;
  }

  override concat(other: ListValue): ListValue {
    if (other instanceof JsonList && other.items === this.items)
      return this.size + other.size === this.size ? this : super.concat(other);
    return super.concat(other);
  }
}

/** A key by which equal elements of a set are found. Objects are compared by identity. */
function memberKey(value: Value): unknown {
  if (value instanceof Timestamp) return `time ${value.nanos}`;
  return typeof value === "object" ? value : `${typeof value} ${String(value)}`;
}

class SetList extends JsonList {
  override equals(other: Value): boolean | EvalError {
    if (!(other instanceof ListValue)) return NO_SUCH_OVERLOAD;
    if (this.size !== other.size) return false;
    const members = new Set(this.elements().map(memberKey));
    return other.elements().every((element) => members.has(memberKey(element)));
  }

  /** Appends only the elements that the set does not contain. */
  override concat(other: ListValue): ListValue {
    const members = new Set(this.elements().map(memberKey));
    const added: Value[] = [];
    for (const element of other.elements()) {
      const key = memberKey(element);
      if (members.has(key)) continue;
      members.add(key);
      added.push(element);
    }
    return added.length === 0 ? this : new ArrayList([...this.elements(), ...added]);
  }
}

class MapList extends JsonList {
  readonly #keys: readonly string[];

  constructor(json: readonly unknown[], items: StructuralSchema, keys: readonly string[]) {
    super(json, items);
    this.#keys = keys;
  }

  #keyOf(element: Value): string {
    if (!(element instanceof MapValue)) return "";
    const parts = this.#keys.map((key) => element.find(escapeName(key) ?? key));
    return JSON.stringify(parts.map((part) => (part === undefined ? null : [typeof part, String(part)])));
  }

  #byKey(): Map<string, Value> {
    return new Map(this.elements().map((element) => [this.#keyOf(element), element]));
  }

  override equals(other: Value): boolean | EvalError {
    if (!(other instanceof ListValue)) return NO_SUCH_OVERLOAD;
    if (this.size !== other.size) return false;
    const mine = this.#byKey();
    for (const element of other.elements()) {
      const counterpart = mine.get(this.#keyOf(element));
      if (counterpart === undefined) return false;
      const isEqual = equals(counterpart, element);
      if (isEqual !== true) return isEqual;
    }
    return true;
  }

  /** An element of `other` replaces the element with the same key. */
  override concat(other: ListValue): ListValue {
    const merged = this.#byKey();
    for (const element of other.elements()) merged.set(this.#keyOf(element), element);
    return new ArrayList([...merged.values()]);
  }
}
