/** The store that the conformance suite needs for a test, and the helpers that the parts of the suite share. */
import { expect } from "vitest";
import type {
  CommitResult,
  Kv,
  KvEvent,
  StorageError,
  StorageErrorCode,
  WatchSink,
  Watching,
} from "../../../../src/storage/kv.ts";

/** A store opened for one test. Disposing it closes every handle; the test may have closed some already. */
export interface KvFixture extends AsyncDisposable {
  readonly kv: Kv;
  /** Opens another handle to the same data after `kv` was closed. Absent if data does not outlive a handle. */
  readonly reopen?: () => Promise<Kv>;
  /** Advances the store's clock. Absent if the store runs on real time; the suite waits in this case. */
  readonly advance?: (ms: number) => void;
}

export interface KvCapabilities {
  /** True if no other client writes to the store, so that revisions can be counted. Default: false. */
  readonly isExclusive?: boolean;
  /** False if compaction would disturb other users of the store. Default: true. */
  readonly canCompact?: boolean;
  /** The shortest time to live of a lease that the store grants, in seconds. Default: 1. */
  readonly leaseSeconds?: number;
}

export interface KvSuiteContext {
  open(): Promise<KvFixture>;
  /** Returns a key prefix that no other test uses; it ends with a slash. */
  prefix(): string;
  readonly capabilities: Required<KvCapabilities>;
}

/** Deadline of a test that waits on real time for an event. */
export const DEADLINE_MS = 30_000;

export function bytes(text: string): Buffer {
  return Buffer.from(text);
}

export function create(kv: Kv, key: string, value: Buffer | string = "value"): Promise<number> {
  return put(kv, { key, value, expectedRevision: 0 });
}

export async function put(
  kv: Kv,
  change: { key: string; value: Buffer | string; expectedRevision: number; lease?: string },
): Promise<number> {
  const value = typeof change.value === "string" ? bytes(change.value) : change.value;
  return revisionOf(await kv.commit({ ...change, kind: "put", value }));
}

export async function remove(kv: Kv, key: string, expectedRevision: number): Promise<number> {
  return revisionOf(await kv.commit({ kind: "delete", key, expectedRevision }));
}

function revisionOf(result: CommitResult): number {
  if (!result.committed) throw new Error(`the commit lost against revision ${result.current?.modRevision ?? "none"}`);
  return result.revision;
}

export async function expectStorageError(promise: Promise<unknown>, code: StorageErrorCode): Promise<StorageError> {
  const thrown: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(thrown).toMatchObject({ name: "StorageError", code });
  return thrown as StorageError;
}

/** An event as one line: type, key without the test's prefix, and revision. */
export function describeEvent(event: KvEvent, prefix: string): string {
  return `${event.kind} ${event.key.slice(prefix.length)}@${event.modRevision}`;
}

/** A sink that records events and lets a test wait for them. */
export class Recorder implements WatchSink {
  readonly batches: (readonly KvEvent[])[] = [];
  readonly progressRevisions: number[] = [];
  readonly closings: StorageError[] = [];
  readonly #waiting = new Set<() => void>();
  #watching: Watching | undefined;

  static start(kv: Kv, request: { prefix: string; fromRevision: number }): Recorder {
    const recorder = new Recorder();
    recorder.#watching = kv.watch(request, recorder);
    return recorder;
  }

  get all(): readonly KvEvent[] {
    return this.batches.flat();
  }

  stop(): void {
    this.#watching?.close();
  }

  events(batch: readonly KvEvent[]): void {
    this.batches.push(batch);
    this.#wake();
  }

  progress(revision: number): void {
    this.progressRevisions.push(revision);
    this.#wake();
  }

  interrupted(): void {}

  closed(error: StorageError): void {
    this.closings.push(error);
    this.#wake();
  }

  /** The first `count` events, as soon as that many have arrived. */
  async first(count: number): Promise<readonly KvEvent[]> {
    await this.#until(() => this.all.length >= count);
    return this.all.slice(0, count);
  }

  /** All events up to and including the event of this revision. */
  async through(revision: number): Promise<readonly KvEvent[]> {
    await this.#until(() => (this.batches.at(-1)?.at(-1)?.modRevision ?? 0) >= revision);
    return this.all.filter((event) => event.modRevision <= revision);
  }

  async closing(): Promise<StorageError> {
    await this.#until(() => this.closings.length > 0);
    return this.closings[0]!;
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
