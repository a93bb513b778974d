/** Creates the reconciler of the endpoints of the kubernetes Service. */
import { EndpointReconciler } from "../../cluster/bootstrap/endpoint-reconciler.ts";
import { servedVersions } from "../../cluster/bootstrap/served-version.ts";
import { contestedCall } from "../../cluster/controller-runtime/contested-transport.ts";
import type { ContestedWrites } from "../../cluster/controller-runtime/contested-writes.ts";
import { LeasedRecord } from "../../cluster/peers/leased-record.ts";
import { encodeMasterLease, masterLeaseKey } from "../../cluster/peers/master-leases.ts";
import type { Peers } from "../../cluster/peers/peers.ts";
import { leasedRecordStore } from "../../cluster/peers/private-records.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";
import type { KubernetesResources } from "./resources.ts";

/** Undefined if this server is no endpoint of the Service. */
export function createKubernetesEndpoints(
  on: Foundation,
  store: ServerStore,
  {
    resources,
    peers,
    contested,
  }: { readonly resources: KubernetesResources; readonly peers: Peers; readonly contested: ContestedWrites },
): EndpointReconciler | undefined {
  const { env, config, loopback, lifecycle, address: listening } = on;
  const { clock, random, log } = env;
  const { published, storageRoot } = config;
  if (published?.address === undefined) return undefined;
  const { address: host, port } = published;
  const { endpoints, masterLeases } = peers.records;
  const { serverId, timing } = config.peers;
  return new EndpointReconciler({
    call: contestedCall(loopback.callAsServer, contested),
    clock,
    log,
    serves: servedVersions(resources.catalog),
    clusterIp: config.serviceClusterIpRanges[0].nameAt(0),
    masterLeases,
    ownMasterLease: (ip) =>
      new LeasedRecord({
        name: "masterlease",
        store: leasedRecordStore(store.kv, store.cache),
        key: masterLeaseKey(storageRoot, ip),
        clock,
        random,
        log,
        timing,
        content: { ip },
        encode: (content, generation) => encodeMasterLease({ ...content, generation }),
        storedGeneration: () => masterLeases.get(ip)?.generation,
        isOwner: () => true,
      }),
    hasMasterLease: async (ip) => (await store.kv.range({ start: masterLeaseKey(storageRoot, ip) })).count > 0,
    peers: () => endpoints().flatMap(({ id, address }) => (id === serverId || address === undefined ? [] : [address])),
    address: listening.announced.then((text) => ({ host, port: port ?? portOf(text) })),
    ready: lifecycle.ready,
  });
}

/** The port in "host:port". */
export function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(":") + 1));
}
