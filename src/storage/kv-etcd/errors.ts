/** The ways in which a call to etcd fails, and their translation to the errors of the storage port. */
import { StorageError } from "../kv.ts";
import { DecodeError } from "./wire.ts";

/**
 * - `unsent`: no byte of the call left this process, so any call may be resent.
 * - `lost`: the connection or the stream ended before the response; etcd may or may not have executed the call.
 * - `deadline`: no response arrived in time; etcd may or may not have executed the call.
 * - `status`: etcd responded with an error.
 * - `garbled`: the response is not gRPC.
 * - `oversize`: the response exceeds the message size limit.
 */
type RpcFailureKind = "unsent" | "lost" | "deadline" | "status" | "garbled" | "oversize";

export class RpcFailure extends Error {
  override readonly name = "RpcFailure";
  readonly kind: RpcFailureKind;
  /** The gRPC status; undefined unless `kind` is "status". */
  readonly status: number | undefined;

  constructor(kind: RpcFailureKind, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.status = options.status;
  }
}

export const STATUS = {
  ok: 0,
  invalidArgument: 3,
  notFound: 5,
  resourceExhausted: 8,
  outOfRange: 11,
  dataLoss: 15,
} as const;

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
 * As `toStorageError`, but for a call that must not be resent: the error is `undecided` if etcd may have executed the
 * call.
 */
export function toCommitError(thrown: unknown): unknown {
  const error = toStorageError(thrown);
  const isUndecided = error instanceof StorageError && error.code === "unavailable" && mayHaveActed(thrown);
  return isUndecided ? new StorageError("undecided", error.message, { cause: thrown }) : error;
}

/**
 * A gRPC status means that etcd rejected the call, unless its message reports that the outcome of the raft proposal is
 * unknown.
 */
function mayHaveActed(thrown: unknown): boolean {
  if (!(thrown instanceof RpcFailure) || thrown.kind === "unsent") return false;
  return thrown.kind !== "status" || /timed out|leader changed|server stopped/.test(thrown.message);
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
