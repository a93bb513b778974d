/** The allocators of cluster IPs and node ports, and the storage keys of their claims. */
import type { Random } from "../../base/random.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { ServedResource } from "../../serving/registry/resource.ts";
import { createClaimPool, type ClaimPool } from "./claims.ts";
import { createIpAddresses, type IpAddresses } from "./ip-addresses.ts";
import type { IpFamily } from "../../meta/ip-address.ts";
import type { IpRange } from "./ip-range.ts";
import type { NumberRange } from "./number-range.ts";

export interface Allocators {
  readonly clusterIps: ClaimPool;
  readonly family: IpFamily;
  readonly nodePorts: ClaimPool;
  readonly ipAddresses: IpAddresses;
  /** Returns the same allocators on another store. */
  on(store: ObjectStore): Allocators;
}

interface AllocatorsOptions {
  readonly store: ObjectStore;
  readonly random: Random;
  /** Ends with a slash. */
  readonly storageRoot: string;
  readonly clusterIpRange: IpRange;
  readonly nodePortRange: NumberRange;
  /** The resource of IPAddress, if the release serves it. */
  readonly ipAddresses: ServedResource | undefined;
}

export function createAllocators(options: AllocatorsOptions): Allocators {
  const { store, random, storageRoot, clusterIpRange, nodePortRange } = options;
  const ipAddresses = createIpAddresses({ store, prefix: `${storageRoot}ipaddresses/`, served: options.ipAddresses });
  // The claims are stored beside kubernetes' bitmaps ranges/serviceips and ranges/servicenodeports, and never replace
  // them.
  const claims = `${storageRoot}ranges/evenkeel/`;
  return {
    clusterIps: createClaimPool({
      store,
      random,
      prefix: `${claims}clusterips/`,
      range: clusterIpRange,
      isReserved: (ip) => ipAddresses.has(ip),
    }),
    family: clusterIpRange.family,
    nodePorts: createClaimPool({
      store,
      random,
      prefix: `${claims}nodeports/`,
      range: nodePortRange,
      isReserved: () => false,
    }),
    ipAddresses,
    on: (other) => createAllocators({ ...options, store: other }),
  };
}
