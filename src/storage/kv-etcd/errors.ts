/** Translates failed calls to etcd to the errors of the storage port. */
import { StorageError } from "../kv.ts";
import { RpcFailure, STATUS } from "../grpc/rpc-failure.ts";
import { DecodeError } from "../grpc/wire.ts";

/**
 * The statuses with which etcd 3.4 to 3.6 rejects a transaction that it has not applied and never will, each with the
 * beginning of its message. Newer releases send some messages with another status than older ones.
 *
 * Two statuses are missing on purpose. "mvcc: database space exceeded" can also mean that etcd has applied the
 * transaction: the member that finds its quota exceeded while it applies one reports the error after the change.
 * "corrupt cluster" says nothing about the change on the other members.
 */
const REJECTIONS: readonly (readonly [text: string, ...statuses: number[]])[] = [
  // Checked before the transaction is proposed to raft.
  ["etcdserver: key is not provided", STATUS.invalidArgument],
  ["etcdserver: value is provided", STATUS.invalidArgument],
  ["etcdserver: lease is provided", STATUS.invalidArgument],
  ["etcdserver: invalid sort option", STATUS.invalidArgument],
  ["etcdserver: too many operations in txn request", STATUS.invalidArgument],
  ["etcdserver: duplicate key given in txn request", STATUS.invalidArgument],
  ["etcdserver: invalid client api version", STATUS.invalidArgument],
  ["etcdserver: request is too large", STATUS.invalidArgument],
  ["etcdserver: too many requests", STATUS.resourceExhausted],
  ["etcdserver: no leader", STATUS.unavailable],
  ["etcdserver: not capable", STATUS.unavailable, STATUS.failedPrecondition],
  ["etcdserver: rpc not supported for learner", STATUS.unavailable, STATUS.failedPrecondition],
  ["etcdserver: invalid auth token", STATUS.unauthenticated],
  ["etcdserver: user name is empty", STATUS.invalidArgument],
  ["raft proposal dropped", STATUS.unknown],
  // Checked by every member when it applies the transaction, before the first change.
  ["etcdserver: requested lease not found", STATUS.notFound],
  ["etcdserver: key not found", STATUS.invalidArgument],
  ["etcdserver: mvcc: required revision has been compacted", STATUS.outOfRange],
  ["etcdserver: mvcc: required revision is a future revision", STATUS.outOfRange],
  ["etcdserver: permission denied", STATUS.permissionDenied],
  ["etcdserver: revision of auth store is old", STATUS.invalidArgument],
  // The gRPC server rejects these calls before etcd receives them.
  ["grpc: received message larger than max", STATUS.resourceExhausted],
  ["unknown service", STATUS.unimplemented],
  ["unknown method", STATUS.unimplemented],
];

export function unavailable(message: string, cause?: unknown): StorageError {
  return new StorageError("unavailable", message, { cause });
}

/** Turns every failure of a call into a `StorageError`. Other exceptions are bugs and are returned unchanged. */
export function toStorageError(thrown: unknown): unknown {
  if (thrown instanceof DecodeError) {
    return new StorageError("corrupt", `etcd's response cannot be decoded: ${thrown.message}`, { cause: thrown });
  }
  if (!(thrown instanceof RpcFailure)) return thrown;
  const message = `etcd: ${thrown.message}`;
  if (thrown.kind === "oversize") return new StorageError("too-large", message, { cause: thrown });
  switch (thrown.status) {
    case STATUS.outOfRange:
      if (isCompacted(thrown)) return new StorageError("revision-compacted", message, { cause: thrown });
      if (isFuture(thrown)) return new StorageError("revision-future", message, { cause: thrown });
      break;
    case STATUS.notFound:
      if (isLeaseNotFound(thrown)) return new StorageError("lease-not-found", message, { cause: thrown });
      break;
    case STATUS.invalidArgument:
    case STATUS.resourceExhausted:
      if (isTooLarge(thrown)) return new StorageError("too-large", message, { cause: thrown });
      break;
    case STATUS.dataLoss:
      return new StorageError("corrupt", message, { cause: thrown });
    default:
  }
  return unavailable(message, thrown);
}

/**
 * As `toStorageError`, but for a transaction: the error is `undecided` unless the transaction was not sent, or etcd
 * responded with one of the statuses that prove that it was rejected.
 */
export function toCommitError(thrown: unknown): unknown {
  const error = toStorageError(thrown);
  if (!(error instanceof StorageError) || isWithoutEffect(thrown)) return error;
  return new StorageError("undecided", error.message, { cause: thrown });
}

/** False for a response that cannot be decoded: only etcd's response shows what it has done. */
function isWithoutEffect(thrown: unknown): boolean {
  if (!(thrown instanceof RpcFailure)) return false;
  if (thrown.kind === "unsent") return true;
  const { status, message } = thrown;
  return REJECTIONS.some(([text, ...statuses]) => statuses.includes(status ?? STATUS.ok) && message.startsWith(text));
}

export function isCompacted(thrown: unknown): thrown is RpcFailure {
  return isStatus(thrown, STATUS.outOfRange, "mvcc: required revision has been compacted");
}

export function isLeaseNotFound(thrown: unknown): thrown is RpcFailure {
  return isStatus(thrown, STATUS.notFound, "requested lease not found");
}

function isFuture(thrown: RpcFailure): boolean {
  return isStatus(thrown, STATUS.outOfRange, "mvcc: required revision is a future revision");
}

/** The first message comes from etcd's own limit, the second from the limit of its gRPC server. */
function isTooLarge(thrown: RpcFailure): boolean {
  return (
    isStatus(thrown, STATUS.invalidArgument, "request is too large") ||
    isStatus(thrown, STATUS.resourceExhausted, "received message larger than max")
  );
}

/**
 * True if the failure shows that the etcd member responds but cannot serve; a member at another endpoint may be able
 * to.
 */
export function isMemberUnusable(thrown: unknown): boolean {
  if (!(thrown instanceof RpcFailure) || thrown.kind !== "status") return false;
  return /no leader|server stopped|rpc not supported for learner/.test(thrown.message);
}

function isStatus(thrown: unknown, status: number, text: string): thrown is RpcFailure {
  return thrown instanceof RpcFailure && thrown.status === status && thrown.message.includes(text);
}
