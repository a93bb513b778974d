/**
 * The storage port on a real etcd (3.4 or newer), with its own small gRPC client.
 *
 * It holds no data, only connections and watches: etcd keeps revisions, history and leases, and makes them durable. A
 * commit is sent at most once; unless etcd's response shows that the change was applied or rejected, the commit fails as
 * `undecided`, because etcd may or may not have applied it.
 */
import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { AcceptedCalls } from "../accepted-calls.ts";
import { HistoryListeners } from "../history-listeners.ts";
import { historyChangedError } from "../kv-errors.ts";
import { type Change, type CommitResult, type Kv, type KvEvent, GUARDS_MAX, StorageError } from "../kv.ts";
import { CheckedCalls } from "./checked-calls.ts";
import { EtcdConnection } from "./connection.ts";
import { CurrentRevision } from "./current-revision.ts";
import { type EtcdTls, parseEndpoints } from "./endpoints.ts";
import { isCompacted, unavailable } from "./errors.ts";
import { grantLease, keepLeaseAlive, requireLeaseId, revokeLease } from "./leases.ts";
import { ETCD_REQUEST_TIMEOUT_MS } from "./etcd-limits.ts";
import { encodeCommit, encodeCompact, METHOD } from "./messages.ts";
import { rangeOf, readCurrentRevision, withNewest } from "./range.ts";
import { WatchHub } from "./watch.ts";

interface EtcdOptions {
  /** For example `http://127.0.0.1:2379` or `https://etcd-1:2379`; http and https may be mixed. */
  readonly endpoints: readonly string[];
  /** TLS settings for https endpoints. Default for `ca`: the certificate authorities that Node trusts. */
  readonly tls?: EtcdTls;
  readonly clock: Clock;
  /** Time limit of one request, including the wait for a connection. A range takes one request per page. */
  readonly requestTimeoutMs?: number;
  readonly log?: (message: string, detail: object) => void;
}

/** Resolves at once, even if etcd is unreachable. Rejects only if an endpoint is malformed. */
export async function openEtcdKv(options: EtcdOptions): Promise<Kv> {
  const { clock, log = () => {}, requestTimeoutMs = ETCD_REQUEST_TIMEOUT_MS } = options;
  const endpoints = parseEndpoints(options.endpoints);
  const listeners = new HistoryListeners();
  const calls = new CheckedCalls({
    connection: () => connection,
    clock,
    log,
    onChanged: (evidence) => {
      log("etcd history changed", { evidence });
      listeners.call(evidence);
      connection.rejectWaiting(unavailable(`the history of etcd has changed: ${evidence}`));
      watches.endAll(historyChangedError(evidence));
    },
  });
  const connection = new EtcdConnection({
    endpoints,
    tls: options.tls,
    clock,
    requestTimeoutMs,
    log,
    verify: (channel) => calls.verify(channel),
  });
  const watches = new WatchHub({ connection, clock, log, onEvent: (event) => calls.sawChange(event) });
  const currentRevision = new CurrentRevision(() => readCurrentRevision(calls));
  void calls.run();
  const accepted = new AcceptedCalls();

  const close = async (): Promise<void> => {
    calls.stop();
    watches.close();
    connection.drain();
    await accepted.close();
    connection.close();
  };
  return {
    range: (request) => accepted.run(() => rangeOf(calls, request)),
    commit: (change) => accepted.run(() => commit(calls, change)),
    watch: (request, sink) => watches.watch(request, sink),
    onHistoryChange: (listener) => listeners.add(listener),
    currentRevision: () => accepted.run(() => currentRevision.query()),
    compact: (revision) => accepted.run(() => compact({ connection, calls }, revision)),
    leaseGrant: (ttlSeconds) => accepted.run(() => grantLease(connection, ttlSeconds)),
    leaseKeepAlive: (lease) => accepted.run(() => keepLeaseAlive(connection, lease)),
    leaseRevoke: (lease) => accepted.run(() => revokeLease(connection, lease)),
    close,
  };
}

async function commit(calls: CheckedCalls, change: Change): Promise<CommitResult> {
  assert(change.key !== "", "a key is not empty");
  const { guards = [] } = change;
  assert(guards.length <= GUARDS_MAX, "a change has at most GUARDS_MAX guards");
  assert(
    guards.every((guard) => guard.key !== ""),
    "a guard's key is not empty",
  );
  if (change.kind === "put" && change.lease !== undefined) requireLeaseId(change.lease);
  const { header, succeeded, current, guardRevisions, deleted } = await calls.txn(encodeCommit(change));
  const { revision } = header;
  // If a delete expects the key to be absent and it is, etcd's transaction succeeds but creates no revision, so
  // nothing was committed.
  const hasChanged = succeeded && (change.kind === "put" || deleted > 0);
  if (hasChanged) {
    calls.sawChange(toEvent(change, revision));
    return { committed: true, revision };
  }
  // etcd compares all guards before it executes a branch, so all of them held if the transaction succeeded.
  const lost = succeeded ? undefined : guards.find((guard, index) => guardRevisions[index] !== guard.revision);
  return { committed: false, current, revision, lostGuard: lost?.key };
}

function toEvent(change: Change, modRevision: number): KvEvent {
  if (change.kind === "delete") return { kind: "delete", key: change.key, modRevision };
  return { kind: "put", key: change.key, value: change.value, createRevision: 0, modRevision };
}

async function compact(
  { connection, calls }: { readonly connection: EtcdConnection; readonly calls: CheckedCalls },
  revision: number,
): Promise<void> {
  try {
    await connection.request({ method: METHOD.compact, frame: encodeCompact(revision), isIdempotent: true });
  } catch (thrown) {
    if (!(thrown instanceof StorageError && isCompacted(thrown.cause))) throw await withNewest(calls, thrown);
  }
}
