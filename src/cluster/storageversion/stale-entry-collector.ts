/**
 * Keeps StorageVersion objects correct when servers depart and join. Servers maintain their own entries. The collector
 * drops the entries of departed servers, sets the condition to Unknown while a live server has not published, and
 * deletes objects in which no live server has an entry.
 *
 * A failed read changes nothing. The collector reads an object first and determines the live servers afterwards: a
 * server has a lease before it has an entry, so an entry without a live server is stale. Every write has the
 * resourceVersion that was read as a precondition, so a server that publishes in between keeps its entry.
 *
 * A change of the live servers makes the collector reconcile all objects, and most of them stay as they are. Therefore
 * it decides from its informer first, and reads an object only if the decision is a write. A decision to keep an object
 * is safe even if the informer or the list of live servers is behind: it changes nothing, and when the change arrives,
 * the object is reconciled again.
 */
import { untilAborted } from "../../base/until-aborted.ts";
import { handlerSource, type KeySource } from "../controller-runtime/controller.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Counter, Histogram, MetricsRegistry } from "../../base/metrics.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { isReason } from "../../meta/status-error.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import { pendingServers, settle } from "./agreement.ts";
import { CollectorMemory } from "./collector-memory.ts";
import type { AgreementMember, Members } from "./members.ts";
import { STORAGE_VERSION_TYPE, type StorageVersionObject, type StorageVersionStatus } from "./objects.ts";

interface CollectorOptions {
  readonly client: Client;
  readonly members: Members;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  /**
   * How long an object without entries is kept, because its creator needs a second request to fill it. Default 10 s.
   */
  readonly emptyGraceMs?: number;
  /**
   * How long a new server may take to publish before objects become Unknown. Most servers publish within this time.
   * Default 2 s.
   */
  readonly pendingGraceMs?: number;
}

export interface Collector {
  readonly name: "storage-version-garbage-collector";
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<{ requeueAfterMs?: number } | undefined>;
  /** Called at the beginning of each term, and drops the observations of an earlier term. */
  sources(): readonly KeySource[];
}

const EMPTY_GRACE_MS = 10_000;
const PENDING_GRACE_MS = 2_000;
/** Interval of resyncs, in case a change of the members was missed. */
const RESYNC_MS = 60_000;
/** Delay after a conflict: the watch event of the other client's write will arrive by then. */
const CONFLICT_RETRY_MS = 100;
const AGREEMENT_BUCKETS: readonly number[] = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600];

export function createCollector(options: CollectorOptions): Collector {
  const collector = new StorageVersionCollector(options);
  return {
    name: "storage-version-garbage-collector",
    reconcile: (key, signal) => collector.reconcile(key, signal),
    sources: () => collector.sources(),
  };
}

export interface CollectionContext {
  readonly live: ReadonlyMap<string, AgreementMember>;
  /** RFC 3339 with seconds. */
  readonly now: string;
  /** New servers that do not count as pending yet, with the milliseconds until they do. */
  readonly young?: ReadonlyMap<string, number>;
  /** How much longer the object must be kept if it has no entries. */
  readonly emptyForMs?: number;
}

export type Collection =
  | { readonly kind: "keep"; readonly requeueAfterMs?: number }
  | { readonly kind: "update"; readonly status: StorageVersionStatus }
  | { readonly kind: "delete" };

/** Decides what to do with an object. `live` must have been determined after the object was read. */
export function decideCollection(object: StorageVersionObject, context: CollectionContext): Collection {
  const { live, now, young = new Map<string, number>(), emptyForMs = 0 } = context;
  const { status = {}, metadata } = object;
  const entries = status.storageVersions ?? [];
  if (!entries.some(({ apiServerID }) => live.has(apiServerID))) {
    if (metadata?.deletionTimestamp !== undefined) return { kind: "keep" };
    const isTooEarly = entries.length === 0 && emptyForMs > 0;
    return isTooEarly ? { kind: "keep", requeueAfterMs: emptyForMs } : { kind: "delete" };
  }
  const resource = { name: metadata?.name ?? "", custom: undefined };
  const settled = settle(status, { live, now, resource });
  if (settled === status) return { kind: "keep" };
  // Not counting new servers as pending only saves a write. If a write is needed anyway, it counts them as pending, and
  // an object whose condition is Unknown stays so.
  if (settle(status, { live: withPatience(live, young), now, resource }) !== status)
    return { kind: "update", status: settled };
  const waits = pendingServers(entries, live).map((id) => young.get(id) ?? Infinity);
  return { kind: "keep", requeueAfterMs: Math.min(...waits) };
}

