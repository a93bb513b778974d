/**
 * Remembers the history of etcd that this client has seen, and decides whether a response belongs to the same history.
 * Without it, a server would continue to use the revisions of an etcd that was restored from an older snapshot, and would serve objects
 * that no longer exist.
 *
 * Only linearizable responses (Range, Txn) are compared, because a member that lags behind or has lost its leader may
 * send an older revision or another raft term in the headers of watches and keep-alives. A response is compared with
 * the state at the time when its request was sent, because responses may overtake each other. The member ID is not
 * compared: it changes with every failover.
 */
import type { KeyValue, KvEvent } from "../kv.ts";
import type { EtcdHeader } from "./messages.ts";

/** The greatest values of all headers so far, at one moment. */
interface HistoryMark {
  /** Increases with each detected change of the history. */
  readonly generation: number;
  readonly header: EtcdHeader;
}

const NOTHING: EtcdHeader = { clusterId: 0n, revision: 0, raftTerm: 0n };

export class SeenHistory {
  #generation = 0;
  #header: EtcdHeader = NOTHING;
  /** The newest change that a watch has delivered or that this client has committed. */
  #newest: KvEvent | undefined;

  get mark(): HistoryMark {
    return { generation: this.#generation, header: this.#header };
  }

  /** The change that an etcd with the same history must contain; undefined if none is known. */
  get newest(): KvEvent | undefined {
    return this.#newest;
  }

  get isEmpty(): boolean {
    return this.#header.revision === 0;
  }

  sawHeader(header: EtcdHeader): void {
    const { clusterId, revision, raftTerm } = this.#header;
    this.#header = {
      clusterId: header.clusterId || clusterId,
      revision: Math.max(revision, header.revision),
      raftTerm: header.raftTerm > raftTerm ? header.raftTerm : raftTerm,
    };
  }

  sawChange(change: KvEvent): void {
    if (this.#newest !== undefined && this.#newest.modRevision >= change.modRevision) return;
    this.#newest = change;
    if (change.modRevision > this.#header.revision) this.#header = { ...this.#header, revision: change.modRevision };
  }

  /** Forgets everything, because the history is now that of this header. */
  restart(header: EtcdHeader): void {
    this.#generation++;
    this.#header = header;
    this.#newest = undefined;
  }
}

/** Returns the evidence that a response belongs to another history than the one seen; undefined if there is none. */
export function headerContradicts(seen: EtcdHeader, header: EtcdHeader): string | undefined {
  const isKnown = seen.clusterId !== 0n && header.clusterId !== 0n;
  if (isKnown && seen.clusterId !== header.clusterId)
    return `etcd has the cluster ID ${header.clusterId.toString(16)}, and had ${seen.clusterId.toString(16)} before`;
  if (header.revision < seen.revision)
    return `etcd is at revision ${header.revision}, and was at ${seen.revision} before`;
  if (header.raftTerm !== 0n && header.raftTerm < seen.raftTerm)
    return `etcd is in raft term ${header.raftTerm}, and was in ${seen.raftTerm} before`;
  return undefined;
}

/** The key of a change, as etcd had it just before the revision of the change and at that revision. */
interface KeyAtChange {
  readonly before: KeyValue | undefined;
  readonly at: KeyValue | undefined;
}

/**
 * Returns the evidence that etcd's history does not contain the change; undefined if it does. This finds a restore even
 * if the new history has more revisions than the old one had.
 */
export function changeIsMissing(change: KvEvent, { before, at }: KeyAtChange): string | undefined {
  const found = change.kind === "put" ? isThisPut(change, at) : at === undefined && before !== undefined;
  if (found) return undefined;
  const what = change.kind === "put" ? "write" : "deletion";
  return `etcd no longer contains the ${what} of ${change.key} at revision ${change.modRevision}`;
}

export function isThisPut(change: KvEvent, item: KeyValue | undefined): boolean {
  return change.kind === "put" && item?.modRevision === change.modRevision && item.value.equals(change.value);
}
