/** The cache of an informer: objects by key, and by the values of its indexes. */
import type { KubernetesObject } from "./objects.ts";

/** The index values of an object; may be empty. */
export type IndexFunction<T> = (object: T) => readonly string[];

export class ObjectCache<T extends KubernetesObject> {
  readonly #objects = new Map<string, T>();
  readonly #indexes: ReadonlyMap<string, Index<T>>;

  /** If an index function throws for an object, `onError` is called and the object is omitted from that index. */
  constructor(indexes: Readonly<Record<string, IndexFunction<T>>>, onError: (thrown: unknown) => void) {
    this.#indexes = new Map(Object.entries(indexes).map(([name, valuesOf]) => [name, new Index(valuesOf, onError)]));
  }

  /** `key` has the form of `keyText`. */
  get(key: string): T | undefined {
    return this.#objects.get(key);
  }

  keys(): ReadonlySet<string> {
    return new Set(this.#objects.keys());
  }

  list(): T[] {
    return [...this.#objects.values()];
  }

  byIndex(name: string, value: string): T[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new TypeError(`unknown index ${JSON.stringify(name)}`);
    const objects: T[] = [];
    for (const key of index.keys(value)) {
      const object = this.#objects.get(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  set(key: string, object: T): void {
    this.delete(key);
    this.#objects.set(key, object);
    for (const index of this.#indexes.values()) index.add(key, object);
  }

  /** Returns the deleted object. */
  delete(key: string): T | undefined {
    const before = this.#objects.get(key);
    if (before === undefined) return undefined;
    this.#objects.delete(key);
    for (const index of this.#indexes.values()) index.remove(key);
    return before;
  }
}

/**
 * Remembers the index values of each object, because the function may later return other values for the same object.
 */
class Index<T> {
  readonly #valuesOf: IndexFunction<T>;
  readonly #onError: (thrown: unknown) => void;
  readonly #keys = new Map<string, Set<string>>();
  readonly #values = new Map<string, readonly string[]>();

  constructor(valuesOf: IndexFunction<T>, onError: (thrown: unknown) => void) {
    this.#valuesOf = valuesOf;
    this.#onError = onError;
  }

  keys(value: string): string[] {
    return [...(this.#keys.get(value) ?? [])];
  }

  add(key: string, object: T): void {
    const values = this.#ask(object);
    if (values.length > 0) this.#values.set(key, values);
    for (const value of values) {
      const keys = this.#keys.get(value) ?? new Set();
      this.#keys.set(value, keys.add(key));
    }
  }

  #ask(object: T): readonly string[] {
    try {
      return [...new Set(this.#valuesOf(object))];
    } catch (thrown) {
      this.#onError(thrown);
      return [];
    }
  }

  remove(key: string): void {
    for (const value of this.#values.get(key) ?? []) {
      const keys = this.#keys.get(value);
      keys?.delete(key);
      if (keys?.size === 0) this.#keys.delete(value);
    }
    this.#values.delete(key);
  }
}
