/**
 * A map of facts that follow from the commits of the store. If the store is restored from a backup, it has again the
 * entries that it had at the revision of the backup, so that no checker judges by commits that are lost.
 */
import type { StoreHistory } from "../../src/tools/simulator/history.ts";

interface Change<K, V> {
  readonly revision: number;
  readonly key: K;
  readonly before: V | undefined;
}

export class HistoryMap<K, V extends string | number | true | object> {
  readonly #history: Pick<StoreHistory, "revision">;
  readonly #values = new Map<K, V>();
  /** All changes, oldest first. */
  readonly #changes: Change<K, V>[] = [];

  /** The map must be created before listeners of the history that read it when the store is restored. */
  constructor(history: Pick<StoreHistory, "revision" | "onRestore">) {
    this.#history = history;
    history.onRestore(({ revision }) => this.#rewind(revision));
  }

  get(key: K): V | undefined {
    return this.#values.get(key);
  }

  has(key: K): boolean {
    return this.#values.has(key);
  }

  keys(): Iterable<K> {
    return this.#values.keys();
  }

  /** The value must not be changed later; a changed copy is set instead. */
  set(key: K, value: V): void {
    this.#note(key);
    this.#values.set(key, value);
  }

  delete(key: K): void {
    this.#note(key);
    this.#values.delete(key);
  }

  #note(key: K): void {
    this.#changes.push({ revision: this.#history.revision, key, before: this.#values.get(key) });
  }

  #rewind(revision: number): void {
    for (let last = this.#changes.at(-1); last !== undefined && last.revision > revision; last = this.#changes.at(-1)) {
      if (last.before === undefined) this.#values.delete(last.key);
      else this.#values.set(last.key, last.before);
      this.#changes.pop();
    }
  }
}
