/**
 * Maintains the Lease by which peers know that this server is live. It is written through the API like any Lease. At
 * the start, one write takes it over in whatever state it is, so that no watcher sees it deleted. States:
 *
 * - seeking: the lease is not ours yet. Take it from any holder → holding.
 * - holding: renew the copy that was read last. If the lease was deleted, create it; if it was changed, read it →
 *   holding or aside.
 * - aside: another process uses our ID. Only read the lease, until it is deleted or expires or the endpoint record is
 *   ours → holding.
 *
 * Two processes with one ID never fight: the endpoint record, which no API user can write, shows which of them owns the
 * ID. The owner of the record takes its lease back, and the other process stays aside.
 */
import { must } from "../../base/assert.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { Client } from "../../client/client.ts";
import type { KubernetesObject, ResourceType } from "../../client/objects.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { labelValueErrors } from "../../meta/names.ts";
import { isReason } from "../../meta/status-error.ts";
import type { PeerTiming } from "./timing.ts";
import { messageOf, within } from "../../base/within.ts";

export const IDENTITY_LEASE_TYPE: ResourceType = {
  group: "coordination.k8s.io",
  version: "v1",
  resource: "leases",
  namespaced: true,
};
export const IDENTITY_LEASE_NAMESPACE = "kube-system";
/** The label that names the component of the server: aggregated API servers have identity leases too. */
export const IDENTITY_LABEL = "apiserver.kubernetes.io/identity";
export const KUBE_APISERVER = "kube-apiserver";

/** Ends the holderIdentity of a server that has no endpoint record yet. */
const STARTING_SUFFIX = "_starting";

export interface LeaseObject extends KubernetesObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
  };
}

export interface ServerIdentity {
  readonly id: string;
  /** Default kube-apiserver. */
  readonly component?: string;
  /** The ID of this run, different for each start of the server. */
  readonly incarnation: string;
  readonly hostname: string;
  /**
   * "ip:port"; undefined if peers cannot call this server. It only informs people: routing reads the endpoint record.
   */
  readonly peerAddress: string | undefined;
  readonly release: string;
  readonly binaryVersion: string;
  readonly compatibilityVersion: string;
}

export interface IdentityLeaseOptions {
  /**
   * The client must not retry by itself, because each attempt has a short timeout and a failed attempt is soon followed
   * by another.
   */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly timing: Pick<PeerTiming, "leaseDurationSeconds" | "leaseRenewMs" | "leaseMarginMs">;
  readonly identity: ServerIdentity;
  /**
   * Which process owns the endpoint record under our ID, as far as this server knows. "nobody" if the record does not
   * exist: before the owner is ready, and after it has left.
   */
  readonly recordOwner: () => "this" | "other" | "nobody";
  /** Called after each renewal with the monotonic time at which the request was sent. */
  readonly onRenewed: (startedAtMs: number) => void;
  /** Called when another process uses our ID. */
  readonly onLost: (because: string) => void;
}

/** Maximum number of attempts if other clients change the lease between the read and the write. */
const ROUNDS_MAX = 3;
/** Minimum of the backoff after failures. The maximum is the renewal interval. */
const RETRY_MS_MIN = 200;
const REMOVE_LIMIT_MS = 3_000;

export class IdentityLease {
  readonly #options: IdentityLeaseOptions;
  readonly #leases: ResourceClient<LeaseObject>;
  readonly #removed = new AbortController();
  #running: Promise<void> | undefined;
  /** Our lease as last read from or written to the store. */
  #seen: LeaseObject | undefined;
  /** Whether this process has stored its holderIdentity at least once. */
  #hasHeld = false;
  #pause = new AbortController();
  #restarts = 0;
  #isServing = false;
  #rival: { readonly holder: string; readonly version: string; readonly sinceMs: number } | undefined;

  constructor(options: IdentityLeaseOptions) {
    this.#options = options;
    this.#leases = options.client.resource<LeaseObject>(IDENTITY_LEASE_TYPE);
  }

