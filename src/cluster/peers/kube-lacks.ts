/**
 * Lists, for `evenkeel status`, what a kube-apiserver does not publish or do, and what the other servers assume
 * instead. Without this list, nobody would see why a kube-apiserver is called at a guessed address or never calls its
 * peers.
 */
import type { LiveServer } from "./live-servers.ts";
import type { PeerView } from "./view.ts";

export interface KubeEvidence {
  /** Why the server counts as live; undefined if it is no longer live. */
  readonly evidence: LiveServer["evidence"] | undefined;
  /** Whether the server has published storage versions itself; undefined if this server does not use them. */
  readonly publishesStorageVersions: boolean | undefined;
}

/** Clauses without a subject, such as "writes no endpoint record". Empty for an Evenkeel server. */
export function kubeLacks(peer: PeerView, { evidence, publishesStorageVersions }: KubeEvidence): string[] {
  const { kube } = peer;
  if (kube === undefined) return [];
  return [
    recordLack(evidence),
    kube.proxiesToPeers === false ? proxyLack(evidence) : undefined,
    peer.isDescribed && publishesStorageVersions === false ? storageLack(peer) : undefined,
    peer.isDescribed && kube.version === undefined ? releaseLack(kube.assumedRelease) : undefined,
  ].filter((lack) => lack !== undefined);
}

function recordLack(evidence: KubeEvidence["evidence"]): string | undefined {
  switch (evidence) {
    case "flag":
      return "writes no endpoint record (its address is that of --peer-server)";
    case "masterlease":
      return "writes no endpoint record (its address is that of a masterlease, which does not name it; to pair them, set --peer-server)";
    case "doubt":
      return "has only an identity lease, which counts for 30 s (if it is a server, set --peer-server)";
    default:
      return undefined;
  }
}

function proxyLack(evidence: KubeEvidence["evidence"]): string {
  return evidence === "record"
    ? "does not proxy requests to other servers (--peer-ca-file is not set on it)"
    : "does not proxy requests to other servers";
}

function storageLack({ release, kube }: PeerView): string {
  const known = release ?? kube?.assumedRelease;
  return known === undefined
    ? "publishes no storage versions (its release is unknown, so no migration runs)"
    : `publishes no storage versions (those of release ${known} count)`;
}

function releaseLack(assumed: string | undefined): string {
  return assumed === undefined
    ? "does not report its release"
    : `does not report its release (${assumed} is assumed from its discovery document)`;
}
