/**
 * Copies StorageVersion objects from the main API server into the store of this server's resources. A write in this
 * store cannot be guarded by the revisions of objects in another store; it is guarded by the revisions of the copies
 * instead.
 *
 * A server makes a copy by reading the copy, then reading the object, then replacing the copy that it read. Because the
 * object is read after the copy, each new copy is at least as new as the previous one, whichever server makes it, and
 * however long that server was paused in between. A server that has published its entry waits until the copy contains
 * the entry; from then on no server can write by the previous agreement.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { runTogether } from "../../base/run-together.ts";
import { messageOf } from "../../base/within.ts";
import { WorkQueue } from "../../base/work-queue.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { isReason } from "../../meta/status-error.ts";
import type { Kv, KeyValue } from "../../storage/kv.ts";
import { STORAGE_VERSION_TYPE, type StorageVersionObject } from "../../cluster/storageversion/objects.ts";

interface AgreementCopyOptions {
  /** Client of the main API server. */
  readonly client: Client;
  readonly kv: Kv;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly keyPrefix: string;
  /** Names of the StorageVersion objects to copy. */
  readonly names: ReadonlySet<string>;
}

const RETRY_MS_MAX = 5_000;
const REQUEST_TIMEOUT_MS = 5_000;
const WORKERS = 4;

export class AgreementCopy {
  readonly #options: AgreementCopyOptions;
  readonly #objects: ResourceClient<StorageVersionObject>;
  readonly #informer: Informer<StorageVersionObject>;
  readonly #queue: WorkQueue;
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(options: AgreementCopyOptions) {
    const { client, clock, random, log, names } = options;
    this.#options = options;
    this.#objects = client.resource<StorageVersionObject>(STORAGE_VERSION_TYPE);
    this.#informer = client.informer<StorageVersionObject>(STORAGE_VERSION_TYPE, {
      onError: (thrown) => log.warn("watch of StorageVersions failed", { error: messageOf(thrown) }),
    });
    this.#queue = new WorkQueue({ clock, random, retryMsMax: RETRY_MS_MAX });
    const look = ({ metadata }: StorageVersionObject): void => {
      const name = metadata?.name ?? "";
      if (names.has(name)) this.#queue.add(name);
    };
    this.#informer.addHandler({ onAdd: look, onUpdate: look, onDelete: look });
  }

  /** Calls `done` once the copy is at least as new as the object was at the time of this call. */
  after(name: string, done: () => void): void {
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), done]);
    this.#queue.add(name);
  }

  async run(signal: AbortSignal): Promise<void> {
    // Queues all names once, because the informer does not report objects that were deleted before it started.
    for (const name of this.#options.names) this.#queue.add(name);
    await runTogether(signal, [
      (until) => this.#informer.run(until),
      (until) => this.#queue.run(WORKERS, (name) => this.#work(name, until), until),
    ]);
  }

  async #work(name: string, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    try {
      await this.#copy(name, signal);
      this.#queue.forget(name);
      for (const done of waiting) done();
    } catch (thrown) {
      this.#waiting.set(name, [...waiting, ...(this.#waiting.get(name) ?? [])]);
      if (!signal.aborted) this.#failed(name, thrown);
    }
  }

  #failed(name: string, thrown: unknown): void {
    this.#options.log.warn("failed to copy a StorageVersion", { name, error: messageOf(thrown) });
    this.#queue.addRateLimited(name);
  }

  /**
   * If another server has replaced the copy first, its copy may be of an older state of the object, so the copy is read
   * and compared once more.
   */
  async #copy(name: string, signal: AbortSignal): Promise<void> {
    const { kv, keyPrefix } = this.#options;
    const key = keyPrefix + name;
    for (;;) {
      signal.throwIfAborted();
      const [before] = (await kv.range({ start: key })).items;
      const object = await this.#read(name, signal);
      const change = changeOf(key, before, object);
      if (change === undefined || (await kv.commit(change)).committed) return;
    }
  }

  async #read(name: string, signal: AbortSignal): Promise<StorageVersionObject | undefined> {
    try {
      return await this.#objects.get({ name }, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return undefined;
      throw thrown;
    }
  }
}

/** The write that updates the copy; undefined if the copy is up to date. */
function changeOf(
  key: string,
  before: KeyValue | undefined,
  object: StorageVersionObject | undefined,
): Parameters<Kv["commit"]>[0] | undefined {
  const expectedRevision = before?.modRevision ?? 0;
  if (object === undefined) return before && { kind: "delete", key, expectedRevision };
  const { kind, apiVersion, metadata: { name, uid } = {}, status } = object;
  const value = Buffer.from(JSON.stringify({ kind, apiVersion, metadata: { name, uid }, status }));
  return before?.value.equals(value) === true ? undefined : { kind: "put", key, value, expectedRevision };
}
