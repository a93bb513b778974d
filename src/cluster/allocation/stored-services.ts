/** Reads the cluster IPs and node ports that the stored Services have. */
import { canonicalIp } from "../../meta/ip-address.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { allocatedValuesOf, type AllocatedValues } from "../../objects/kinds/core/services/service-fields.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import type { NumberOwner } from "./number-pool.ts";

export interface ServiceNumbers extends AllocatedValues {
  readonly owner: NumberOwner;
}

export interface StoredServices {
  /** The key prefix of Services, such as "/registry/services/specs/". */
  readonly prefix: string;
  /** Whether a Service in the cache has the address. */
  hasIp(ip: string): boolean;
  /** All Services of the newest revision, those that cannot be decoded included. */
  list(): Promise<readonly Entry[]>;
}

export function createStoredServices(store: ObjectStore, prefix: string): StoredServices {
  const range = { start: prefix, end: prefixEnd(prefix) };
  return {
    prefix,
    hasIp: (ip) =>
      store.cache
        .range(range.start, range.end)
        .some((entry) => entry.corrupt === undefined && numbersOf(entry).ips.includes(ip)),
    list: async () => (await store.list(range, { kind: "newest" })).entries,
  };
}

/** The numbers of a Service that can be decoded. Addresses are in canonical form. */
export function numbersOf(entry: Entry): ServiceNumbers {
  const known = entry.memo.get("numbers") as ServiceNumbers | undefined;
  if (known !== undefined) return known;
  const service = parseEntry(entry);
  const { ips, ports } = allocatedValuesOf(service);
  const numbers = { owner: ownerOf(service), ips: ips.map((ip) => canonicalIp(ip) ?? ip), ports };
  entry.memo.set("numbers", numbers);
  return numbers;
}

export function ownerOf(service: JsonObject): NumberOwner {
  const metadata = objectAt(service, "metadata");
  return { namespace: stringAt(metadata, "namespace"), name: stringAt(metadata, "name") };
}
