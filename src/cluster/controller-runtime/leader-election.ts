/**
 * Leader election: only the server that holds a Lease runs the controllers. As client-go's leader election, with
 * shorter times, so that another server leads within nine seconds after a crash of the leader.
 *
 * At most one server leads, because of how each server counts time. The holder counts from before it sent the request
 * that renewed the lease, and stops leading after `renewDeadlineMs`. Other servers count from when they saw the result
 * of that request, and wait for the duration of the lease, which is longer. They take the lease only if its
 * resourceVersion is unchanged. Each server uses its own monotonic clock; the times in the lease are for people.
 */
import { assert } from "../../base/assert.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { StoreEpoch } from "../../base/store-epoch.ts";
import { messageOf, within } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { KubernetesObject } from "../../client/objects.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { isReason } from "../../meta/status-error.ts";

export interface LeaderTiming {
  /** How long other servers wait after the last renewal before they take the lease. */
  readonly leaseDurationMs: number;
  /** How long a leader that cannot renew its lease continues to lead. */
  readonly renewDeadlineMs: number;
  /** Time between two reads or renewals of the lease; up to 1.2 times as long while another server leads. */
  readonly retryPeriodMs: number;
}

/**
 * DIFFERS: client-go has 15 s, 10 s and 2 s. A lease this short is safe only because the writes of a leader are checked
 * when they are sent to the store: the identity lease of a server that was paused lapses later than its leader lease.
 */
export const DEFAULT_LEADER_TIMING: LeaderTiming = {
  leaseDurationMs: 7_000,
  renewDeadlineMs: 4_000,
  retryPeriodMs: 1_000,
};

/** One term of leadership, from its beginning to its end. */
export interface Term {
  /**
   * Correct even if the process has just resumed from a pause and no timer has run yet. Once false, it stays false for
   * this term.
   */
  readonly isLeading: boolean;
}

export interface LeaderElectionOptions {
  /**
   * The client must not retry by itself, because each attempt has a short timeout and a failed attempt is soon followed
   * by another.
   */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The name of the Lease in kube-system. */
  readonly name: string;
  /** Unique among all servers, and different for each start of the process. */
  readonly identity: string;
  readonly timing?: LeaderTiming;
  /** The history of the store: a term ends when it changes, because the lease of the new history may be another's. */
  readonly epoch?: StoreEpoch;
  /** The annotations that the leader writes with each renewal. An undefined one is removed. */
  readonly annotations?: () => Readonly<Record<string, string | undefined>>;
  /**
   * Does the work of the leader. The signal aborts when the term ends, and the next term begins only after the promise
   * has settled.
   */
  readonly onTerm: (signal: AbortSignal, term: Term) => Promise<void>;
}

/** Competes until the signal aborts, then ends the term, waits for its work, and releases the lease. */
export async function runLeaderElection(options: LeaderElectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, epoch, timing = DEFAULT_LEADER_TIMING } = options;
  const problems = leaderTimingErrors(timing);
  assert(problems.length === 0, problems.join("; "));
  const elector = new Elector(options, timing);
  const forget = epoch?.onChange(() => elector.forget());
  while (!signal.aborted) {
    const began = epoch?.current;
    try {
      const startedAtMs = clock.monotonic();
      if ((await elector.acquire(signal)) && began === epoch?.current) await elector.lead(startedAtMs, signal);
    } catch (thrown) {
      if (!signal.aborted) log.warn("acquiring the leader lease failed", { error: messageOf(thrown) });
    }
    await sleep(clock, elector.pauseMs(), signal);
  }
  forget?.();
}

/** Describes the invalid settings, one sentence each; empty if there are none. */
export function leaderTimingErrors(timing: LeaderTiming): string[] {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timing;
  const errors = [];
  if (!(retryPeriodMs > 0)) errors.push("a leader's retry period must be greater than zero");
  if (!(renewDeadlineMs > retryPeriodMs * RETRY_FACTOR_MAX))
    errors.push(`a leader's renew deadline must be greater than ${RETRY_FACTOR_MAX} times its retry period`);
  if (!(leaseDurationMs > renewDeadlineMs))
    errors.push("a leader's lease duration must be greater than its renew deadline");
  if (!(leaseDurationMs <= DURATION_MS_MAX)) errors.push("a leader's lease duration must be an hour at most");
  return errors;
}

/** A retry period is at most this many times as long, at random, so that servers do not read the lease at once. */
const RETRY_FACTOR_MAX = 1.2;
/** Servers that wait for the same lease to expire try to take it at random times within this time. */
const TAKEOVER_SPREAD_MS = 200;
/** Maximum number of attempts if other clients change the lease between the read and the write. */
const ROUNDS_MAX = 3;
/** A longer duration in a lease is ignored, because no leader election writes it. */
const DURATION_MS_MAX = 3_600_000;
const TRANSITIONS_MAX = 2 ** 31 - 1;

const LEASE_TYPE = { group: "coordination.k8s.io", version: "v1", resource: "leases", namespaced: true } as const;
const LEASE_NAMESPACE = "kube-system";

