/**
 * Records at which times each version of each object was the current one, over all histories of the store. After a
 * restore, the versions in the backup are current again, and a later version may have the number of a lost one.
 */
import type { StoreHistory } from "../../src/tools/simulator/history.ts";
import { HistoryMap } from "./history-map.ts";

interface Version {
  readonly resourceVersion: string;
  readonly fromMs: number;
  /** Infinity while it is current. */
  readonly untilMs: number;
}

export class VersionRecord {
  /** The versions of each object, by key, oldest first. */
  readonly #versions = new Map<string, Version[]>();
  readonly #keys = new Map<string, string>();
  readonly #current: HistoryMap<string, string>;

  constructor(history: StoreHistory) {
    this.#current = new HistoryMap(history);
    history.onCommit(({ key, revision, atMs, after }) => {
      this.#keys.set(key.slice(key.lastIndexOf("/") + 1), key);
      if (after === undefined) this.#current.delete(key);
      else this.#current.set(key, String(revision));
      this.#turn(key, atMs);
    });
    history.onRestore(({ atMs }) => {
      for (const key of this.#versions.keys()) this.#turn(key, atMs);
    });
  }

  /** The key of the object with this name, which must be unique; undefined if it was never stored. */
  keyOf(name: string): string | undefined {
    return this.#keys.get(name);
  }

  /** The current version of each object whose key has this prefix. */
  currentUnder(prefix: string): (readonly [key: string, resourceVersion: string])[] {
    const keys = [...this.#current.keys()].filter((key) => key.startsWith(prefix));
    return keys.map((key) => [key, this.#current.get(key)!]);
  }

  /** Whether this version was current at any time in this interval. */
  wasCurrent(
    key: string,
    resourceVersion: string,
    between: { readonly fromMs: number; readonly toMs: number },
  ): boolean {
    return (this.#versions.get(key) ?? []).some(
      (version) =>
        version.resourceVersion === resourceVersion &&
        version.fromMs <= between.toMs &&
        version.untilMs >= between.fromMs,
    );
  }

  /** Notes that the current version of an object has changed, if it has. */
  #turn(key: string, atMs: number): void {
    const versions = this.#versions.get(key) ?? [];
    this.#versions.set(key, versions);
    const resourceVersion = this.#current.get(key);
    const last = versions.at(-1);
    const isOpen = last?.untilMs === Infinity;
    if (isOpen && last.resourceVersion === resourceVersion) return;
    if (isOpen) versions[versions.length - 1] = { ...last, untilMs: atMs };
    if (resourceVersion !== undefined) versions.push({ resourceVersion, fromMs: atMs, untilMs: Infinity });
  }
}
