/**
 * One of several servers does the work: the one that holds a Lease. As client-go's leader election, with its defaults.
 *
 * At most one leads, because the holder counts from before the request that renewed the lease was sent, and everybody
 * else from after they saw what that request wrote. The holder stops `renewDeadlineMs` after the former; they wait for
 * the lease's longer duration after the latter, and take it only as they saw it (by resourceVersion). All of that is each
 * one's own monotonic clock: the times in the lease are for people.
 */
import { assert } from "../../base/assert.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { messageOf, within } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { KubernetesObject } from "../../client/objects.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { isReason } from "../../meta/status-error.ts";

export interface LeaderTiming {
  /** How long others wait for a leader of whom they see nothing. */
  readonly leaseDurationMs: number;
  /** How long a leader that cannot renew its lease goes on. */
  readonly renewDeadlineMs: number;
  /** From one look at the lease, or renewal, to the next; up to 2.2 times as long while somebody else leads. */
  readonly retryPeriodMs: number;
}

export const DEFAULT_LEADER_TIMING: LeaderTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

/** A time of leading, from its beginning to its end. */
export interface Term {
  /** Right also when the process has just woken from a pause and no timer has run yet. Once false, it stays so. */
  readonly isLeading: boolean;
}

export interface LeaderElectionOptions {
  /** Best one that does not retry: attempts are short, and a failed one is followed by another soon. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Of the Lease, in kube-system. */
  readonly name: string;
  /** Nobody else's, and another one each time the process starts. */
  readonly identity: string;
  readonly timing?: LeaderTiming;
  /** The work of a leader. The signal aborts when the term ends; the next term begins after this has returned. */
  readonly onTerm: (signal: AbortSignal, term: Term) => Promise<void>;
}

/** Competes until the signal aborts, then ends the term, waits for its work, and gives the lease away. */
export async function runLeaderElection(options: LeaderElectionOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, log, timing = DEFAULT_LEADER_TIMING } = options;
  const problems = leaderTimingErrors(timing);
  assert(problems.length === 0, problems.join("; "));
  const elector = new Elector(options, timing);
  while (!signal.aborted) {
    try {
      const startedAtMs = clock.monotonic();
      if (await elector.acquire(signal)) await elector.lead(startedAtMs, signal);
    } catch (thrown) {
      if (!signal.aborted) log.warn("the leader lease could not be acquired", { error: messageOf(thrown) });
    }
    await sleep(clock, timing.retryPeriodMs * (1 + JITTER * random.float()), signal);
  }
}

/** What is wrong with these times, in sentences; an empty list means nothing. */
export function leaderTimingErrors(timing: LeaderTiming): string[] {
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = timing;
  const errors = [];
  if (!(retryPeriodMs > 0)) errors.push("a leader's retry period must be greater than zero");
  if (!(renewDeadlineMs > retryPeriodMs * JITTER))
    errors.push(`a leader's renew deadline must be greater than ${JITTER} times its retry period`);
  if (!(leaseDurationMs > renewDeadlineMs))
    errors.push("a leader's lease duration must be greater than its renew deadline");
  if (!(leaseDurationMs <= DURATION_MS_MAX)) errors.push("a leader's lease duration must be an hour at most");
  return errors;
}

/** As client-go: how much of a retry period is added to it, at most. */
const JITTER = 1.2;
/** Somebody else may change the lease between our looking and our writing, but hardly so often. */
const ROUNDS_MAX = 3;
/** A lease that claims to last longer was not written by one of us. */
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