interface LeaseObject extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

/** The lease of another server, and the time when this resourceVersion was first seen. */
interface Observation {
  readonly holder: string;
  readonly version: string;
  readonly sinceMs: number;
  readonly durationMs: number;
}

class Elector {
  readonly #options: LeaderElectionOptions;
  readonly #timing: LeaderTiming;
  readonly #leases: ResourceClient<LeaseObject>;
  /** Timeout of an attempt: short enough for a second attempt before the renew deadline if the first one hangs. */
  readonly #attemptMs: number;
  /** The lease as this server last wrote it, on which the next write is based. */
  #ours: LeaseObject | undefined;
  #observed: Observation | undefined;
  #term: RunningTerm | undefined;

  constructor(options: LeaderElectionOptions, timing: LeaderTiming) {
    this.#options = options;
    this.#timing = timing;
    this.#leases = options.client.resource<LeaseObject>(LEASE_TYPE);
    this.#attemptMs = timing.renewDeadlineMs / 2;
  }

  /** Forgets the lease, because the store has another history. */
  forget(): void {
    this.#ours = undefined;
    this.#observed = undefined;
    this.#term?.end("the history of the store has changed");
  }

  /**
   * Takes or renews the lease if possible. Resolves to whether this server holds it now, and rejects if that cannot be
   * determined.
   */
  acquire(signal: AbortSignal): Promise<boolean> {
    return within(this.#options.clock, this.#attemptMs, (limit) => this.#write(limit), signal);
  }

  /** Time until the next attempt: a retry period, or less if the lease of another server expires earlier. */
  pauseMs(): number {
    const { clock, random } = this.#options;
    const pauseMs = this.#timing.retryPeriodMs * (1 + (RETRY_FACTOR_MAX - 1) * random.float());
    const { sinceMs, durationMs } = this.#observed ?? { sinceMs: 0, durationMs: 0 };
    const leftMs = sinceMs + durationMs - clock.monotonic();
    return leftMs > 0 ? Math.min(pauseMs, leftMs + TAKEOVER_SPREAD_MS * random.float()) : pauseMs;
  }

  /** Leads while this server holds the lease, until the end of the term. */
  async lead(startedAtMs: number, signal: AbortSignal): Promise<void> {
    const { clock, log, identity, name } = this.#options;
    const term = new RunningTerm(clock, startedAtMs + this.#timing.renewDeadlineMs, signal);
    this.#term = term;
    try {
      if (!term.isLeading) return;
      log.info("became leader", { lease: name, identity });
      const renewing = this.#renew(term);
      await this.#work(term);
      term.end("the work ended");
      await renewing;
      log.info("no longer leader", { lease: name, because: term.because });
    } finally {
      term.end("the term ended before it began");
      this.#term = undefined;
      await this.#release();
    }
  }

  async #work(term: RunningTerm): Promise<void> {
    try {
      await this.#options.onTerm(term.signal, term);
    } catch (thrown) {
      this.#options.log.error("work of the leader failed", { error: messageOf(thrown) });
    }
  }

  /** Renews the lease until the term ends. Never rejects. */
  async #renew(term: RunningTerm): Promise<void> {
    const { clock, log } = this.#options;
    while (await sleep(clock, this.#timing.retryPeriodMs, term.signal)) {
      const startedAtMs = clock.monotonic();
      try {
        if (await this.acquire(term.signal)) term.extend(startedAtMs + this.#timing.renewDeadlineMs);
        else term.end("another server holds the lease");
      } catch (thrown) {
        if (!term.signal.aborted) log.warn("leader lease renewal failed", { error: messageOf(thrown) });
      }
    }
  }

  async #write(signal: AbortSignal): Promise<boolean> {
    let current = this.#ours ?? (await this.#readLease(signal));
    for (let round = 1; ; round++) {
      if (this.#isAnothers(current)) return false;
      try {
        const written = await this.#put(current, this.#claim(current), signal);
        signal.throwIfAborted();
        this.#ours = written;
        this.#observed = undefined;
        return true;
      } catch (thrown) {
        // Either the copy is outdated, or it is unknown whether the write succeeded.
        this.#ours = undefined;
        if (!isOutdated(thrown) || round >= ROUNDS_MAX) throw thrown;
        current = await this.#readLease(signal);
      }
    }
  }

  async #readLease(signal: AbortSignal): Promise<LeaseObject | undefined> {
    try {
      const key = { namespace: LEASE_NAMESPACE, name: this.#options.name };
      const lease = await this.#leases.get(key, { signal });
      this.#observe(lease);
      return lease;
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return undefined;
      throw thrown;
    }
  }

  #observe(lease: LeaseObject): void {
    const holder = holderOf(lease);
    const version = `${lease.metadata?.uid} ${lease.metadata?.resourceVersion}`;
    if (this.#observed?.version === version) return;
    const seconds = lease.spec?.leaseDurationSeconds;
    const isSensible = typeof seconds === "number" && seconds > 0 && seconds * 1000 <= DURATION_MS_MAX;
    const durationMs = isSensible ? seconds * 1000 : this.#timing.leaseDurationMs;
    this.#observed = { holder, version, sinceMs: this.#options.clock.monotonic(), durationMs };
  }

  /** Whether another server holds the lease and may still lead. */
  #isAnothers(current: LeaseObject | undefined): boolean {
    if (current !== undefined && [this.#options.identity, ""].includes(holderOf(current))) return false;
    // DIFFERS: client-go takes a deleted lease at once, although the previous holder still leads until it notices the
    // deletion.
    const { holder, sinceMs, durationMs } = this.#observed ?? { holder: "", sinceMs: 0, durationMs: 0 };
    if (holder === "" || holder === this.#options.identity) return false;
    return this.#options.clock.monotonic() - sinceMs < durationMs;
  }

  #put(
    current: LeaseObject | undefined,
    spec: NonNullable<LeaseObject["spec"]>,
    signal: AbortSignal,
  ): Promise<LeaseObject> {
    const lease: LeaseObject = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        ...current?.metadata,
        name: this.#options.name,
        namespace: LEASE_NAMESPACE,
        annotations: withAnnotations(current?.metadata?.annotations, this.#options.annotations?.()),
      },
      spec: { ...current?.spec, ...spec },
    };
    return current === undefined ? this.#leases.create(lease, { signal }) : this.#leases.replace(lease, { signal });
  }

  #claim(current: LeaseObject | undefined): NonNullable<LeaseObject["spec"]> {
    const { identity, clock } = this.#options;
    const now = toMicroTime(clock.now());
    const isHeld = current !== undefined && holderOf(current) === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(this.#timing.leaseDurationMs / 1000),
      acquireTime: (isHeld ? current.spec?.acquireTime : undefined) ?? now,
      renewTime: now,
      leaseTransitions: transitionsOf(current, isHeld ? 0 : 1),
    };
  }

  /** Lets the next leader take over at once. If the release fails, the lease expires. */
  async #release(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await within(clock, this.#attemptMs, (signal) => this.#giveAway(signal));
    } catch (thrown) {
      log.warn("releasing the leader lease failed", { error: messageOf(thrown) });
    }
    this.#ours = undefined;
  }

  async #giveAway(signal: AbortSignal): Promise<void> {
    const { identity, clock } = this.#options;
    let current = this.#ours ?? (await this.#readLease(signal));
    for (let round = 1; current !== undefined && holderOf(current) === identity; round++) {
      const now = toMicroTime(clock.now());
      try {
        // As client-go: the duration is one second, the minimum.
        const spec = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
        await this.#put(current, spec, signal);
        return;
      } catch (thrown) {
        if (!isOutdated(thrown) || round >= ROUNDS_MAX) throw thrown;
        current = await this.#readLease(signal);
      }
    }
  }
}

