/**
 * Determines the live servers by their identity leases, and deletes the leases of departed servers. API servers of
 * other components, such as aggregated ones, have leases as well; they are treated in the same way and listed
 * separately.
 *
 * A lease has expired if this server saw no change of it for its duration. This also holds for leases found at the
 * start, because clocks differ, and because a starting server has a lease before it has an endpoint record. Time counts
 * only while this server can see changes: the store watch must be alive, and this server's own renewals must arrive
 * through it. So neither an outage of the store nor a pause of this process makes a server look departed; instead the
 * view stays as it is.
 *
 * A lease that is renewed counts as a server even without an endpoint record: some servers write none, and resources
 * that only they serve must not return 404. A lease without an endpoint record that no client renews, such as a forged
 * one, is deleted after about 30 s.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { runTogether } from "../../base/run-together.ts";
import type { Client } from "../../client/client.ts";
import type { HandlerRegistration, Informer } from "../../client/informer.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { isReason } from "../../meta/status-error.ts";
import {
  IDENTITY_LABEL,
  IDENTITY_LEASE_NAMESPACE,
  IDENTITY_LEASE_TYPE,
  KUBE_APISERVER,
  preconditionsOf,
  runOfHolder,
  type LeaseObject,
} from "./identity-lease.ts";
import type { LeaseEvidence } from "./live-servers.ts";
import type { PeerTiming } from "./timing.ts";
import { messageOf } from "../../base/within.ts";

interface KnownLease {
  readonly id: string;
  readonly component: string;
  readonly holderIdentity: string;
  /** The part of the holderIdentity after the server ID; empty if the holderIdentity does not begin with the ID. */
  readonly incarnation: string;
  /** When a change of the lease was last seen, by the monotonic clock. */
  readonly lastChangeSeenMs: number;
}

interface LeaseCollectorOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The ID of this server. Its lease is never deleted here; its renewals show whether changes can be seen. */
  readonly selfId: string;
  /** Default kube-apiserver. */
  readonly component?: string | undefined;
  readonly timing: Pick<
    PeerTiming,
    "leaseDurationSeconds" | "leaseRenewMs" | "leaseMarginMs" | "leaseCollectIntervalMs"
  >;
  /** Whether the store watch is alive. */
  readonly isStoreWatchAlive: () => boolean;
  /** Whether the store holds an endpoint record of the server with this ID. */
  readonly hasRecord: (id: string) => boolean;
  /** Called when the leases could not be listed or watched, except because the watch must begin with a new list. */
  readonly onListFailed?: (() => void) | undefined;
}

/**
 * How long a lease without an endpoint record may stay unchanged. A kube-apiserver sets a duration of one hour but
 * renews every 10 s, so three missed renewals without a record are sufficient proof. A live server would create its
 * lease again.
 */
const SILENT_WITHOUT_RECORD_MS = 30_000;
/** Longer durations are limited to this one, which kube-apiserver sets. */
const DURATION_SECONDS_MAX = 3_600;
/**
 * Maximum number of leases: more than any cluster has servers. Further leases are ignored until others are deleted,
 * unless their server has an endpoint record.
 */
const LEASES_MAX = 1_000;
const COLLECTED_AT_ONCE_MAX = 20;
/** Delay before a failed deletion is retried. */
const COLLECT_RETRY_MS = 5_000;

interface Entry {
  readonly lease: LeaseObject;
  readonly changedAtMs: number;
  /** The value of `#observedMs` (time during which changes could be seen) when the lease last changed. */
  readonly changedAtObservedMs: number;
  hasRunOut: boolean;
  retryAtMs: number;
}

export class LeaseCollector {
  readonly #options: LeaseCollectorOptions;
  readonly #leases: ResourceClient<LeaseObject>;
  readonly #informer: Informer<LeaseObject>;
  readonly #registration: HandlerRegistration;
  readonly #entries = new Map<string, Entry>();
  readonly #listeners = new Set<() => void>();
  /** The live leases of all components, without that of this server. */
  #living: readonly KnownLease[] = [];
  #known: readonly KnownLease[] = [];
  #observedMs = 0;
  #tickedAtMs: number;
  #couldSee = false;
  #collecting: Promise<void> | undefined;

