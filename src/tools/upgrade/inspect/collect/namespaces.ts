/** Counts the objects of each namespace, and remembers which namespaces exist. */
const NAMESPACES_MAX = 200_000;

export class NamespaceCounts {
  readonly #objects = new Map<string, number>();
  readonly #existing = new Set<string>();
  #isComplete = true;

  /** False if there were more namespaces than fit, so that an absent namespace proves nothing. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  get existing(): number {
    return this.#existing.size;
  }

  exists(name: string): void {
    if (this.#existing.size < NAMESPACES_MAX) this.#existing.add(name);
    else this.#isComplete = false;
  }

  count(namespace: string): void {
    const count = this.#objects.get(namespace);
    if (count === undefined && this.#objects.size >= NAMESPACES_MAX) this.#isComplete = false;
    else this.#objects.set(namespace, (count ?? 0) + 1);
  }

  objectsIn(namespace: string): number {
    return this.#objects.get(namespace) ?? 0;
  }

  /** The namespaces that do not exist, those with most objects first. */
  missing(): { readonly name: string; readonly objects: number }[] {
    if (!this.#isComplete) return [];
    const missing = [...this.#objects].filter(([name]) => !this.#existing.has(name));
    return missing.map(([name, objects]) => ({ name, objects })).toSorted((a, b) => b.objects - a.objects);
  }
}
