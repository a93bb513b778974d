/** Turns the live servers into the peers that are tracked and routed to. Pure functions. */
import { authorityOf } from "../../serving/http/upstream.ts";
import type { EndpointTable } from "./endpoint-record.ts";
import type { LiveServer } from "./live-servers.ts";
import type { KnownPeer } from "./tracked-peer.ts";
import type { KubeView, PeerView } from "./view.ts";

export function knownPeers(servers: readonly LiveServer[]): KnownPeer[] {
  return servers.map(({ id, incarnation, address, record, release, isIdGuessed }) => ({
    id,
    calledAt: isIdGuessed === true ? address && authorityOf(address) : undefined,
    incarnation,
    recordedRun: record?.incarnation,
    isKubeApiserver: release === undefined,
    release: record?.release,
    binaryVersion: record?.binaryVersion,
    address,
    isDraining: record?.state === "draining",
    documentHash: record?.document,
  }));
}

/**
 * Whether the current run of a peer has registered its storage versions. A server that registers them writes its
 * endpoint record afterwards, so without a record the registration is pending, unless the peer has an address and
 * thus writes no record.
 */
export function registrationOf(servers: readonly LiveServer[], id: string): "complete" | "never" | "pending" {
  const { record, address } = servers.find((server) => server.id === id) ?? {};
  if (record !== undefined) return record.hasPublishedStorageVersions ? "complete" : "never";
  return address === undefined ? "pending" : "never";
}

/** Which process owns the endpoint record under this ID. */
export function recordOwner(table: EndpointTable, id: string, incarnation: string): "this" | "other" | "nobody" {
  const record = table.get(id);
  if (record === undefined) return "nobody";
  return record.incarnation === incarnation ? "this" : "other";
}

const NOTHING_READ: KubeView = { version: undefined, assumedRelease: undefined, proxiesToPeers: undefined };

/** The views of peers on a server that cannot call any peer. */
export function unreachable(known: readonly KnownPeer[]): PeerView[] {
  return known.map(({ id, calledAt, isKubeApiserver, release, address, isDraining }) => ({
    id,
    calledAt,
    release,
    kube: isKubeApiserver ? NOTHING_READ : undefined,
    address,
    isDraining,
    isReachable: false,
    isDescribed: false,
    document: undefined,
  }));
}
