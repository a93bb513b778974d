/**
 * One pass over all objects of a resource, which sends each object back to the server unchanged, so that it is stored
 * in the current version. A pass ends in one of these ways:
 *
 * - `done`: every object was processed; some may have failed, as the progress reports.
 * - `aborted`: the servers no longer agree, so no object is known to be migrated.
 * - `paused`: a failure lasted too long; the pass can be resumed at its position.
 * - `refused`: the server rejects the list of objects.
 * - `stopped`: the signal aborted; another leader will resume the pass.
 *
 * A pass alone does not prove that the objects are migrated: the caller must check that the StorageVersion object did
 * not change during the pass.
 */
import { keyText } from "../../../client/objects.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import type { Client } from "../../../client/client.ts";
import { isExpired } from "../../../client/status.ts";
import { HTTP_CODE, StatusError } from "../../../meta/status-error.ts";
import {
  BROKEN_OBJECTS_MAX,
  BURST_MS,
  CONCURRENCY,
  FRESH_STARTS_MAX,
  OBJECTS_PER_SECOND,
  MIGRATION_PAGE_ITEMS,
  PAUSE_MS_MAX,
  PAUSE_MS_MIN,
} from "./migration-limits.ts";
import { listPage, rewriteObject, type ListedObject, type ObjectPage, type ServedType } from "./object-pages.ts";
import { patiently, type Attempted } from "./retry-request.ts";
import { BEGINNING, Tally, type MigrationProgress, type Position } from "./progress.ts";
import { RateLimit } from "./rate-limit.ts";

export interface Engine {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  /** Shared by all migrations of a process. */
  readonly rate: RateLimit;
  /** Maximum number of objects in flight at the same time. */
  readonly concurrency: number;
  /** Number of objects per page. */
  readonly pageItems: number;
}

export function createEngine(options: {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly objectsPerSecond?: number | undefined;
  readonly concurrency?: number | undefined;
  readonly pageItems?: number | undefined;
}): Engine {
  const { client, clock, random, objectsPerSecond = OBJECTS_PER_SECOND } = options;
  return {
    client,
    clock,
    random,
    rate: new RateLimit(clock, { perSecond: objectsPerSecond, burstMs: BURST_MS }),
    concurrency: options.concurrency ?? CONCURRENCY,
    pageItems: options.pageItems ?? MIGRATION_PAGE_ITEMS,
  };
}

export interface PassJob {
  readonly type: ServedType;
  readonly resumeAt?: Position | undefined;
  /**
   * Objects that were written after this resourceVersion are skipped. Callers may set it only if they know in which
   * version such objects were written.
   */
  readonly checkpoint?: string | undefined;
  /**
   * Returns whether the servers still agree. Called before the first page, between pages and before the pass is done.
   */
  readonly checkAgreement: () => Promise<boolean>;
  /** Aborts as soon as the watch shows that the agreement has ended. */
  readonly lost: AbortSignal;
  readonly signal: AbortSignal;
  readonly onPage?: (progress: MigrationProgress) => Promise<void>;
}

export type PassOutcome = PassEnd & { readonly progress: MigrationProgress };

type PassEnd =
  | { readonly kind: "done" }
  | { readonly kind: "aborted" }
  | { readonly kind: "paused"; readonly why: string; readonly retryAfterMs: number }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "stopped" };

export async function migrateResource(engine: Engine, job: PassJob): Promise<PassOutcome> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  const signals = [job.signal, job.lost];
  for (const signal of signals) signal.addEventListener("abort", interrupt, { once: true });
  if (signals.some(({ aborted }) => aborted)) interrupt();
  try {
    const pass = new Pass(engine, job, interrupted.signal);
    const end = await pass.run();
    return { ...end, progress: pass.progress() };
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", interrupt);
  }
}

class Pass {
  readonly #engine: Engine;
  readonly #job: PassJob;
  readonly #tally: Tally;
  /** Aborts every request in flight. */
  readonly #signal: AbortSignal;
  #token: string;
  #freshStarts = 0;
  /** Number of consecutive objects for which the server returned 500. */
  #brokenObjects = 0;
  /** How the pass ends, set by the first object that ends it. */
  #end: PassEnd | undefined;

  constructor(engine: Engine, job: PassJob, signal: AbortSignal) {
    this.#engine = engine;
    this.#job = job;
    const position = job.resumeAt ?? BEGINNING;
    this.#token = position.continueToken;
    this.#tally = new Tally(engine.clock, position);
    this.#signal = signal;
  }

  progress(): MigrationProgress {
    return this.#tally.progress();
  }

