/** Lease calls to etcd. Lease IDs are 64-bit numbers in etcd's messages, and decimal strings everywhere else. */
import { type LeaseId, StorageError } from "../kv.ts";
import type { EtcdConnection } from "./connection.ts";
import { isLeaseNotFound, toStorageError } from "./errors.ts";
import { decodeLease, encodeLeaseGrant, encodeLeaseReference, METHOD } from "./messages.ts";

const LEASE_ID_MAX = 2n ** 63n - 1n;

export async function grantLease(connection: EtcdConnection, ttlSeconds: number): Promise<LeaseId> {
  const frame = encodeLeaseGrant(Math.max(1, Math.ceil(ttlSeconds)));
  // The grant counts as idempotent: if it is resent after a lost connection, the first request may leave an unused
  // lease, which expires.
  const { lease } = await requestLease(connection, METHOD.leaseGrant, frame);
  if (!isLeaseId(lease)) throw new StorageError("corrupt", "etcd granted a lease without an id");
  return lease;
}

export async function keepLeaseAlive(connection: EtcdConnection, lease: LeaseId): Promise<void> {
  requireLeaseId(lease);
  const { ttlSeconds } = await requestLease(connection, METHOD.leaseKeepAlive, encodeLeaseReference(lease));
  if (ttlSeconds <= 0) throw leaseNotFound(lease);
}

export async function revokeLease(connection: EtcdConnection, lease: LeaseId): Promise<void> {
  if (!isLeaseId(lease)) return;
  const frame = encodeLeaseReference(lease);
  try {
    await connection.request({ method: METHOD.leaseRevoke, frame, isIdempotent: true });
  } catch (thrown) {
    if (!(thrown instanceof StorageError && isLeaseNotFound(thrown.cause))) throw thrown;
  }
}

/**
 * Throws if the ID is malformed, because no lease can have such an ID. ID 0 must not be sent: to etcd it means "no
 * lease".
 */
export function requireLeaseId(lease: LeaseId): void {
  if (!isLeaseId(lease)) throw leaseNotFound(lease);
}

async function requestLease(
  connection: EtcdConnection,
  method: string,
  frame: Buffer,
): Promise<ReturnType<typeof decodeLease>> {
  const response = await connection.request({ method, frame, isIdempotent: true });
  try {
    return decodeLease(response);
  } catch (thrown) {
    throw toStorageError(thrown);
  }
}

function isLeaseId(lease: LeaseId): boolean {
  return /^[1-9][0-9]{0,18}$/.test(lease) && BigInt(lease) <= LEASE_ID_MAX;
}

function leaseNotFound(lease: LeaseId): StorageError {
  return new StorageError("lease-not-found", `lease ${JSON.stringify(lease)} does not exist`);
}
