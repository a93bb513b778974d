/** A map value that a CEL expression constructs. */
import { MapValue, Uint, type Value, weightOf } from "./value.ts";

/**
 * The key as text, which is the same for equal numbers of all types; undefined for NaN and other values that are not
 * keys.
 */
function keyOf(key: Value): string | undefined {
  const plain = key instanceof Uint ? key.value : key;
  switch (typeof plain) {
    case "string":
      return `s${plain}`;
    case "boolean":
      return `b${plain}`;
    case "bigint":
      return `n${plain}`;
    case "number":
      return Number.isInteger(plain) ? `n${BigInt(plain)}` : undefined;
    default:
      return undefined;
  }
}

export class LiteralMap extends MapValue {
  readonly #entries = new Map<string, readonly [Value, Value]>();

  #weight = 0;

  override get weight(): number {
    return this.#weight;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: Value): boolean {
    const text = keyOf(key);
    return text !== undefined && this.#entries.has(text);
  }

  /** Sets an entry. Returns false if the key is not valid. */
  set(key: Value, value: Value): boolean {
    const text = keyOf(key);
    if (text === undefined) return false;
    this.#entries.set(text, [key, value]);
    this.#weight += weightOf(value);
    return true;
  }

  find(key: Value): Value | undefined {
    const text = keyOf(key);
    return text === undefined ? undefined : this.#entries.get(text)?.[1];
  }

  keys(): readonly Value[] {
    return [...this.#entries.values()].map(([key]) => key);
  }
}
