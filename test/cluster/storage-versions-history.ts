/**
 * Checks at every revision of a store that the recorded state of a resource ("all objects are stored in version X")
 * matches its stored objects.
 */
import { prefixEnd, type Kv, type KvEvent } from "../../src/storage/kv.ts";
import type { Json } from "../smoke/client.ts";
import type { Subject } from "./storage-versions.ts";

const STATE_KEY = "/registry/configmaps/kube-system/evenkeel-storage-state";
/** Long enough, even for a busy machine. */
const DEADLINE_MS = 60_000;

/** The progress of a migration that the server recorded at a revision. */
export interface NotedMigration {
  readonly revision: number;
  readonly migrated: number;
  readonly resourceVersion: string;
}

export class StoreHistory implements Disposable {
  /** The number of examined changes, of any key. */
  revisions = 0;
  /** Revisions at which the record named a single stored version, but some objects were stored in another version. */
  readonly falseReports: string[] = [];
  /** The false reports whose record was marked as verified for the current StorageVersion object. */
  readonly provenFalseReports: string[] = [];
  readonly noted: NotedMigration[] = [];
  /** The stored version of each object of the resource, keyed by its key. */
  readonly #stored = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #subject: Subject;
  readonly #waiting = new Set<() => void>();
  readonly #watching;
  #state: Json = {};
  /** The resourceVersion of the StorageVersion object of the resource. */
  #agreedAt = 0;

  constructor(kv: Kv, subject: Subject) {
    this.#subject = subject;
    const unexpected = (error: Error): void => void this.falseReports.push(`the watch ended: ${error.message}`);
    this.#watching = kv.watch(
      { prefix: "/registry/", fromRevision: 1 },
      { events: (batch) => this.#take(batch), progress: () => {}, interrupted: () => {}, closed: unexpected },
    );
  }

  /** The recorded state of the resource at the newest revision. */
  get state(): Json {
    return this.#state;
  }

  /** The number of objects that are stored in the version. */
  count(version: string): number {
    return this.#counts.get(version) ?? 0;
  }

  isOnly(version: string): boolean {
    return this.#state.persistedVersions?.join() === version;
  }

  /** Waits until the condition is true at a revision, and returns the time in milliseconds. */
  async until(what: string, condition: () => boolean): Promise<number> {
    const startedAt = Date.now();
    const late = AbortSignal.timeout(DEADLINE_MS);
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
        late.addEventListener("abort", () => resolve(), { once: true });
      });
      if (late.aborted && !condition())
        throw new Error(
          `condition not met after ${DEADLINE_MS} ms: ${what}; ${JSON.stringify([...this.#counts])} ${JSON.stringify(this.#state)}`,
        );
    }
    return Date.now() - startedAt;
  }

  [Symbol.dispose](): void {
    this.#watching.close();
  }

  #take(batch: readonly KvEvent[]): void {
    for (const event of batch) {
      this.revisions++;
      const { prefix } = this.#subject;
      if (event.key >= prefix && event.key < prefixEnd(prefix)) this.#store(event);
      if (event.key === STATE_KEY) this.#read(event);
      if (event.key === `/registry/storageversions/${this.#subject.name}`) this.#agreedAt = event.modRevision;
      this.#judge(event.modRevision);
    }
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #store(event: KvEvent): void {
    const add = (version: string | undefined, more: number): void => {
      if (version !== undefined) this.#counts.set(version, this.count(version) + more);
    };
    add(this.#stored.get(event.key), -1);
    this.#stored.delete(event.key);
    if (event.kind === "delete") return;
    const { apiVersion } = JSON.parse(event.value.toString("utf8"));
    this.#stored.set(event.key, apiVersion);
    add(apiVersion, 1);
  }

  #read(event: KvEvent): void {
    const { data } = event.kind === "put" ? JSON.parse(event.value.toString("utf8")) : { data: {} };
    this.#state = JSON.parse(data?.[this.#subject.name] ?? "{}");
    const { migration } = this.#state;
    if (migration === undefined) return;
    const { resourceVersion, position } = migration;
    const { migrated } = position;
    const last = this.noted.at(-1);
    if (last === undefined || last.migrated !== migrated || last.resourceVersion !== resourceVersion)
      this.noted.push({ revision: event.modRevision, migrated, resourceVersion });
  }

  #judge(revision: number): void {
    const { persistedVersions, verified } = this.#state;
    if (persistedVersions?.length !== 1 || persistedVersions[0] === "Unknown") return;
    const others = this.#stored.size - this.count(persistedVersions[0]);
    if (others === 0) return;
    const lie = `revision ${revision}: ${persistedVersions[0]} only, but ${others} others`;
    this.falseReports.push(lie);
    if (verified?.resourceVersion === String(this.#agreedAt)) this.provenFalseReports.push(lie);
  }
}
