/** A history of changes of keys, and the keys that it leaves, as etcd would have them. */
import type { StoredChange } from "./etcd-writer.ts";

export interface LiveKey {
  readonly value: Buffer;
  readonly createRevision: number;
  readonly modRevision: number;
}

export class KeyHistory {
  readonly changes: StoredChange[] = [];
  readonly #live = new Map<string, LiveKey & { readonly version: number }>();
  /** The first write of an etcd has revision 2. */
  #revision = 1;

  get revision(): number {
    return this.#revision;
  }

  get live(): ReadonlyMap<string, LiveKey> {
    return this.#live;
  }

  put(key: string, value: string | Buffer): void {
    this.putAll([[key, value]]);
  }

  /** Changes several keys in one revision. */
  putAll(puts: readonly (readonly [key: string, value: string | Buffer])[]): void {
    const revision = ++this.#revision;
    puts.forEach(([key, content], subRevision) => {
      const value = Buffer.from(content);
      const before = this.#live.get(key);
      const createRevision = before?.createRevision ?? revision;
      const version = (before?.version ?? 0) + 1;
      this.#live.set(key, { value, createRevision, modRevision: revision, version });
      this.changes.push({ key, value, revision, subRevision, createRevision, version });
    });
  }

  delete(key: string): void {
    const revision = ++this.#revision;
    this.#live.delete(key);
    this.changes.push({ key, revision, subRevision: 0, createRevision: 0, version: 0 });
  }
}