  /** Why this server stays aside; undefined if it does not. */
  get conflict(): string | undefined {
    if (this.#rival === undefined) return undefined;
    return `another server uses the server ID ${this.#options.identity.id}: set --server-id on one of them`;
  }

  /**
   * Takes the lease again at once, because the store has another history: its lease may be missing, or may name an
   * earlier run of this server.
   */
  restart(): void {
    this.#seen = undefined;
    this.#hasHeld = false;
    this.#rival = undefined;
    this.#restarts++;
    this.#pause.abort();
  }

  /**
   * Changes the holder at once, because the store has the endpoint record now. A kube-apiserver reads the record only
   * when a lease appears or its holder changes. The lease must exist before the server is ready, when there is no record
   * yet; without the change, the kube-apiserver would find the record late, after a growing delay, and meanwhile return
   * 404 for resources that only this server serves.
   */
  serve(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    if (this.#running !== undefined) this.#pause.abort();
  }

  /** Holds the lease until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    this.#running = this.#hold(eitherSignal(signal, this.#removed.signal));
    return this.#running;
  }

  /**
   * Ends `run` and deletes the lease if it is still ours. It gives up after a time limit, and peers then delete the
   * lease after it has expired.
   */
  async remove(): Promise<void> {
    const { clock, log } = this.#options;
    this.#removed.abort();
    await Promise.allSettled([this.#running]);
    if (!this.#hasHeld) return;
    try {
      await within(clock, REMOVE_LIMIT_MS, (signal) => this.#delete(signal));
    } catch (thrown) {
      log.warn("identity lease deletion failed", { error: messageOf(thrown) });
    }
  }

  get #holder(): string {
    const { id, incarnation } = this.#options.identity;
    return `${id}_${incarnation}${this.#isServing ? "" : STARTING_SUFFIX}`;
  }

  #isOwn({ spec }: LeaseObject): boolean {
    const { id, incarnation } = this.#options.identity;
    return runOfHolder(id, spec?.holderIdentity ?? "") === incarnation;
  }

  async #hold(signal: AbortSignal): Promise<void> {
    const { clock, random, log, timing } = this.#options;
    let retryMs = RETRY_MS_MIN;
    while (!signal.aborted) {
      let nextAtMs = clock.monotonic() + timing.leaseRenewMs * (1 - 0.1 * random.float());
      try {
        // An attempt never takes longer than the interval, because a store that hangs now may respond to the next
        // attempt.
        await within(clock, timing.leaseRenewMs, (limit) => this.#renew(limit), signal);
        retryMs = RETRY_MS_MIN;
      } catch (thrown) {
        if (signal.aborted) return;
        log.warn("identity lease renewal failed", { error: messageOf(thrown) });
        nextAtMs = clock.monotonic() + retryMs * (0.5 + random.float() / 2);
        retryMs = Math.min(retryMs * 2, timing.leaseRenewMs);
      }
      await this.#sleepUntil(nextAtMs, signal);
    }
  }

  /** Returns early if `restart` was called since the last call. */
  async #sleepUntil(atMs: number, signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    await sleep(clock, Math.max(0, atMs - clock.monotonic()), eitherSignal(signal, this.#pause.signal));
    this.#pause.abort();
    this.#pause = new AbortController();
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const restarts = this.#restarts;
    let current = this.#seen ?? (await this.#get(signal));
    for (let round = 1; ; round++) {
      if (current !== undefined && this.#isRivals(current)) return this.#standAside(current);
      const startedAtMs = this.#options.clock.monotonic();
      try {
        const written = await this.#write(current, signal);
        signal.throwIfAborted();
        if (restarts !== this.#restarts) throw new Error("the history of the store has changed");
        return this.#hasRenewed(written, startedAtMs);
      } catch (thrown) {
        // Either the copy is outdated, or it is unknown whether the write succeeded.
        this.#seen = undefined;
        const isOutdated = ["Conflict", "NotFound", "AlreadyExists"] as const;
        if (round >= ROUNDS_MAX || !isOutdated.some((reason) => isReason(thrown, reason))) throw thrown;
        current = await this.#get(signal);
      }
    }
  }

  async #get(signal: AbortSignal): Promise<LeaseObject | undefined> {
    try {
      return await this.#leases.get(
        { namespace: IDENTITY_LEASE_NAMESPACE, name: this.#options.identity.id },
        { signal },
      );
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return undefined;
      throw thrown;
    }
  }

  #write(current: LeaseObject | undefined, signal: AbortSignal): Promise<LeaseObject> {
    const { identity, clock, timing } = this.#options;
    const lease: LeaseObject = {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: {
        ...current?.metadata,
        name: identity.id,
        namespace: IDENTITY_LEASE_NAMESPACE,
        labels: { ...current?.metadata?.labels, ...labelsOf(identity) },
        annotations: { ...current?.metadata?.annotations, ...annotationsOf(identity) },
      },
      spec: {
        holderIdentity: this.#holder,
        leaseDurationSeconds: timing.leaseDurationSeconds,
        renewTime: toMicroTime(clock.now()),
      },
    };
    return current === undefined ? this.#leases.create(lease, { signal }) : this.#leases.replace(lease, { signal });
  }

  #hasRenewed(written: LeaseObject, startedAtMs: number): void {
    if (this.#rival !== undefined) this.#options.log.info("identity lease recovered");
    this.#seen = written;
    this.#hasHeld = true;
    this.#rival = undefined;
    this.#options.onRenewed(startedAtMs);
  }

  /** Whether another live process holds the lease, so that this one must not write it. */
  #isRivals(current: LeaseObject): boolean {
    const { clock, log, timing, recordOwner } = this.#options;
    const holder = current.spec?.holderIdentity ?? "";
    // Until this process has held the lease, any other holder counts as the previous run of this server.
    if (!this.#hasHeld || this.#isOwn(current)) return false;
    if (recordOwner() === "this") {
      log.warn("identity lease holder was changed by another client, taking the lease back", { holder });
      return false;
    }
    const { sinceMs, version } = this.#rival ?? {};
    if (sinceMs === undefined || version !== versionOf(current)) return true;
    return clock.monotonic() - sinceMs < timing.leaseDurationSeconds * 1000 + timing.leaseMarginMs;
  }

  #standAside(current: LeaseObject): void {
    const { clock, log, onLost } = this.#options;
    const holder = current.spec?.holderIdentity ?? "";
    const isNews = this.#rival?.holder !== holder;
    const version = versionOf(current);
    if (this.#rival?.version !== version || isNews) this.#rival = { holder, version, sinceMs: clock.monotonic() };
    this.#seen = undefined;
    const because = must(this.conflict, "a rival is a conflict");
    if (isNews) log.error(because, { holder });
    onLost(because);
  }

  async #delete(signal: AbortSignal): Promise<void> {
    const key = { namespace: IDENTITY_LEASE_NAMESPACE, name: this.#options.identity.id };
    let current = this.#seen ?? (await this.#get(signal));
    for (let round = 1; current !== undefined && this.#isOwn(current); round++) {
      try {
        await this.#leases.delete(key, { preconditions: preconditionsOf(current), signal });
        return;
      } catch (thrown) {
        if (isReason(thrown, "NotFound")) return;
        if (!isReason(thrown, "Conflict") || round >= ROUNDS_MAX) throw thrown;
        current = await this.#get(signal);
      }
    }
  }
}

/** The run of the server that is the holder; empty if the holder does not begin with the server ID. */
export function runOfHolder(id: string, holderIdentity: string): string {
  const prefix = `${id}_`;
  if (!holderIdentity.startsWith(prefix)) return "";
  const run = holderIdentity.slice(prefix.length);
  return run.endsWith(STARTING_SUFFIX) ? run.slice(0, -STARTING_SUFFIX.length) : run;
}

/**
 * Preconditions that fail if another process has written the lease. A restarted server updates the same object, so the
 * uid alone would not reveal such a write.
 */
export function preconditionsOf({ metadata = {} }: LeaseObject): { uid?: string; resourceVersion?: string } {
  const { uid, resourceVersion } = metadata;
  return { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
}

function labelsOf({ hostname, component = KUBE_APISERVER }: ServerIdentity): Record<string, string> {
  // A hostname that is not a valid label value is omitted, so that the lease can still be written.
  const isLabel = labelValueErrors(hostname).length === 0;
  return { [IDENTITY_LABEL]: component, ...(isLabel ? { "kubernetes.io/hostname": hostname } : {}) };
}

function annotationsOf(identity: ServerIdentity): Record<string, string> {
  const { peerAddress, release, binaryVersion, compatibilityVersion } = identity;
  return {
    ...(peerAddress === undefined ? {} : { "kubernetes.io/peer-advertise-address": peerAddress }),
    "evenkeel.io/release": release,
    "evenkeel.io/binary-version": binaryVersion,
    "evenkeel.io/compatibility-version": compatibilityVersion,
  };
}

function toMicroTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}

function versionOf({ metadata }: LeaseObject): string {
  return metadata?.resourceVersion ?? "";
}
