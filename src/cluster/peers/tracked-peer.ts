/**
 * Tracks one peer: whether it responds, and what it serves. Two loops run while the peer is known: one sends a probe at
 * a fixed interval, the other fetches the discovery document whenever it may have changed.
 *
 * The last valid document is kept even while the peer is unreachable, because its resources exist and requests for them
 * return 503.
 */
import { Wakeable } from "../../base/wakeable.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import { UpstreamError, type Upstream, type UpstreamAddress } from "../../serving/http/upstream.ts";
import type { RequestPeer } from "./request-peer.ts";
import { failureInWords } from "./failure-in-words.ts";
import { assumedRelease } from "./assumed-release.ts";
import { fetchKubeFacts, type KubeFacts } from "./kube-facts.ts";
import { fetchPeerDocument, type PeerDocument } from "./peer-document.ts";
import type { ProxyMetrics } from "./proxy-metrics.ts";
import { createServedSet, type ServedSet } from "./served-set.ts";
import type { PeerTiming } from "./timing.ts";
import type { KubeView, PeerView } from "./view.ts";

/** The data of the peer's identity lease and endpoint record. */
export interface KnownPeer {
  readonly id: string;
  /** As in `PeerView`. */
  readonly calledAt?: string | undefined;
  /** The ID of the run, which changes whenever the server restarts. */
  readonly incarnation: string | undefined;
  /** The run that the endpoint record shows. Undefined without one, because any client can forge the run of a lease. */
  readonly recordedRun?: string | undefined;
  /** True if the server publishes no release: it is a kube-apiserver, or only its identity lease is known. */
  readonly isKubeApiserver: boolean;
  /** The release in the endpoint record. */
  readonly release: string | undefined;
  readonly binaryVersion?: string | undefined;
  readonly address: UpstreamAddress | undefined;
  readonly isDraining: boolean;
  /** Changes whenever the peer serves other resources; undefined for a kube-apiserver, which does not publish it. */
  readonly documentHash: string | undefined;
}

export interface TrackingContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly upstream: Upstream;
  readonly ask: RequestPeer;
  readonly timing: PeerTiming;
  readonly metrics: ProxyMetrics;
  /** Whether a discovery document lists a custom resource that this server has not read from the store. */
  readonly listsUnread: (groups: readonly DiscoveryGroup[]) => boolean;
  /** Called when a property on which routing or discovery depends has changed. */
  readonly onChange: () => void;
}

/** The path of probes. Every live server responds to it, for any client and without reading the store. */
const PROBE_TARGET = "/livez/ping";
const PROBE_BYTES_MAX = 64 * 1024;
const PROBES_PENDING_MAX = 4;
/**
 * How long a changed document is fetched at short intervals if it lists custom resources that this server has not read:
 * longer than a kube-apiserver needs to remove a deleted custom resource from its document.
 */
const RECHECK_MS = 30_000;
const NO_ADDRESS = "no address published";
const NO_FACTS: KubeFacts = { version: undefined, proxiesToPeers: undefined };

export class TrackedPeer {
  readonly #context: TrackingContext;
  readonly #stopping = new AbortController();
  readonly #documentDue: Wakeable;
  #known: KnownPeer;
  #document: PeerDocument | undefined;
  /** The incarnation and document hash of the peer when its document was fetched. */
  #describedAs: Pick<KnownPeer, "incarnation" | "documentHash"> | undefined;
  /** The last facts that were read from a kube-apiserver. */
  #facts: KubeFacts = NO_FACTS;
  #confirmedAtMs = 0;
  #changedAtMs = 0;
  #isReachable = false;
  #misses = 0;
  /** Why the last misses failed, in words, and how many of them in a row failed for this reason. */
  #lastMiss: { readonly reason: string; readonly count: number } | undefined;
  /** Why the peer is unreachable; undefined while it is reachable, and until enough probes have failed. */
  #unreachableBecause: string | undefined;
  /** Why the last fetch of the document failed; undefined if it succeeded. */
  #undescribedBecause: string | undefined;
  #disconnectedAtMs = -Infinity;
  #probesPending = 0;
  #hasBeenAttempted = false;
  #view: PeerView | undefined;