class RunningTerm implements Term {
  readonly #clock: Clock;
  readonly #controller = new AbortController();
  readonly #release: () => void;
  #untilMs: number;
  #because = "";

  constructor(clock: Clock, untilMs: number, parent: AbortSignal) {
    this.#clock = clock;
    this.#untilMs = untilMs;
    const stop = (): void => this.end("the server is stopping");
    let cancel = (): void => {};
    const watch = (): void => {
      const leftMs = this.#untilMs - clock.monotonic();
      if (leftMs <= 0) return this.end("the lease could not be renewed in time");
      cancel = clock.after(leftMs, watch);
    };
    this.#release = () => {
      cancel();
      parent.removeEventListener("abort", stop);
    };
    parent.addEventListener("abort", stop, { once: true });
    if (parent.aborted) stop();
    else watch();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Why the term ended. */
  get because(): string {
    return this.#because;
  }

  get isLeading(): boolean {
    return !this.signal.aborted && this.#clock.monotonic() < this.#untilMs;
  }

  /**
   * Extends the term, unless it has expired. An expired term stays expired even if the timer that ends it is late,
   * because callers may have read `isLeading`.
   */
  extend(untilMs: number): void {
    if (this.isLeading) this.#untilMs = untilMs;
  }

  end(because: string): void {
    if (this.signal.aborted) return;
    this.#because = because;
    this.#release();
    this.#controller.abort();
  }
}

function holderOf(lease: LeaseObject): string {
  return lease.spec?.holderIdentity ?? "";
}

function withAnnotations(
  existing: Readonly<Record<string, string>> = {},
  written: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const kept = Object.entries({ ...existing, ...written });
  return Object.fromEntries(kept.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

function transitionsOf(lease: LeaseObject | undefined, more: number): number {
  if (lease === undefined) return 0;
  const count = lease.spec?.leaseTransitions ?? 0;
  return Number.isSafeInteger(count) && count >= 0 && count + more <= TRANSITIONS_MAX ? count + more : 0;
}

function isOutdated(thrown: unknown): boolean {
  return (["Conflict", "NotFound", "AlreadyExists"] as const).some((reason) => isReason(thrown, reason));
}

function toMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
