/**
 * Publishes IPAddress objects, by which releases that have this kind show the service of each cluster IP. They are
 * derived from the claims and written after them. If another client created an IPAddress, its address is not allocated
 * to services.
 */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { prefixEnd, type Guard } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { encodeForStorage } from "../../serving/registry/representation.ts";
import { writeEncoded } from "../../serving/registry/write-encoded.ts";
import type { ServedResource } from "../../serving/registry/resource.ts";
import { familyOf } from "../../meta/ip-address.ts";

export interface IpAddresses {
  /**
   * Undefined if the release does not have the kind. Such a server publishes no IPAddress, but still deletes those that
   * other servers published.
   */
  readonly served: ServedResource | undefined;
  /** Whether the cache has an IPAddress for this IP, created by any client. */
  has(ip: string): boolean;
  find(ip: string): Promise<Entry | undefined>;
  /** Lists the IPAddress objects that servers created; those of users are omitted. */
  listPublished(): Promise<readonly Entry[]>;
  /** `prepare` sets uid and timestamps of the object. */
  publish(
    ip: string,
    parent: Parent,
    prepare: (served: ServedResource, object: JsonObject) => JsonObject,
  ): Promise<void>;
  /** Deletes the object, unless it has been written since it was read or a guard does not hold. */
  withdraw(entry: Entry, guards?: readonly Guard[]): Promise<void>;
  ipOf(entry: Entry): string;
}

interface Parent {
  readonly namespace: string;
  readonly name: string;
}

const MANAGED_BY = "ipaddress.kubernetes.io/managed-by";
const IP_FAMILY = "ipaddress.kubernetes.io/ip-family";
const ALLOCATOR = "ipallocator.k8s.io";

export function createIpAddresses(options: {
  readonly store: ObjectStore;
  readonly prefix: string;
  readonly served: ServedResource | undefined;
}): IpAddresses {
  const { store, prefix, served } = options;
  return {
    served,
    has: (ip) => store.cache.get(prefix + ip) !== undefined,
    find: (ip) => store.get(prefix + ip, { kind: "newest" }),
    async listPublished() {
      const { entries } = await store.list({ start: prefix, end: prefixEnd(prefix) }, { kind: "newest" });
      return entries.filter((entry) => entry.labels[MANAGED_BY] === ALLOCATOR);
    },
    async publish(ip, parent, prepare) {
      if (served === undefined) return;
      const object = prepare(served, {
        metadata: { name: ip, labels: { [IP_FAMILY]: familyOf(ip), [MANAGED_BY]: ALLOCATOR } },
        spec: { parentRef: { resource: "services", namespace: parent.namespace, name: parent.name } },
      });
      await writeEncoded(served, async (version, guards) =>
        store.create(prefix + ip, await encodeForStorage(object, served, version), undefined, guards),
      );
    },
    async withdraw(entry, guards) {
      await store.remove(entry, guards);
    },
    ipOf: (entry) => entry.key.slice(prefix.length),
  };
}

/**
 * The service to which the address belongs. The stored version does not matter, because all versions have the same
 * fields.
 */
export function parentOf(entry: Entry): Parent | undefined {
  if (entry.corrupt !== undefined) return undefined;
  const parent = objectAt(parseEntry(entry), "spec")["parentRef"];
  if (!isJsonObject(parent) || parent["resource"] !== "services" || stringAt(parent, "group") !== "") return undefined;
  return { namespace: stringAt(parent, "namespace"), name: stringAt(parent, "name") };
}

export function isFor(entry: Entry, { namespace, name }: Parent): boolean {
  const parent = parentOf(entry);
  return parent?.namespace === namespace && parent.name === name;
}
