/** The live servers of a cluster that take part in the agreement on encodings. */
import { isReleaseName } from "../../objects/catalog/release.ts";
import type { ImpliedStorage } from "../storageversion/implied-entries.ts";
import type { AgreementMember, Members } from "../storageversion/members.ts";
import type { KubeVersion } from "./kube-facts.ts";
import type { LiveServer } from "./live-servers.ts";
import type { Peers } from "./peers.ts";
import type { PeerView } from "./view.ts";

export function clusterMembers(peers: Peers, serverId: string, isComplete: () => boolean): Members {
  const { leases } = peers.identity;
  const impliedBy = impliedOnce();
  return {
    live() {
      const { servers, overdue } = peers.records.liveness();
      const implied = new Map(peers.view().peers.map((peer) => [peer.id, impliedBy(peer)]));
      const members: AgreementMember[] = [
        { id: serverId, isPublished: isComplete() },
        ...servers.map((server) => memberOf(server, implied.get(server.id))),
        // The cluster does not wait for a server that does not become ready. It is kept as a member, because it may have
        // published entries. It cannot write before it has published.
        ...overdue.map(({ id }) => ({ id, isPublished: true })),
        // Servers of other components do not take part, because they store none of this component's resources.
        ...leases.otherComponents().map(({ id, component }) => ({ id, component, isPublished: true })),
      ];
      return new Map(members.map((member) => [member.id, member]));
    },
    catchUp: peers.catchUp,
    onChange: (listener) => peers.documents.onChange(listener),
  };
}

/** The entries of a kube-apiserver follow from its release, so it counts as published as soon as its release is known. */
function memberOf({ id, record }: LiveServer, implied: ImpliedStorage | undefined): AgreementMember {
  const hasPublished = record?.incarnation !== undefined && record.hasPublishedStorageVersions;
  return { id, isPublished: hasPublished || implied !== undefined, implied };
}

/** Returns the same value for a peer until something changes: callers see by it whether they must look again. */
function impliedOnce(): (peer: PeerView) => ImpliedStorage | undefined {
  const known = new WeakMap<PeerView, ImpliedStorage | undefined>();
  return (peer) => {
    if (!known.has(peer)) known.set(peer, impliedStorage(peer));
    return known.get(peer);
  };
}

/** Undefined if the release or the document is not known, or the release is not in the catalog of this server. */
function impliedStorage({ kube, document }: PeerView): ImpliedStorage | undefined {
  if (kube === undefined || document === undefined) return undefined;
  const { release, binary, minCompatibility = release } = kube.version ?? unemulated(kube.assumedRelease ?? "");
  if (!isReleaseName(release) || !isReleaseName(binary) || !isReleaseName(minCompatibility)) return undefined;
  const serves: ImpliedStorage["serves"] = (question) => document.served.has({ ...question, subresource: "" });
  // A server may write other versions than its release by default, if its minimum compatibility version was set.
  if (release === binary && kube.version?.minCompatibility === undefined) return { release, serves };
  const emulation = { binary, minCompatibility, isForwardCompatible: false, isRuntimeConfigForwardCompatible: false };
  return { release, emulation, serves };
}

function unemulated(release: string): Pick<KubeVersion, "release" | "binary" | "minCompatibility"> {
  return { release, binary: release, minCompatibility: undefined };
}