  constructor(options: LeaseCollectorOptions) {
    const { client, clock, log } = options;
    this.#options = options;
    this.#tickedAtMs = clock.monotonic();
    this.#leases = client.resource<LeaseObject>(IDENTITY_LEASE_TYPE);
    this.#informer = client.informer<LeaseObject>(IDENTITY_LEASE_TYPE, {
      namespace: IDENTITY_LEASE_NAMESPACE,
      labelSelector: IDENTITY_LABEL,
      onError: (thrown) => {
        log.warn("identity lease watch failed", { error: messageOf(thrown) });
        if (!isReason(thrown, "Expired")) options.onListFailed?.();
      },
    });
    this.#registration = this.#informer.addHandler({
      onAdd: (lease) => this.#see(lease),
      onUpdate: (lease) => this.#see(lease),
      onDelete: (lease) => {
        this.#entries.delete(idOf(lease));
        this.reconsider();
      },
    });
  }

  /** Whether all leases that existed at the start have been read. */
  get hasSynced(): boolean {
    return this.#registration.hasSynced;
  }

  /** The other servers of this component, sorted by ID. */
  known(): readonly KnownLease[] {
    return this.#known;
  }

  /** All leases of this component except that of this server, expired ones included. */
  evidence(): LeaseEvidence[] {
    const { selfId, component = KUBE_APISERVER } = this.#options;
    return [...this.#entries].flatMap(([id, { lease, hasRunOut }]) =>
      id === selfId || componentOf(lease) !== component
        ? []
        : [{ id, incarnation: incarnationOf(id, lease), isExpired: hasRunOut }],
    );
  }

  /** The servers of other components, sorted by ID. */
  otherComponents(): readonly KnownLease[] {
    const { component = KUBE_APISERVER } = this.#options;
    return this.#living.filter((lease) => lease.component !== component);
  }

  /**
   * Whether the lease has been read at this revision or a later one. Also true for a lease beyond the limit, which is
   * never read, so that no caller waits for it.
   */
  hasSeen(id: string, revision: number): boolean {
    if (!this.#informer.isOfCurrentHistory) return false;
    const entry = this.#entries.get(id);
    if (entry === undefined) return !this.#hasRoomFor(id);
    return Number(entry.lease.metadata?.resourceVersion) >= revision;
  }

  /** Adds a listener that is called when servers or their incarnations change. The returned function removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Determines the live servers. Must be called when an endpoint record was added or removed, because leases without a
   * record expire earlier.
   */
  reconsider(): void {
    for (const [id, entry] of this.#entries) {
      entry.hasRunOut = this.#couldSee ? this.#isOver(id, entry) : entry.hasRunOut;
    }
    const before = this.#living;
    const { selfId, component = KUBE_APISERVER } = this.#options;
    this.#living = [...this.#entries]
      .filter(([id, entry]) => id !== selfId && !entry.hasRunOut)
      .map(([id, entry]) => toKnown(id, entry))
      .sort((left, right) => (left.id < right.id ? -1 : 1));
    this.#known = this.#living.filter((lease) => lease.component === component);
    if (!isSameServers(before, this.#living)) this.#tell();
  }

  async run(signal: AbortSignal): Promise<void> {
    await runTogether(signal, [(until) => this.#informer.run(until), (until) => this.#collectPeriodically(until)]);
  }

  async #collectPeriodically(signal: AbortSignal): Promise<void> {
    const { clock, random, timing } = this.#options;
    // Jitter, so that servers that started together do not all collect at the same time.
    while (await sleep(clock, timing.leaseCollectIntervalMs * (0.8 + 0.2 * random.float()), signal)) {
      this.#tick();
      if (this.#couldSee) this.#collecting ??= this.#collect(signal).finally(() => (this.#collecting = undefined));
    }
    await this.#collecting;
  }

  #see(lease: LeaseObject): void {
    const id = idOf(lease);
    const seen = this.#entries.get(id);
    if (seen === undefined && !this.#hasRoomFor(id)) return;
    this.#entries.set(id, {
      lease,
      changedAtMs: this.#options.clock.monotonic(),
      changedAtObservedMs: this.#observedMs,
      hasRunOut: false,
      retryAtMs: 0,
    });
    this.reconsider();
  }

  #hasRoomFor(id: string): boolean {
    const { selfId, hasRecord } = this.#options;
    return this.#entries.size < LEASES_MAX || id === selfId || hasRecord(id);
  }

  /** Adds leases that were ignored because of the limit. */
  #catchUp(): void {
    const leases = this.#informer.list();
    if (leases.length <= this.#entries.size) return;
    for (const lease of leases) if (!this.#entries.has(idOf(lease))) this.#see(lease);
  }

  #tick(): void {
    const { clock, timing } = this.#options;
    const now = clock.monotonic();
    const couldSee = this.#couldSee;
    this.#couldSee = this.#canSee(now);
    // If an interval took much longer than expected, the process was paused. At most two intervals of that time count,
    // because watch events may be pending.
    if (couldSee && this.#couldSee)
      this.#observedMs += Math.min(now - this.#tickedAtMs, 2 * timing.leaseCollectIntervalMs);
    this.#tickedAtMs = now;
    if (this.hasSynced) this.#catchUp();
    this.reconsider();
  }

  #canSee(now: number): boolean {
    const { selfId, timing, isStoreWatchAlive } = this.#options;
    const own = this.#entries.get(selfId);
    if (!this.hasSynced || !isStoreWatchAlive() || own === undefined) return false;
    return now - own.changedAtMs < 2 * timing.leaseRenewMs + timing.leaseMarginMs;
  }

  #isOver(id: string, entry: Entry): boolean {
    const { selfId, timing } = this.#options;
    if (id === selfId) return false;
    const hasRecord = this.#options.hasRecord(id);
    const durationMs = durationMsOf(entry.lease);
    if (!hasRenewTime(entry.lease) || durationMs === undefined) return !hasRecord;
    const silentMs = Math.max(SILENT_WITHOUT_RECORD_MS, timing.leaseDurationSeconds * 1000);
    const limitMs = hasRecord ? durationMs : Math.min(durationMs, silentMs);
    return this.#observedMs - entry.changedAtObservedMs >= limitMs + timing.leaseMarginMs;
  }

  async #collect(signal: AbortSignal): Promise<void> {
    const now = this.#options.clock.monotonic();
    const due = [...this.#entries].filter(([, { hasRunOut, retryAtMs }]) => hasRunOut && retryAtMs <= now);
    for (const [id, entry] of due.slice(0, COLLECTED_AT_ONCE_MAX)) {
      if (signal.aborted || this.#entries.get(id) !== entry) continue;
      entry.retryAtMs = now + COLLECT_RETRY_MS;
      await this.#delete(id, entry, signal);
    }
  }

  /** Deletes the lease, unless it was renewed meanwhile, which the preconditions detect. */
  async #delete(id: string, { lease }: Entry, signal: AbortSignal): Promise<void> {
    const { log, timing } = this.#options;
    try {
      await this.#leases.delete(
        { namespace: IDENTITY_LEASE_NAMESPACE, name: id },
        { preconditions: preconditionsOf(lease), signal, timeoutMs: timing.leaseRenewMs },
      );
      log.info("deleted the identity lease of a departed server", { server: id });
    } catch (thrown) {
      if (signal.aborted || isReason(thrown, "NotFound") || isReason(thrown, "Conflict")) return;
      log.warn("deleting the identity lease of a departed server failed", {
        server: id,
        error: messageOf(thrown),
      });
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) {
      try {
        listener();
      } catch (thrown) {
        this.#options.log.error("identity lease listener failed", { error: messageOf(thrown) });
      }
    }
  }
}

