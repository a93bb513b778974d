/** Joins identity leases and endpoint records into the list of known peers. Pure functions. */
import type { EndpointRecord, EndpointTable } from "./endpoint-record.ts";
import type { KnownPeer } from "./tracked-peer.ts";
import type { PeerView } from "./view.ts";
import type { Identity } from "./identity.ts";

export function knownPeers({ leases }: Identity, table: EndpointTable): KnownPeer[] {
  return leases.known().map(({ id, incarnation: leased }) => {
    const record = table.get(id);
    // Only the draining state is taken from a record of an earlier run, because its address may be outdated and the
    // current run is not ready yet.
    const isCurrent = isSameRun(record, leased);
    return {
      id,
      incarnation: leased === "" ? record?.incarnation : leased,
      release: isCurrent ? record?.release : undefined,
      binaryVersion: isCurrent ? record?.binaryVersion : undefined,
      address: isCurrent ? record?.address : undefined,
      isDraining: record?.state === "draining",
      documentHash: isCurrent ? record?.document : undefined,
    };
  });
}

/**
 * Whether the current run of a peer has registered its storage versions. A server that registers them writes its
 * endpoint record afterwards, so without a record the registration is pending.
 */
export function registrationOf(
  { leases }: Identity,
  table: EndpointTable,
  id: string,
): "complete" | "never" | "pending" {
  const record = table.get(id);
  const lease = leases.known().find((known) => known.id === id);
  if (record === undefined || !isSameRun(record, lease?.incarnation ?? "")) return "pending";
  return record.hasPublishedStorageVersions ? "complete" : "never";
}

/**
 * Whether the endpoint record belongs to the run that holds the lease. True also if there is no record, or if the
 * record or the lease names no run.
 */
function isSameRun(record: EndpointRecord | undefined, leased: string): boolean {
  return record?.incarnation === undefined || leased === "" || record.incarnation === leased;
}

export function recordOwner(table: EndpointTable, id: string, incarnation: string): "this" | "other" | "nobody" {
  const record = table.get(id);
  if (record === undefined) return "nobody";
  return record.incarnation === incarnation ? "this" : "other";
}

/** The views of peers on a server that cannot call any peer. */
export function unreachable(known: readonly KnownPeer[]): PeerView[] {
  return known.map(({ id, release, address, isDraining }) => ({
    id,
    release,
    address,
    isDraining,
    isReachable: false,
    isDescribed: false,
    document: undefined,
  }));
}
