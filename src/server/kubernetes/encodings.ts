/** Connects the server to the agreement on encodings: the API version in which servers store each resource. */
import { followUnreadable } from "../../cluster/inspect/unreadable-objects.ts";
import { clusterMembers } from "../../cluster/peers/members.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { createAgreement, type StorageVersions } from "../../cluster/storageversion/create-storage-versions.ts";
import { standOutsideAgreement } from "../../cluster/storageversion/outside-agreement.ts";
import { publishStorageVersions } from "../../extensions/crd/serving/connect-crds.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";
import type { KubernetesResources } from "./resources.ts";

export interface Joined {
  readonly resources: KubernetesResources;
  readonly peers: Peers;
}

/**
 * Returns undefined if this server takes no part in the agreement on encodings. Such a server marks every
 * StorageVersion as having no agreement before it accepts writes.
 */
export function agreeOnEncodings(
  on: Foundation,
  store: ServerStore,
  { resources, peers }: Joined,
): StorageVersions | undefined {
  const { env, config, metrics, loopback } = on;
  const { agreed, custom } = resources;
  const { serverId } = config.peers;
  if (agreed === undefined) {
    peers.identity.beforeUnfence(() => standOutsideAgreement({ kv: store.kv, clock: env.clock, config }));
    return undefined;
  }
  const storageVersions = createAgreement({
    env,
    metrics,
    cache: store.cache,
    client: loopback.client,
    serverId,
    agreed,
    members: (isComplete) => clusterMembers(peers, serverId, isComplete),
    withheldBecause: () => withheldBecause(peers, serverId),
    tasks: [
      followUnreadable({ env, config, cache: store.cache, metrics, agreed, reader: `release ${config.release}` }),
    ],
  });
  peers.identity.beforeUnfence((signal) => storageVersions.beforeUnfence(signal));
  publishStorageVersions(custom.table, storageVersions);
  return storageVersions;
}

/**
 * A process that does not own the ID must not publish entries under it. Without a record, the other servers treat this
 * server as departed, and would drop its entries as soon as they are written: after a restore of the store, for example.
 */
function withheldBecause({ identity, records }: Peers, serverId: string): string | undefined {
  if (!identity.isOwner()) return "duplicate server ID";
  return records.has(serverId) ? undefined : "the store has no record of this server yet";
}
