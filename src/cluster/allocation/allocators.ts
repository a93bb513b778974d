/** The allocators of cluster IPs and node ports, and the storage keys of their records. */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import { familyOf, type IpFamily } from "../../meta/ip-address.ts";
import type { ServedResource } from "../../serving/registry/resource.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import { createClusterIps, type ClusterIps } from "./cluster-ips.ts";
import { createIpAddresses, type IpAddresses } from "./ip-addresses.ts";
import type { IpRange } from "./ip-range.ts";
import { createNodePorts, type NodePorts } from "./node-ports.ts";
import type { NumberRange } from "./number-range.ts";
import { createRecordsInUse, type NumberRecords, type RecordsInUse } from "./number-records.ts";
import { createRangeRecord } from "./range-record.ts";
import { serviceCidrsOf, type ServiceCidrRange } from "./service-cidrs.ts";
import { createStoredServices, numbersOf, type StoredServices } from "./stored-services.ts";

export interface Allocators {
  /** One allocator for each family of the cluster; the first is that of the default family. */
  readonly clusterIps: readonly ClusterIps[];
  readonly nodePorts: NodePorts;
  readonly ipAddresses: IpAddresses;
  readonly services: StoredServices;
  readonly records: RecordsInUse;
  /** Whether this release allocates from ServiceCIDRs. */
  readonly usesServiceCidrs: boolean;
  /** Whether an address is in a ServiceCIDR, which need not be ready; without ServiceCIDRs, in a configured range. */
  isInRange(ip: string): boolean;
  /** The key prefix of the claims that earlier versions of this project wrote instead of kube-apiserver's records. */
  readonly claimPrefix: string;
}

interface AllocatorsOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends with a slash. */
  readonly storageRoot: string;
  /** The configured ranges, the default one first; of different families. */
  readonly clusterIpRanges: readonly IpRange[];
  readonly nodePortRange: NumberRange;
  readonly usesServiceCidrs: boolean;
  /** The resource of IPAddress, if the release serves it. */
  readonly ipAddresses: ServedResource | undefined;
  /** The records that the live servers use. */
  readonly liveRecords: () => NumberRecords;
}

/** The last parts of the keys of the bitmaps, in the order of the configured ranges. */
const BITMAPS = ["serviceips", "secondaryserviceips"] as const;

export function createAllocators(options: AllocatorsOptions): Allocators {
  const { store, clock, random, storageRoot, clusterIpRanges, nodePortRange, usesServiceCidrs } = options;
  const served = options.ipAddresses;
  const ipAddresses = createIpAddresses({ store, clock, random, prefix: `${storageRoot}ipaddresses/`, served });
  const services = createStoredServices(store, `${storageRoot}services/specs/`);
  const records = createRecordsInUse(options.liveRecords);
  const claimPrefix = `${storageRoot}ranges/evenkeel/`;
  const cidrsOf = (family: IpFamily): readonly ServiceCidrRange[] | undefined =>
    usesServiceCidrs ? serviceCidrsOf(store.cache, `${storageRoot}servicecidrs/`, family) : undefined;
  const clusterIps = clusterIpRanges.map((range, index) => {
    const family: ClusterIps = createClusterIps({
      range,
      record: createRangeRecord({
        store,
        key: `${storageRoot}ranges/${BITMAPS[index]}`,
        range: range.text,
        async inUse() {
          const inServices = (await services.list()).filter(isDecoded).flatMap((entry) => numbersOf(entry).ips);
          const inAddresses = (await ipAddresses.listAll()).map((entry) => ipAddresses.ipOf(entry));
          return indexesIn(family.bitmapRange, [...inServices, ...inAddresses]);
        },
      }),
      serviceCidrs: () => cidrsOf(range.family),
      addresses: ipAddresses,
      records: () => records.current(),
      isInUse: (ip) => services.hasIp(ip),
      isClaimed: (ip) => store.cache.get(`${claimPrefix}clusterips/${ip}`) !== undefined,
      random,
      clock,
    });
    return family;
  });
  const nodePorts = createNodePorts({
    range: nodePortRange,
    record: createRangeRecord({
      store,
      key: `${storageRoot}ranges/servicenodeports`,
      range: nodePortRange.text,
      async inUse() {
        const ports = (await services.list()).filter(isDecoded).flatMap((entry) => numbersOf(entry).ports);
        return indexesIn(nodePortRange, ports.map(String));
      },
    }),
    isClaimed: (port) => store.cache.get(`${claimPrefix}nodeports/${port}`) !== undefined,
    random,
    clock,
  });
  const isInRange = (ip: string): boolean => {
    const family = familyOf(ip);
    const cidrs = family && cidrsOf(family)?.map(({ range }) => range);
    return (cidrs ?? clusterIpRanges).some((range) => range.indexOf(ip) !== undefined);
  };
  return { clusterIps, nodePorts, ipAddresses, services, records, usesServiceCidrs, isInRange, claimPrefix };
}

function isDecoded({ corrupt }: { readonly corrupt: string | undefined }): boolean {
  return corrupt === undefined;
}

/** The indexes of the numbers that are in the range. */
export function indexesIn(range: NumberRange, numbers: readonly string[]): number[] {
  return numbers.map((number) => range.indexOf(number)).filter((index) => index !== undefined);
}
