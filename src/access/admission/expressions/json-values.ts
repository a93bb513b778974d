/**
 * Converts JSON values without a schema to CEL values. Fields and elements are converted when an expression first reads
 * them.
 */
import { ListValue, MapValue, type Value } from "../../../objects/cel/values/value.ts";
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";

export function jsonValue(json: unknown): Value {
  switch (typeof json) {
    case "string":
    case "boolean":
    case "bigint":
      return json;
    case "number":
      return Number.isSafeInteger(json) ? BigInt(json) : json;
    default:
      if (Array.isArray(json)) return new JsonList(json);
      return isJsonObject(json) ? new JsonMap(json) : null;
  }
}

/**
 * Whether a converted field is cached. Only maps and lists are, because they hold the conversions of their own fields and
 * elements.
 */
function isKept(value: Value): boolean {
  return value instanceof MapValue || value instanceof ListValue;
}

/** The number of all nested values. */
function weightOfJson(json: unknown): number {
  const pending: unknown[] = [json];
  let weight = -1;
  for (; pending.length > 0; weight++) {
    const next = pending.pop();
    const members: readonly unknown[] = isJsonObject(next) ? Object.values(next) : Array.isArray(next) ? next : [];
    for (const member of members) pending.push(member);
  }
  return weight;
}

class JsonMap extends MapValue {
  readonly #object: JsonObject;
  #found: Map<string, Value> | undefined;
  #keys: readonly string[] | undefined;
  #weight: number | undefined;

  constructor(object: JsonObject) {
    super();
    this.#object = object;
  }

  get size(): number {
    return this.keys().length;
  }

  override get weight(): number {
    this.#weight ??= weightOfJson(this.#object);
    return this.#weight;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return undefined;
    const known = this.#found?.get(key);
    if (known !== undefined) return known;
    const json = Object.hasOwn(this.#object, key) ? this.#object[key] : undefined;
    if (json === undefined) return undefined;
    const value = jsonValue(json);
    if (!isKept(value)) return value;
    this.#found ??= new Map();
    this.#found.set(key, value);
    return value;
  }

  keys(): readonly string[] {
    this.#keys ??= Object.keys(this.#object).filter((key) => this.#object[key] !== undefined);
    return this.#keys;
  }
}

class JsonList extends ListValue {
  readonly size: number;
  readonly #json: readonly unknown[];
  #elements: readonly Value[] | undefined;
  #weight: number | undefined;

  constructor(json: readonly unknown[]) {
    super();
    this.#json = json;
    this.size = json.length;
  }

  override get weight(): number {
    this.#weight ??= weightOfJson(this.#json);
    return this.#weight;
  }

  at(index: number): Value {
    return this.elements()[index] ?? null;
  }

  elements(): readonly Value[] {
    this.#elements ??= this.#json.map(jsonValue);
    return this.#elements;
  }
}
