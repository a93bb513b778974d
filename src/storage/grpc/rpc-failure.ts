/** The ways in which a gRPC call fails. */

/**
 * - `unsent`: no byte of the call left this process, so any call may be resent.
 * - `lost`: the connection or the stream ended before the response; the server may or may not have executed the call.
 * - `deadline`: no response arrived in time; the server may or may not have executed the call.
 * - `status`: the server responded with an error.
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
  unknown: 2,
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const;
