/** How a call to etcd fails, and what that is in the language of the storage port. */
import { StorageError } from "../kv.ts";
import { DecodeError } from "./wire.ts";

/**
 * - `unsent`: nothing left this process; the call may be made again, whatever it does.
 * - `lost`: the connection or the stream ended before the answer; whether etcd acted is not known.
 * - `deadline`: no answer in time; whether etcd acted is not known.
 * - `status`: etcd answered with an error.
 * - `garbled`: the answer is not gRPC.
 * - `oversize`: the answer is longer than we accept.
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

/** Anything that went wrong in a call becomes a `StorageError`; a bug stays what it is. */
export function toStorageError(thrown: unknown): unknown {
  if (thrown instanceof DecodeError) {
    return new StorageError("corrupt", `etcd's answer cannot be decoded: ${thrown.message}`, { cause: thrown });
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

/** The same of a call that must not be made twice: it may have been heard although nothing was heard of it. */
export function toCommitError(thrown: unknown): unknown {
  const error = toStorageError(thrown);
  const isUndecided = error instanceof StorageError && error.code === "unavailable" && mayHaveActed(thrown);
  return isUndecided ? new StorageError("undecided", error.message, { cause: thrown }) : error;
}

/** An answer in words is a refusal, unless the words are that a proposal was not heard of again. */
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

/** etcd's own limit answers with the first text, the limit of its gRPC server with the second. */
function isTooLarge(thrown: RpcFailure): boolean {
  return (
    isStatus(thrown, STATUS.invalidArgument, "request is too large") ||
    isStatus(thrown, STATUS.resourceExhausted, "received message larger than max")
  );
}

/** A member that cannot serve although it answers: another endpoint may do better. */
export function isMemberUseless(thrown: unknown): boolean {
  if (!(thrown instanceof RpcFailure) || thrown.kind !== "status") return false;
  return /no leader|server stopped|rpc not supported for learner/.test(thrown.message);
}

function isStatus(thrown: unknown, status: number, text: string): thrown is RpcFailure {
  return thrown instanceof RpcFailure && thrown.status === status && thrown.message.includes(text);
}
