/**
 * Reconciles the records of allocated numbers with the stored Services, as kube-apiserver's repair does. It adds what
 * Services lack, and releases what no Service has.
 */
import type { Clock } from "../../base/clock.ts";
import { familyOf } from "../../meta/ip-address.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import { indexesIn, type Allocators } from "./allocators.ts";
import type { RangeRecord } from "./range-record.ts";
import { repairAddresses, type Suspects } from "./repair-addresses.ts";
import { describeBit, describePort, invalidIps, type Finding } from "./repair-findings.ts";
import { repairRecord } from "./repair-record.ts";

/** The findings of earlier repairs. */
export interface RepairState {
  readonly leaks: Map<string, number>;
  readonly suspects: Suspects;
}

export interface RepairReport {
  /** The findings that this release reports. */
  readonly findings: readonly Finding[];
  /** Numbers that were released because no Service has them. */
  readonly released: readonly string[];
}

export interface RepairParts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly allocators: Allocators;
}

export async function repairAllocations(parts: RepairParts, state: RepairState): Promise<RepairReport> {
  const { allocators } = parts;
  const { clusterIps, nodePorts, records, services, usesServiceCidrs } = allocators;
  const markRepaired = records.repairing();
  const { usesBitmap, usesAddresses } = records.current();
  const { leaks, suspects } = state;
  const ports = await repairRecord({
    allocators,
    leaks,
    record: nodePorts.record,
    range: nodePorts.range,
    numbersIn: (service) => service.ports.map(String),
    describe: describePort(nodePorts.range),
    isOfIps: false,
  });
  const bits = [];
  for (const { record, bitmapRange: range, family } of usesBitmap ? clusterIps : []) {
    const numbersIn = ({ ips }: { ips: readonly string[] }): string[] => ips.filter((ip) => familyOf(ip) === family);
    bits.push(
      await repairRecord({ allocators, leaks, record, range, numbersIn, describe: describeBit(range), isOfIps: true }),
    );
  }
  const addresses = await repairAddresses({ ...parts, suspects, usesAddresses });
  markRepaired();
  const known = (await services.list()).filter(({ corrupt }) => corrupt === undefined);
  // A release reports the records that it uses itself. Those that it maintains for other releases are only repaired.
  const ips = usesServiceCidrs ? [addresses] : bits;
  return {
    findings: [
      ...[ports, ...ips].flatMap(({ findings }) => findings),
      // A release with ServiceCIDRs has reported an address of another family as out of range.
      ...invalidIps(known, usesServiceCidrs ? ["IPv4", "IPv6"] : clusterIps.map(({ family }) => family)),
    ],
    released: [ports, ...bits, addresses].flatMap(({ released }) => released),
  };
}

/**
 * Removes the claims of earlier versions of this project, after a repair has recorded the numbers of all Services.
 * Several servers may do so at once. The numbers of claims without a Service are recorded first, because such a Service
 * may be being written; the repair releases them later.
 */
export async function convertClaims({ store, allocators }: RepairParts): Promise<number> {
  const { claimPrefix, nodePorts, clusterIps, records } = allocators;
  const { entries } = await store.list({ start: claimPrefix, end: prefixEnd(claimPrefix) }, { kind: "newest" });
  if (entries.length === 0) return 0;
  const numbers = (kind: string): string[] =>
    entries
      .filter(({ key }) => key.startsWith(`${claimPrefix}${kind}/`))
      .map(({ key }) => key.slice(claimPrefix.length + kind.length + 1));
  const record = (to: RangeRecord, indexes: readonly number[]): Promise<void> =>
    to.change((allocated) => ({ next: allocated.with(indexes), result: undefined }));
  await record(nodePorts.record, indexesIn(nodePorts.range, numbers("nodeports")));
  for (const { record: bitmap, bitmapRange } of records.current().usesBitmap ? clusterIps : [])
    await record(bitmap, indexesIn(bitmapRange, numbers("clusterips")));
  for (const entry of entries) await store.remove(entry);
  return entries.length;
}
