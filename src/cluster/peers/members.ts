/** The live servers of a cluster that take part in the agreement on encodings. */
import type { AgreementMember, Members } from "../storageversion/members.ts";
import type { LiveServer } from "./live-servers.ts";
import type { Peers } from "./peers.ts";

export function clusterMembers(peers: Peers, serverId: string, isComplete: () => boolean): Members {
  const { leases } = peers.identity;
  return {
    live() {
      const { servers, overdue } = peers.records.liveness();
      const members: AgreementMember[] = [
        { id: serverId, isPublished: isComplete() },
        ...servers.map((server) => ({ id: server.id, isPublished: hasPublished(server) })),
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

function hasPublished({ record }: LiveServer): boolean {
  return record?.incarnation !== undefined && record.hasPublishedStorageVersions;
}
