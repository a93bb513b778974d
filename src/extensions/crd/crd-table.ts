/** All CRDs in the store, parsed. Every part of the server looks up CRDs in this table. */
import type { Crd } from "./crd.ts";

export interface KnownCrd {
  readonly definition: Crd;
  /** Revision of the store at which the CRD was last written. */
  readonly revision: number;
}

/** `before` is undefined for an added CRD, `after` for a removed one. */
type CrdListener = (change: { readonly before: Crd | undefined; readonly after: Crd | undefined }) => void;

export class CrdTable {
  readonly #byName = new Map<string, KnownCrd>();
  readonly #listeners = new Set<CrdListener>();
  readonly #settledListeners = new Set<() => void>();
  readonly #waiting: (() => void)[] = [];
  #generation = 0;
  #isLoaded = false;

  /** Increases with every change of any CRD. */
  get generation(): number {
    return this.#generation;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /**
   * Replaces the whole content of the table, also by older revisions: the store may have been restored from a backup.
   */
  reset(all: readonly KnownCrd[]): void {
    const names = new Set(all.map(({ definition }) => definition.name));
    const before = this.#generation;
    for (const name of this.#byName.keys()) if (!names.has(name)) this.#remove(name);
    for (const known of all) if (this.#byName.get(known.definition.name)?.revision !== known.revision) this.#set(known);
    this.#isLoaded = true;
    this.#settled(before);
  }

  /** Adds or replaces a CRD. Ignores a revision that is not newer than the known one. */
  put(known: KnownCrd): void {
    const before = this.#generation;
    this.#put(known);
    this.#settled(before);
  }

  remove(name: string): void {
    const before = this.#generation;
    this.#remove(name);
    this.#settled(before);
  }

  get(name: string): KnownCrd | undefined {
    return this.#byName.get(name);
  }

  find(group: string, resource: string): KnownCrd | undefined {
    return this.#byName.get(`${resource}.${group}`);
  }

  /** All CRDs, in no particular order. */
  definitions(): Crd[] {
    return Array.from(this.#byName.values(), ({ definition }) => definition);
  }

  /** Calls the listener synchronously with each change. The returned function removes the listener. */
  onChange(listener: CrdListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Calls the listener once per batch of changes, after all `onChange` listeners. The returned function removes the
   * listener.
   */
  onSettled(listener: () => void): () => void {
    this.#settledListeners.add(listener);
    return () => void this.#settledListeners.delete(listener);
  }

  /** Resolves at the next change of any CRD. */
  nextChange(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #put(known: KnownCrd): void {
    const before = this.#byName.get(known.definition.name);
    if (before === undefined || before.revision < known.revision) this.#set(known);
  }

  #set(known: KnownCrd): void {
    const { definition } = known;
    const before = this.#byName.get(definition.name);
    this.#byName.set(definition.name, known);
    this.#changed({ before: before?.definition, after: definition });
  }

  #remove(name: string): void {
    const before = this.#byName.get(name);
    if (before === undefined) return;
    this.#byName.delete(name);
    this.#changed({ before: before.definition, after: undefined });
  }

  #changed(change: Parameters<CrdListener>[0]): void {
    this.#generation++;
    for (const listener of this.#listeners) listener(change);
  }

  #settled(generationBefore: number): void {
    if (this.#generation === generationBefore) return;
    for (const listener of this.#settledListeners) listener();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
