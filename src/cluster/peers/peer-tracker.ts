/** Tracks all peers: one `TrackedPeer` for each known server, started and stopped as leases are added and removed. */
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import { TrackedPeer, type KnownPeer, type TrackingContext } from "./tracked-peer.ts";
import type { PeerView } from "./view.ts";

export class PeerTracker {
  readonly #context: TrackingContext;
  readonly #peers = new Map<string, TrackedPeer>();
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;
  #views: readonly PeerView[] | undefined;

  constructor(context: TrackingContext) {
    this.#context = {
      ...context,
      onChange: () => {
        this.#views = undefined;
        context.onChange();
      },
    };
  }

  /** Sets the known peers. */
  update(known: readonly KnownPeer[]): void {
    if (this.#isStopped) return;
    const ids = new Set(known.map(({ id }) => id));
    const gone = [...this.#peers.values()].filter((peer) => !ids.has(peer.known.id));
    for (const peer of gone) {
      this.#peers.delete(peer.known.id);
      peer.stop();
    }
    const isChanged = gone.length > 0 || known.some(({ id }) => !this.#peers.has(id));
    for (const one of known) {
      const peer = this.#peers.get(one.id);
      if (peer === undefined) this.#begin(one);
      else peer.update(one);
    }
    if (isChanged) {
      this.#views = undefined;
      this.#context.onChange();
    }
  }

  /** The views of all peers, sorted by ID; the same value until something changes. */
  views(): readonly PeerView[] {
    this.#views ??= this.#sorted().map((peer) => peer.view);
    return this.#views;
  }

  /** The latest known discovery document of each peer, even if it is outdated. */
  sources(): DiscoverySource[] {
    return this.#sorted().flatMap((peer) => sourceOf(peer) ?? []);
  }

  /**
   * Whether the first fetch of the document has ended, successfully or not, for every known peer that has an address.
   */
  get haveBeenAttempted(): boolean {
    return [...this.#peers.values()].every((peer) => peer.hasBeenAttempted);
  }

  reportResponse(id: string): void {
    this.#peers.get(id)?.reportResponse();
  }

  reportMiss(id: string, error: unknown): void {
    this.#peers.get(id)?.reportMiss(error);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const peer of this.#peers.values()) peer.stop();
    await Promise.all(this.#running);
  }

  #begin(known: KnownPeer): void {
    const peer = new TrackedPeer(this.#context, known);
    this.#peers.set(known.id, peer);
    const running = peer.run().finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #sorted(): TrackedPeer[] {
    return [...this.#peers.values()].sort((left, right) => (left.known.id < right.known.id ? -1 : 1));
  }
}

function sourceOf(peer: TrackedPeer): DiscoverySource | undefined {
  const { known, document } = peer;
  return (
    document && {
      serverId: known.id,
      calledAt: known.calledAt,
      release: peer.release,
      isKubeApiserver: peer.isKubeApiserver,
      binaryVersion: peer.binaryVersion,
      groups: document.groups,
      documentKey: document.etag,
      run: peer.describedRun,
      isReachable: peer.isReachable,
      isDraining: known.isDraining,
      isOutdated: !peer.view.isDescribed,
    }
  );
}