/** Another's lease, and when it was first seen to be so. */
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
  /** So that of a leader's attempts that hang the second can still be in time. */
  readonly #attemptMs: number;
  /** The lease as it was when it was last ours, for the next write. */
  #ours: LeaseObject | undefined;
  #observed: Observation | undefined;

  constructor(options: LeaderElectionOptions, timing: LeaderTiming) {
    this.#options = options;
    this.#timing = timing;
    this.#leases = options.client.resource<LeaseObject>(LEASE_TYPE);
    this.#attemptMs = timing.renewDeadlineMs / 2;
  }

  /** Whether the lease is ours now. Throws when nobody can tell. */
  acquire(signal: AbortSignal): Promise<boolean> {
    return within(this.#options.clock, this.#attemptMs, (limit) => this.#write(limit), signal);
  }

  /** From holding the lease to not leading any more. */
  async lead(startedAtMs: number, signal: AbortSignal): Promise<void> {
    const { clock, log, identity, name } = this.#options;
    const term = new RunningTerm(clock, startedAtMs + this.#timing.renewDeadlineMs, signal);
    try {
      if (!term.isLeading) return;
      log.info("this server leads", { lease: name, identity });
      const renewing = this.#renew(term);
      await this.#work(term);
      term.end("its work ended");
      await renewing;
      log.info("this server leads no more", { lease: name, because: term.because });
    } finally {
      term.end("it was over before it began");
      await this.#release();
    }
  }

  async #work(term: RunningTerm): Promise<void> {
    try {
      await this.#options.onTerm(term.signal, term);
    } catch (thrown) {
      this.#options.log.error("the work of the leader failed", { error: messageOf(thrown) });
    }
  }

  /** Never rejects. Ends when the term does. */
  async #renew(term: RunningTerm): Promise<void> {
    const { clock, log } = this.#options;
    while (await sleep(clock, this.#timing.retryPeriodMs, term.signal)) {
      const startedAtMs = clock.monotonic();
      try {
        if (await this.acquire(term.signal)) term.extend(startedAtMs + this.#timing.renewDeadlineMs);
        else term.end("somebody else holds the lease");
      } catch (thrown) {
        if (!term.signal.aborted) log.warn("the leader lease could not be renewed", { error: messageOf(thrown) });
      }
    }
  }

  async #write(signal: AbortSignal): Promise<boolean> {
    let current = this.#ours ?? (await this.#look(signal));
    for (let round = 1; ; round++) {
      if (this.#isAnothers(current)) return false;
      try {
        const written = await this.#put(current, this.#claim(current), signal);
        signal.throwIfAborted();
        this.#ours = written;
        this.#observed = undefined;
        return true;
      } catch (thrown) {
        // Whatever was seen is no longer so, or nobody knows whether the write happened.
        this.#ours = undefined;
        if (!isOutdated(thrown) || round >= ROUNDS_MAX) throw thrown;
        current = await this.#look(signal);
      }
    }
  }

  async #look(signal: AbortSignal): Promise<LeaseObject | undefined> {
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

  /** Whether another holds the lease and may still lead. */
  #isAnothers(current: LeaseObject | undefined): boolean {
    if (current !== undefined && [this.#options.identity, ""].includes(holderOf(current))) return false;
    // DIFFERS: client-go takes a deleted lease at once. Whoever held it leads until it notices.
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
      metadata: { ...current?.metadata, name: this.#options.name, namespace: LEASE_NAMESPACE },
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

  /** Lets the next one take over at once. What is not released runs out. */
  async #release(): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await within(clock, this.#attemptMs, (signal) => this.#giveAway(signal));
    } catch (thrown) {
      log.warn("the leader lease could not be released", { error: messageOf(thrown) });
    }
    this.#ours = undefined;
  }

  async #giveAway(signal: AbortSignal): Promise<void> {
    const { identity, clock } = this.#options;
    let current = this.#ours ?? (await this.#look(signal));
    for (let round = 1; current !== undefined && holderOf(current) === identity; round++) {
      const now = toMicroTime(clock.now());
      try {
        // As client-go: a second is the shortest duration there is.
        const spec = { holderIdentity: "", leaseDurationSeconds: 1, acquireTime: now, renewTime: now };
        await this.#put(current, spec, signal);
        return;
      } catch (thrown) {
        if (!isOutdated(thrown) || round >= ROUNDS_MAX) throw thrown;
        current = await this.#look(signal);
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
    const stop = (): void => this.end("it was told to stop");
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

  /** Why it ended. */
  get because(): string {
    return this.#because;
  }

  get isLeading(): boolean {
    return !this.signal.aborted && this.#clock.monotonic() < this.#untilMs;
  }

  /** A term that has run out stays so, even if the timer that ends it is late: somebody may have asked. */
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