function withPatience(
  live: ReadonlyMap<string, AgreementMember>,
  young: ReadonlyMap<string, number>,
): ReadonlyMap<string, AgreementMember> {
  return new Map([...live].map(([id, member]) => [id, young.has(id) ? { ...member, isPublished: true } : member]));
}

class StorageVersionCollector {
  readonly #options: CollectorOptions;
  readonly #objects: ResourceClient<StorageVersionObject>;
  readonly #collectedEntries: Counter;
  readonly #collectedObjects: Counter;
  readonly #agreementSeconds: Histogram;
  #memory: CollectorMemory;
  /** The informer of the current term. */
  #informer: Informer<StorageVersionObject> | undefined;

  constructor(options: CollectorOptions) {
    const { client, metrics } = options;
    this.#options = options;
    this.#objects = client.resource<StorageVersionObject>(STORAGE_VERSION_TYPE);
    this.#memory = this.#newMemory();
    this.#collectedEntries = metrics
      .counter({
        name: "evenkeel_storage_version_collected_entries_total",
        help: "Entries of departed servers that were dropped from StorageVersion objects.",
      })
      .with();
    this.#collectedObjects = metrics
      .counter({
        name: "evenkeel_storage_version_collected_objects_total",
        help: "StorageVersion objects deleted because no live server had an entry in them.",
      })
      .with();
    this.#agreementSeconds = metrics
      .histogram({
        name: "evenkeel_storage_version_agreement_seconds",
        help: "Time from when a resource was first seen without a common encoding version until it had one.",
        buckets: AGREEMENT_BUCKETS,
      })
      .with();
  }

  sources(): readonly KeySource[] {
    const { client, log, members } = this.#options;
    const memory = this.#newMemory();
    this.#memory = memory;
    const informer = client.informer<StorageVersionObject>(STORAGE_VERSION_TYPE, {
      resyncMs: RESYNC_MS,
      onError: (thrown) => log.warn("storage version watch failed", { error: messageOf(thrown) }),
    });
    this.#informer = informer;
    const onMembers = (enqueue: (key: string) => void): void => {
      memory.youngServers(members.live());
      for (const object of informer.list()) enqueue(nameOf(object));
    };
    return [objectSource(informer), memberSource(members, onMembers)];
  }

  async reconcile(name: string, signal: AbortSignal): Promise<{ requeueAfterMs?: number } | undefined> {
    const memory = this.#memory;
    const observed = this.#observed(name);
    const kept = observed && this.#decide(memory, observed);
    if (observed !== undefined && kept?.kind === "keep") {
      this.#noteAgreement(memory, observed);
      return requeueOf(kept);
    }
    const object = await this.#read(name, signal);
    if (object === undefined) {
      memory.forget(name);
      return undefined;
    }
    if (!(await this.#options.members.catchUp())) throw new Error("the live servers are currently unknown");
    this.#noteAgreement(memory, object);
    const decision = this.#decide(memory, object);
    if (decision.kind === "keep") return requeueOf(decision);
    try {
      await (decision.kind === "update" ? this.#update(object, decision.status, signal) : this.#delete(object, signal));
    } catch (thrown) {
      if (isReason(thrown, "Conflict") || isReason(thrown, "NotFound")) return { requeueAfterMs: CONFLICT_RETRY_MS };
      throw thrown;
    }
    if (decision.kind === "delete") memory.forget(name);
    else this.#noteAgreement(memory, { ...object, status: decision.status });
    return undefined;
  }

  /** The object as the informer has it; undefined if it is not known, or known only from another history of the store. */
  #observed(name: string): StorageVersionObject | undefined {
    return this.#informer?.isOfCurrentHistory === true ? this.#informer.get({ name }) : undefined;
  }

  #decide(memory: CollectorMemory, object: StorageVersionObject): Collection {
    const { members, clock } = this.#options;
    const live = members.live();
    return decideCollection(object, {
      live,
      now: timestampAt(clock.now()),
      young: memory.youngServers(live),
      emptyForMs: memory.emptyForMs(object),
    });
  }

  async #read(name: string, signal: AbortSignal): Promise<StorageVersionObject | undefined> {
    try {
      return await this.#objects.get({ name }, { signal });
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return undefined;
      throw thrown;
    }
  }

