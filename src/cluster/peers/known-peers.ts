/** Joins identity leases and endpoint records into the list of known peers. Pure. */
import type { EndpointRecord } from "./endpoint-record.ts";
import type { EndpointTable } from "./endpoint-registry.ts";
import type { KnownPeer } from "./tracked-peer.ts";
import type { PeerView } from "./view.ts";
import type { Identity } from "./identity.ts";

export function knownPeers({ leases }: Identity, table: EndpointTable): KnownPeer[] {
  return leases.known().map(({ id, incarnation: leased }) => {
    const record = table.get(id);
    // The record of an earlier run has an outdated address, or the address of a server that is not ready yet.
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
 * A server writes its record when it is ready, and if it registers storage versions, it is not ready before it has done
 * so.
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

/** As far as lease and record show it. */
function isSameRun(record: EndpointRecord | undefined, leased: string): boolean {
  return record?.incarnation === undefined || leased === "" || record.incarnation === leased;
}

export function recordOwner(table: EndpointTable, id: string, incarnation: string): "this" | "other" | "nobody" {
  const record = table.get(id);
  if (record === undefined) return "nobody";
  return record.incarnation === incarnation ? "this" : "other";
}

/** The peers of a server that cannot call any. */
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
