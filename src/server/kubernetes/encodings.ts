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
    isOwner: peers.identity.isOwner,
    tasks: [
      followUnreadable({ env, config, cache: store.cache, metrics, agreed, reader: `release ${config.release}` }),
    ],
  });
  peers.identity.beforeUnfence((signal) => storageVersions.beforeUnfence(signal));
  publishStorageVersions(custom.table, storageVersions);
  return storageVersions;
}