  async #update(object: StorageVersionObject, status: StorageVersionStatus, signal: AbortSignal): Promise<void> {
    preconditionsOf(object);
    await this.#objects.replaceStatus({ ...object, status }, { signal });
    const stayed = new Set(idsOf(status));
    this.#collected(
      object,
      idsOf(object.status).filter((id) => !stayed.has(id)),
    );
  }

  async #delete(object: StorageVersionObject, signal: AbortSignal): Promise<void> {
    await this.#objects.delete({ name: nameOf(object) }, { preconditions: preconditionsOf(object), signal });
    this.#collected(object, idsOf(object.status));
    this.#collectedObjects.inc();
    this.#options.log.info("deleted a storage version without entries", { name: nameOf(object) });
  }

  #collected(object: StorageVersionObject, servers: readonly string[]): void {
    if (servers.length === 0) return;
    this.#collectedEntries.inc(servers.length);
    this.#options.log.info("dropped the entries of departed servers from a storage version", {
      name: nameOf(object),
      servers,
    });
  }

  #noteAgreement(memory: CollectorMemory, object: StorageVersionObject): void {
    const tookMs = memory.agreementMs(object);
    if (tookMs !== undefined) this.#agreementSeconds.observe(tookMs / 1000);
  }

  #newMemory(): CollectorMemory {
    const { clock, emptyGraceMs = EMPTY_GRACE_MS, pendingGraceMs = PENDING_GRACE_MS } = this.#options;
    return new CollectorMemory({ clock, emptyGraceMs, pendingGraceMs });
  }
}

function requeueOf({ requeueAfterMs }: Extract<Collection, { kind: "keep" }>): { requeueAfterMs: number } | undefined {
  return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
}

function objectSource(informer: Informer<StorageVersionObject>): KeySource {
  return handlerSource(informer, (enqueue) => {
    const tell = (object: StorageVersionObject): void => enqueue(nameOf(object));
    return { onAdd: tell, onUpdate: tell, onDelete: tell };
  });
}

function memberSource(members: Members, onMembers: (enqueue: (key: string) => void) => void): KeySource {
  return {
    hasSynced: true,
    async run(enqueue, signal) {
      const stop = members.onChange(() => onMembers(enqueue));
      await untilAborted(signal);
      stop();
    },
  };
}

/**
 * Throws if the object has no uid or resourceVersion: without them a write would not detect that another client has
 * written.
 */
function preconditionsOf(object: StorageVersionObject): { readonly uid: string; readonly resourceVersion: string } {
  const { uid = "", resourceVersion = "" } = object.metadata ?? {};
  if (uid === "" || resourceVersion === "")
    throw new Error(`the storage version ${nameOf(object)} has no uid or resourceVersion`);
  return { uid, resourceVersion };
}

function nameOf({ metadata }: StorageVersionObject): string {
  return metadata?.name ?? "";
}

function idsOf(status: StorageVersionStatus | undefined): readonly string[] {
  return (status?.storageVersions ?? []).map(({ apiServerID }) => apiServerID);
}
