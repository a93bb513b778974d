/**
 * Watches the etcd of a cluster from its first revision on, and records every commit and every violation of the
 * controllers' guarantees.
 */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import { StoreHistory, type Commit } from "../../src/tools/simulator/history.ts";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import { realClock } from "../testing/real-clock.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { StoreWitness } from "../stories/store-witness.ts";
import type { Expected } from "./controller-load.ts";

export async function openFollowedStore(endpoint: string): Promise<FollowedStore> {
  const clock = realClock();
  return new FollowedStore(await openEtcdKv({ endpoints: [endpoint], clock }));
}

export class FollowedStore implements AsyncDisposable {
  /** All commits, in the order of their revisions. */
  readonly commits: Commit[] = [];
  /** Errors of the watch on the store. */
  readonly failures: string[] = [];
  readonly witness: StoreWitness;
  readonly #history: StoreHistory;
  readonly #kv: Kv;
  readonly #waiting = new Set<() => void>();
  #isClosing = false;

  constructor(kv: Kv) {
    this.#kv = kv;
    const onFailure = (thrown: unknown): void => {
      if (!this.#isClosing) this.failures.push(`watch of the store failed: ${String(thrown)}`);
    };
    this.#history = new StoreHistory({ clock: realClock(), kv, onFailure });
    this.witness = new StoreWitness(this.#history);
    this.#history.onCommit((commit) => {
      this.commits.push(commit);
      for (const wake of this.#waiting) wake();
    });
  }

  get(key: string): JsonObject | undefined {
    return this.#history.get(key);
  }

  /** The revision of the last change of any key with the prefix. */
  lastRevision(prefix: string): number {
    return this.commits.findLast(({ key }) => key.startsWith(prefix))?.revision ?? 0;
  }

  /** The number of these namespaces that were removed before the wall clock time. */
  goneBefore(namespaces: ReadonlySet<string>, wallMs: number): number {
    const limitMs = wallMs - performance.timeOrigin;
    return [...this.witness.goneAtMs].filter(([name, atMs]) => namespaces.has(name) && atMs < limitMs).length;
  }

  /** Waits until the condition is true after a commit, or until the signal aborts. */
  async until(condition: () => boolean, late: AbortSignal): Promise<void> {
    const { promise: expired, resolve: expire } = Promise.withResolvers<void>();
    late.addEventListener("abort", () => expire(), { once: true });
    while (!condition() && !late.aborted) {
      const { promise: next, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await Promise.race([next, expired]);
      this.#waiting.delete(resolve);
    }
  }

  /** Waits until all commits up to the current revision have been received, or until the signal aborts. */
  async catchUp(late: AbortSignal): Promise<void> {
    const revision = await this.#kv.currentRevision();
    await this.until(() => (this.commits.at(-1)?.revision ?? 0) >= revision, late);
  }

  /** Differences between the store and the expected state, as sentences. */
  unsettled({ gone, kept, namespacesGone }: Expected): string[] {
    const stored = this.#history.under("");
    const inGone = stored.filter(
      ([key, object]) =>
        namespacesGone.has(stringAt(objectAt(object, "metadata"), "namespace")) ||
        (key.startsWith("namespaces/") && namespacesGone.has(key.slice("namespaces/".length))),
    );
    const changed = [...kept].flatMap(([key, owners]) => {
      const object = this.get(key);
      if (object === undefined) return [`${key} is lost`];
      const found = ownersOf(object);
      return found.join() === owners.join() ? [] : [`${key} is owned by ${found.join()}, expected ${owners.join()}`];
    });
    return [
      ...stored.filter(([key]) => gone.has(key)).map(([key]) => `${key} still exists`),
      ...inGone.map(([key]) => `${key} still exists`),
      ...changed,
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    await this.#kv.close();
  }
}

function ownersOf(object: JsonObject): string[] {
  const references = objectAt(object, "metadata")["ownerReferences"];
  return Array.isArray(references) ? references.filter(isJsonObject).map((one) => stringAt(one, "uid")) : [];
}
