/**
 * Creates and deletes the IPAddress objects of cluster IPs. An address with an IPAddress is allocated, also if a user
 * created the object.
 */
import type { Clock } from "../../base/clock.ts";
import { randomUuid, type Random } from "../../base/random.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { prefixEnd, type Guard } from "../../storage/kv.ts";
import type { ObjectStore, WriteResult } from "../../storage/object-store.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { timestamp } from "../../serving/registry/context.ts";
import { encodeForStorage } from "../../serving/registry/representation.ts";
import { writeEncoded } from "../../serving/registry/write-encoded.ts";
import type { ServedResource } from "../../serving/registry/resource.ts";
import { familyOf } from "../../meta/ip-address.ts";

export interface IpAddresses {
  keyOf(ip: string): string;
  /** Whether the cache has an IPAddress for this IP, created by any client. */
  has(ip: string): boolean;
  /** The IPAddress in the cache. */
  known(ip: string): Entry | undefined;
  find(ip: string): Promise<Entry | undefined>;
  /** Lists the IPAddress objects that servers created; those of users are omitted. */
  listPublished(): Promise<readonly Entry[]>;
  /** Lists all IPAddress objects. */
  listAll(): Promise<readonly Entry[]>;
  /** Creates the object; undefined if one exists or a guard does not hold. */
  publish(ip: string, parent: Parent, guards?: readonly Guard[]): Promise<Entry | undefined>;
  /** Replaces the object; undefined if it has been written since it was read or a guard does not hold. */
  rewrite(entry: Entry, parent: Parent, guards?: readonly Guard[]): Promise<Entry | undefined>;
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

/** All releases that use IPAddress objects can decode this version, those of 1.31 and 1.32 that are configured to included. */
const API_VERSION = "networking.k8s.io/v1beta1";

interface IpAddressesOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly prefix: string;
  /** The resource of IPAddress; undefined if the release does not serve it. */
  readonly served: ServedResource | undefined;
}

export function createIpAddresses(options: IpAddressesOptions): IpAddresses {
  const { store, prefix } = options;
  const keyOf = (ip: string): string => prefix + ip;
  return {
    keyOf,
    has: (ip) => store.cache.get(keyOf(ip)) !== undefined,
    known: (ip) => store.cache.get(keyOf(ip)),
    find: (ip) => store.get(keyOf(ip), { kind: "newest" }),
    async listPublished() {
      const { entries } = await store.list({ start: prefix, end: prefixEnd(prefix) }, { kind: "newest" });
      return entries.filter(isPublished);
    },
    async listAll() {
      return (await store.list({ start: prefix, end: prefixEnd(prefix) }, { kind: "newest" })).entries;
    },
    async publish(ip, parent, guards = []) {
      const result = await write(options, { object: newIpAddress(options, ip, parent), guards });
      return result.committed ? result.entry : undefined;
    },
    async rewrite(entry, parent, guards = []) {
      const object = newIpAddress(options, entry.key.slice(prefix.length), parent);
      const result = await write(options, { object, guards, before: entry });
      return result.committed ? result.entry : undefined;
    },
    async withdraw(entry, guards) {
      await store.remove(entry, guards);
    },
    ipOf: (entry) => entry.key.slice(prefix.length),
  };
}

/** A release that does not serve the kind takes no part in the agreement on its encoding. */
function write(
  { store, prefix, served }: IpAddressesOptions,
  { object, guards, before }: { object: JsonObject; guards: readonly Guard[]; before?: Entry },
): Promise<WriteResult> {
  const key = prefix + stringAt(objectAt(object, "metadata"), "name");
  const put = async (value: Buffer, encoding: readonly Guard[] = []): Promise<WriteResult> => {
    const all = [...encoding, ...guards];
    const result = await (before === undefined
      ? store.create(key, value, undefined, all)
      : store.replace(before, value, undefined, all));
    // A guard on the encoding is renewed and the write repeated; any other guard ends the write.
    const isFinal = !result.committed && guards.some((guard) => guard.key === result.lostGuard);
    return isFinal ? { ...result, lostGuard: undefined } : result;
  };
  if (served === undefined) return put(Buffer.from(JSON.stringify(object)));
  return writeEncoded(served, async (version, guard) => put(await encodeForStorage(object, served, version), guard));
}

function newIpAddress({ clock, random, served }: IpAddressesOptions, ip: string, parent: Parent): JsonObject {
  const { namespace, name } = parent;
  return {
    kind: "IPAddress",
    apiVersion: served?.apiVersion ?? API_VERSION,
    metadata: {
      name: ip,
      uid: randomUuid(random),
      creationTimestamp: timestamp(clock),
      labels: { [IP_FAMILY]: familyOf(ip), [MANAGED_BY]: ALLOCATOR },
    },
    spec: { parentRef: { resource: "services", namespace, name } },
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

/** Whether a server has created the object; otherwise a user has. */
export function isPublished({ labels }: Entry): boolean {
  return labels[MANAGED_BY] === ALLOCATOR;
}

/** Whether the object has the labels that the allocator sets. */
export function hasLabels({ key, labels }: Entry): boolean {
  return labels[MANAGED_BY] === ALLOCATOR && labels[IP_FAMILY] === familyOf(key.slice(key.lastIndexOf("/") + 1));
}

export function isFor(entry: Entry, { namespace, name }: Parent): boolean {
  const parent = parentOf(entry);
  return parent?.namespace === namespace && parent.name === name;
}
