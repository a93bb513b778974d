/** Views of a cluster for tests. The default view contains one server of release 1.35 and no peers. */
import { createServedSet } from "../../../../src/cluster/peers/served-set.ts";
import type { ClusterView, PeerView } from "../../../../src/cluster/peers/view.ts";
import { documentOf, type ShortDocument } from "./documents.ts";

export interface ViewParts extends Partial<Omit<ClusterView, "local">> {
  readonly local?: ShortDocument;
}

export function viewOf({ local = {}, ...parts }: ViewParts = {}): ClusterView {
  return {
    self: { id: "self", release: "1.35" },
    isSynced: true,
    missingFlag: undefined,
    peers: [],
    departed: () => undefined,
    isDecidedLocally: () => false,
    supports: () => false,
    ...parts,
    local: createServedSet(documentOf(local)),
  };
}

export interface PeerParts extends Partial<Omit<PeerView, "document">> {
  /** Resources that the peer serves; undefined if it has not published its discovery document yet. */
  readonly serves?: ShortDocument | undefined;
}

/** A peer that is reachable and serves nothing, except for the parts that are given. */
export function peerOf(id: string, parts: PeerParts = {}): PeerView {
  const { serves, ...rest } = { serves: {}, ...parts };
  return {
    id,
    release: "1.36",
    address: { host: "127.0.0.1", port: 6443 },
    isReachable: true,
    isDraining: false,
    isDescribed: serves !== undefined,
    ...rest,
    document: serves === undefined ? undefined : { served: createServedSet(documentOf(serves)), confirmedAtMs: 0 },
  };
}