  constructor(context: TrackingContext, known: KnownPeer) {
    this.#context = context;
    this.#known = known;
    this.#documentDue = new Wakeable(context.clock);
  }

  get known(): KnownPeer {
    return this.#known;
  }

  get document(): PeerDocument | undefined {
    return this.#document;
  }

  /** The incarnation of the peer that confirmed the document last. */
  get describedRun(): string | undefined {
    return this.#describedAs?.incarnation;
  }

  get isKubeApiserver(): boolean {
    return this.#known.isKubeApiserver;
  }

  /** The release that the peer publishes, or that this server has read from it. */
  get release(): string | undefined {
    return this.#known.release ?? this.#facts.version?.release;
  }

  get binaryVersion(): string | undefined {
    return this.#known.binaryVersion ?? this.#facts.version?.binaryVersion;
  }

  get isReachable(): boolean {
    return this.#isReachable;
  }

  /** Whether a fetch of the document has ended, successfully or not, or the peer has no address. */
  get hasBeenAttempted(): boolean {
    return this.#hasBeenAttempted || this.#known.address === undefined;
  }

  /** The same value until something changes. */
  get view(): PeerView {
    return (this.#view ??= this.#createView());
  }

  #createView(): PeerView {
    const { id, calledAt, address, isDraining } = this.#known;
    const document = this.#document;
    const served = document && createServedSet(document.groups);
    const isDescribed = this.#describedAs !== undefined && isSameServing(this.#describedAs, this.#known);
    return {
      id,
      calledAt,
      release: this.release,
      kube: this.isKubeApiserver ? this.#kubeView(served) : undefined,
      address,
      isDraining,
      isReachable: this.#isReachable,
      unreachableBecause: address === undefined && !this.#isReachable ? NO_ADDRESS : this.#unreachableBecause,
      isDescribed,
      undescribedBecause: isDescribed ? undefined : this.#undescribedBecause,
      document: served && { served, confirmedAtMs: this.#confirmedAtMs },
    };
  }

  #kubeView(served: ServedSet | undefined): KubeView {
    const { version } = this.#facts;
    return { ...this.#facts, assumedRelease: version === undefined && served ? assumedRelease(served) : undefined };
  }

  /** Runs until `stop`. */
  async run(): Promise<void> {
    const { signal } = this.#stopping;
    await Promise.all([this.#probeLoop(signal), this.#documentLoop(signal)]);
  }

  stop(): void {
    this.#stopping.abort();
    this.#leave(this.#known);
  }

  /**
   * Closes the connections to the peer, unless it is draining: then it completes its requests and closes its
   * connections itself.
   */
  #leave({ address, isDraining }: KnownPeer): void {
    const { upstream } = this.#context;
    if (address === undefined) return;
    if (isDraining) upstream.retire(address);
    else upstream.disconnect(address);
  }

  update(known: KnownPeer): void {
    const before = this.#known;
    if (isSame(before, known)) return;
    this.#known = known;
    const isElsewhere = !isSameAddress(before.address, known.address);
    if (isElsewhere) this.#leave({ ...before, isDraining: before.isDraining || known.isDraining });
    else if (known.isDraining && !before.isDraining && known.address !== undefined)
      this.#context.upstream.retire(known.address);
    if (isElsewhere || before.incarnation !== known.incarnation) {
      this.#misses = 0;
      this.#lastMiss = undefined;
      this.#unreachableBecause = undefined;
    }
    if (isElsewhere || !isSameServing(before, known)) this.#documentDue.wake();
    this.#changed();
  }

  /** Called for any response. */
  reportResponse(): void {
    if (!this.#responded()) return;
    this.#documentDue.wake();
    this.#changed();
  }

  /** Called for a failed connection or a probe without a response. */
  reportMiss(error: unknown): void {
    const { clock, log, timing, upstream } = this.#context;
    const { id, address } = this.#known;
    const reason = failureInWords(error);
    this.#misses++;
    this.#lastMiss = { reason, count: this.#lastMiss?.reason === reason ? this.#lastMiss.count + 1 : 1 };
    if (this.#misses < timing.probeMissesMax) return;
    // Closes the connections, so that pending requests are retried elsewhere or fail now instead of at their deadline.
    if (address !== undefined && !hasHostResponded(error)) {
      this.#disconnectedAtMs = clock.monotonic();
      upstream.disconnect(address);
    }
    // A new reason replaces the old one only after as many misses as make a peer unreachable. Otherwise a peer that
    // fails in different ways would change the view with each probe.
    const isOldNews = !this.#isReachable && this.#unreachableBecause !== undefined;
    if (isOldNews && (reason === this.#unreachableBecause || this.#lastMiss.count < timing.probeMissesMax)) return;
    this.#isReachable = false;
    this.#unreachableBecause = reason;
    log.warn("peer unreachable", { peer: id, reason });
    this.#changed();
  }

  /** Records a response. Returns whether the reachability changed. */
  #responded(): boolean {
    this.#misses = 0;
    this.#lastMiss = undefined;
    this.#unreachableBecause = undefined;
    if (this.#isReachable) return false;
    this.#isReachable = true;
    this.#context.log.info("peer reachable", { peer: this.#known.id });
    return true;
  }

  #changed(): void {
    this.#view = undefined;
    this.#context.onChange();
  }

  async #probeLoop(signal: AbortSignal): Promise<void> {
    do {
      if (this.#known.address !== undefined && this.#probesPending < PROBES_PENDING_MAX)
        void this.#probe(this.#known.address, signal);
    } while (await sleep(this.#context.clock, this.#context.timing.probeIntervalMs, signal));
  }

  /** Probes overlap: one that waits for its timeout does not delay the next. */
  async #probe(address: UpstreamAddress, signal: AbortSignal): Promise<void> {
    const { clock, ask, timing, metrics } = this.#context;
    const startedAt = clock.monotonic();
    this.#probesPending++;
    try {
      await ask({
        address,
        target: PROBE_TARGET,
        timeoutMs: timing.probeTimeoutMs,
        bytesMax: PROBE_BYTES_MAX,
        signal,
      });
      if (!signal.aborted && isSameAddress(address, this.#known.address)) this.reportResponse();
    } catch (thrown) {
      // A late timer shows that this process was paused. Lack of local connections, and a probe that this server has
      // broken off together with the other requests, are no failures of the peer either.
      const isLate = clock.monotonic() - startedAt > 1.5 * timing.probeTimeoutMs;
      const isBrokenOff = this.#disconnectedAtMs >= startedAt && isReset(thrown);
      const isOurFault = isLate || isBrokenOff || isExhausted(thrown);
      if (signal.aborted || isOurFault || !isSameAddress(address, this.#known.address)) return;
      metrics.probeFailed(this.#known.id).inc();
      this.reportMiss(thrown);
    } finally {
      this.#probesPending--;
    }
  }

  async #documentLoop(signal: AbortSignal): Promise<void> {
    const { timing, random, metrics } = this.#context;
    let failures = 0;
    while (!signal.aborted) {
      const { address } = this.#known;
      // As kubernetes: an attempt without an address counts as well, which happens whenever a peer joins, because its
      // lease precedes its endpoint record.
      if (address === undefined) metrics.syncFailed("hostport_resolution");
      else failures = (await this.#describe(address, signal)) ? 0 : failures + 1;
      const delayMs =
        failures === 0
          ? this.#refreshMs()
          : Math.min(timing.documentRetryMsMax, timing.documentRetryMs * 2 ** Math.min(failures - 1, 20));
      await this.#documentDue.wait(delayMs * (0.75 + random.float() / 2), signal);
    }
  }

  /**
   * A custom resource that this server has not read from the store was created or deleted a moment ago. If it was
   * deleted, for example while this server restarted, the document must not be shown for long.
   */
  #refreshMs(): number {
    const { clock, timing, listsUnread } = this.#context;
    const isNew = clock.monotonic() - this.#changedAtMs < RECHECK_MS;
    const isInDoubt = isNew && this.#document !== undefined && listsUnread(this.#document.groups);
    return isInDoubt ? timing.documentRecheckMs : timing.documentRefreshMs;
  }

  async #describe(address: UpstreamAddress, signal: AbortSignal): Promise<boolean> {
    const { clock, ask, timing, log, metrics } = this.#context;
    const asked = this.#known;
    const request = { ask, address, timeoutMs: timing.documentTimeoutMs, signal };
    try {
      const [document, facts] = await Promise.all([
        fetchPeerDocument({ ...request, peerId: asked.id, run: asked.recordedRun, known: this.#document }),
        this.isKubeApiserver ? fetchKubeFacts(request) : NO_FACTS,
      ]);
      // If the peer has meanwhile restarted with other resources or another address, the document is dropped: that
      // change triggers a new fetch.
      if (signal.aborted || !isSameServing(asked, this.#known) || !isSameAddress(address, this.#known.address))
        return true;
      this.#describedAs = asked;
      this.#facts = { ...facts, proxiesToPeers: facts.proxiesToPeers ?? this.#facts.proxiesToPeers };
      this.#confirmedAtMs = clock.monotonic();
      if (this.#document?.etag !== document.etag) {
        this.#document = document;
        this.#changedAtMs = this.#confirmedAtMs;
      }
      this.#hasBeenAttempted = true;
      this.#undescribedBecause = undefined;
      this.#responded();
      this.#changed();
      return true;
    } catch (thrown) {
      if (signal.aborted) return false;
      metrics.syncFailed("fetch_discovery");
      const reason = failureInWords(thrown);
      const error = thrown instanceof Error ? thrown.message : String(thrown);
      const isNews = this.#undescribedBecause !== reason;
      log[isNews ? "warn" : "debug"]("peer discovery failed", { peer: this.#known.id, reason, error });
      this.#hasBeenAttempted = true;
      this.#undescribedBecause = reason;
      if (isNews) this.#changed();
      return false;
    }
  }
}

/**
 * Whether the local server has no free connections. Treating the peer as unreachable for that would abort working
 * requests.
 */
function isExhausted(thrown: unknown): boolean {
  return thrown instanceof UpstreamError && thrown.failure === "exhausted";
}

function isReset(thrown: unknown): boolean {
  return thrown instanceof UpstreamError && thrown.failure === "reset";
}

/**
 * Whether the peer's host rejected or closed a connection. The host is then alive and closes dead connections itself,
 * and a draining server still completes accepted requests, so open connections are kept.
 */
function hasHostResponded(error: unknown): boolean {
  return error instanceof UpstreamError && (error.isRefused || error.failure === "reset" || error.failure === "tls");
}

function isSameServing(
  left: Pick<KnownPeer, "incarnation" | "documentHash">,
  right: Pick<KnownPeer, "incarnation" | "documentHash">,
): boolean {
  return left.incarnation === right.incarnation && left.documentHash === right.documentHash;
}

function isSame(left: KnownPeer, right: KnownPeer): boolean {
  return (
    isSameServing(left, right) &&
    left.isKubeApiserver === right.isKubeApiserver &&
    left.calledAt === right.calledAt &&
    left.release === right.release &&
    left.isDraining === right.isDraining &&
    isSameAddress(left.address, right.address)
  );
}

function isSameAddress(left: UpstreamAddress | undefined, right: UpstreamAddress | undefined): boolean {
  return left?.host === right?.host && left?.port === right?.port;
}