  async run(): Promise<PassEnd> {
    for (;;) {
      const disagreement = await this.#disagreement();
      if (disagreement !== undefined) return disagreement;
      const page = await this.#page();
      if ("kind" in page) return page;
      this.#tally.beginPage(page.objects.length, page.following);
      await this.#migrate(page.objects);
      const end = this.#interruption() ?? this.#end;
      if (end !== undefined) return end;
      if (page.continueToken !== "" && page.continueToken === this.#token)
        return { kind: "paused", why: "the list makes no progress", retryAfterMs: PAUSE_MS_MAX };
      this.#token = page.continueToken;
      this.#tally.finishPage(page.continueToken);
      await this.#job.onPage?.(this.progress());
      if (page.continueToken === "") return (await this.#disagreement()) ?? { kind: "done" };
    }
  }

  #interruption(): PassEnd | undefined {
    if (this.#job.lost.aborted) return { kind: "aborted" };
    return this.#job.signal.aborted ? { kind: "stopped" } : undefined;
  }

  async #disagreement(): Promise<PassEnd | undefined> {
    const attempted = await this.#patiently(() => this.#job.checkAgreement());
    const interruption = this.#interruption();
    if (interruption !== undefined) return interruption;
    if (attempted.kind === "answered") return attempted.value ? undefined : { kind: "aborted" };
    return pausedBy(attempted);
  }

  /** Requests the next page. If the continue token has expired or is invalid, it uses another token. */
  async #page(): Promise<ObjectPage | PassEnd> {
    const { client, pageItems: limit } = this.#engine;
    for (;;) {
      const attempted = await this.#patiently(() =>
        listPage(client, this.#job.type, { continueToken: this.#token, limit, signal: this.#signal }),
      );
      const interruption = this.#interruption();
      if (interruption !== undefined) return interruption;
      if (attempted.kind === "answered") return attempted.value;
      if (attempted.kind !== "refused") return pausedBy(attempted);
      if (!this.#goOnDespite(attempted.error)) return { kind: "refused", why: attempted.error.message };
      if (this.#freshStarts > FRESH_STARTS_MAX)
        return { kind: "paused", why: attempted.error.message, retryAfterMs: PAUSE_MS_MIN };
    }
  }

  /**
   * Whether the pass can continue after this error. An expired list is continued at the current state: objects that
   * were created meanwhile before the position were written by servers that agree, so they need no migration. After an
   * invalid token, which comes from an edited state, or an expired list without a new token, the pass starts over.
   */
  #goOnDespite(error: StatusError): boolean {
    if (this.#token === "") return false;
    const isMalformed = error.code === HTTP_CODE.BadRequest;
    if (!isExpired(error) && !isMalformed) return false;
    this.#freshStarts++;
    if (isExpired(error) && error.continueToken !== undefined) {
      this.#token = error.continueToken;
      return true;
    }
    this.#token = "";
    this.#tally.startAnew();
    return true;
  }

  async #migrate(objects: readonly ListedObject[]): Promise<void> {
    const waiting = objects.values();
    // Workers share the iterator, and each takes the next object. When a worker ends the pass, the remaining objects
    // stay unprocessed.
    const work = async (): Promise<void> => {
      while (this.#end === undefined && !this.#signal.aborted) {
        const { done, value } = waiting.next();
        if (done === true) return;
        await this.#migrateOne(value);
      }
    };
    await Promise.all(Array.from({ length: Math.min(this.#engine.concurrency, objects.length) }, work));
  }

  async #migrateOne(object: ListedObject): Promise<void> {
    const { client, rate } = this.#engine;
    const { checkpoint, type } = this.#job;
    if (object.name === "" || !/^[0-9]+$/.test(object.resourceVersion))
      return this.#tally.countFailure(keyText(object), `its list entry has no valid name or resourceVersion`);
    if (checkpoint !== undefined && BigInt(object.resourceVersion) > BigInt(checkpoint)) return this.#tally.count();
    if (!(await rate.take(this.#signal))) return;
    const attempted = await this.#patiently(() => rewriteObject(client, type, { object, signal: this.#signal }));
    this.#settle(object, attempted);
  }

  #settle(object: ListedObject, attempted: Attempted<void>): void {
    switch (attempted.kind) {
      case "stopped":
        return;
      case "answered":
        this.#brokenObjects = 0;
        return this.#tally.count();
      case "refused":
        this.#brokenObjects = 0;
        return this.#settleRejected(object, attempted.error);
      case "exhausted": {
        const { error } = attempted;
        const isBroken = error instanceof StatusError && error.code === HTTP_CODE.InternalError;
        if (isBroken && ++this.#brokenObjects < BROKEN_OBJECTS_MAX)
          return this.#tally.countFailure(keyText(object), error.message);
        this.#end ??= pausedBy(attempted);
      }
    }
  }

  #settleRejected(object: ListedObject, error: StatusError): void {
    const { code, details, message } = error;
    // Another client has written or deleted the object, so it needs no migration.
    if (code === HTTP_CODE.Conflict || (code === HTTP_CODE.NotFound && details?.name === object.name))
      return this.#tally.count();
    // The resource is not served, but its objects may still exist.
    if (code === HTTP_CODE.NotFound)
      this.#end ??= { kind: "paused", why: `${keyText(object)}: ${message}`, retryAfterMs: PAUSE_MS_MIN };
    else this.#tally.countFailure(keyText(object), message);
  }

  #patiently<T>(ask: () => Promise<T>): Promise<Attempted<T>> {
    const { clock, random } = this.#engine;
    return patiently({ clock, random, signal: this.#signal }, ask);
  }
}

/** The end of a pass caused by a request that failed. */
export function pausedBy(attempted: Exclude<Attempted<unknown>, { kind: "answered" }>): PassEnd {
  if (attempted.kind === "stopped") return { kind: "stopped" };
  const retryAfterMs = attempted.kind === "exhausted" ? attempted.retryAfterMs : 0;
  return {
    kind: "paused",
    why: attempted.error.message,
    retryAfterMs: Math.min(Math.max(retryAfterMs, PAUSE_MS_MIN), PAUSE_MS_MAX),
  };
}
