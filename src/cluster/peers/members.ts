/** Lists the live servers for the agreement on encodings, and whether each has published its storage versions. */
import type { AgreementMember, Members } from "../storageversion/members.ts";
import type { Peers } from "./peers.ts";

export function clusterMembers(peers: Peers, serverId: string, isComplete: () => boolean): Members {
  const { leases } = peers.identity;
  return {
    live() {
      const others = leases.known().map(({ id, incarnation }): [string, AgreementMember] => {
        const record = peers.records.endpoint(id);
        const isCurrent = record?.incarnation !== undefined && record.incarnation === incarnation;
        return [id, { id, isPublished: isCurrent && record.hasPublishedStorageVersions }];
      });
      // Servers of other components count as published, because no server waits for their entries: they store none of
      // this component's resources.
      const otherComponents = leases
        .otherComponents()
        .map(({ id, component }): [string, AgreementMember] => [id, { id, component, isPublished: true }]);
      return new Map([[serverId, { id: serverId, isPublished: isComplete() }], ...others, ...otherComponents]);
    },
    catchUp: peers.catchUp,
    onChange: (listener) => peers.documents.onChange(listener),
  };
}