function toKnown(id: string, { lease, changedAtMs }: Entry): KnownLease {
  const holderIdentity = lease.spec?.holderIdentity ?? "";
  return {
    id,
    component: componentOf(lease),
    holderIdentity,
    incarnation: incarnationOf(id, lease),
    lastChangeSeenMs: changedAtMs,
  };
}

function componentOf({ metadata }: LeaseObject): string {
  return metadata?.labels?.[IDENTITY_LABEL] ?? "";
}

function incarnationOf(id: string, { spec }: LeaseObject): string {
  return runOfHolder(id, spec?.holderIdentity ?? "");
}

function isSameServers(left: readonly KnownLease[], right: readonly KnownLease[]): boolean {
  return (
    left.length === right.length &&
    left.every(({ id, holderIdentity }, at) => right[at]?.id === id && right[at].holderIdentity === holderIdentity)
  );
}

function idOf({ metadata }: LeaseObject): string {
  return metadata?.name ?? "";
}

function hasRenewTime({ spec }: LeaseObject): boolean {
  return !Number.isNaN(Date.parse(spec?.renewTime ?? ""));
}

function durationMsOf({ spec }: LeaseObject): number | undefined {
  const seconds = spec?.leaseDurationSeconds;
  return typeof seconds === "number" && seconds > 0 ? Math.min(seconds, DURATION_SECONDS_MAX) * 1000 : undefined;
}
