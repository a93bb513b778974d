/**
 * Reconciles the IPAddress objects with the stored Services: creates those that are missing, corrects those that name
 * another owner, and deletes those without a Service. An IPAddress without a Service may belong to a Service that is being
 * written now, so it is deleted only SUPERFLUOUS_MS after it was found.
 */
import type { Clock } from "../../base/clock.ts";
import { familyOf } from "../../meta/ip-address.ts";
import { prefixEnd, type Guard } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { Allocators } from "./allocators.ts";
import { hasLabels, isFor, isPublished, parentOf } from "./ip-addresses.ts";
import { describeAddress, leakedAddress, wrongOwner, type Finding } from "./repair-findings.ts";
import { numbersOf } from "./stored-services.ts";

/**
 * As kubernetes. A Service is stored only while its IPAddress is unchanged, so a request that takes longer than this
 * fails.
 */
const SUPERFLUOUS_MS = 60_000;

/** IPAddress objects that earlier repairs found without a Service. */
export type Suspects = Map<string, { readonly revision: number; readonly since: number }>;

interface OrphanRepair {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly allocators: Allocators;
  readonly suspects: Suspects;
}

interface AddressRepair extends OrphanRepair {
  /** Whether a live server uses IPAddress objects. Otherwise only those that are left over are deleted. */
  readonly usesAddresses: boolean;
}

interface AddressChanges {
  readonly findings: readonly Finding[];
  readonly released: readonly string[];
}

export async function repairAddresses(repair: AddressRepair): Promise<AddressChanges> {
  const published = await repair.allocators.ipAddresses.listPublished();
  const services = await readServices(repair.allocators);
  const removed = await removeOrphans(repair, published, services);
  const findings = repair.usesAddresses ? await ensureAddresses(repair.allocators, services) : [];
  return { ...removed, findings: [...findings, ...removed.findings] };
}

/**
 * Deletes the IPAddress objects without a Service that are due, between two repairs. Reads the store only if the cache
 * has such an object.
 */
export async function repairOrphans(repair: OrphanRepair): Promise<AddressChanges> {
  const { allocators, suspects } = repair;
  if (!isOrphanCached(repair)) {
    suspects.clear();
    return { findings: [], released: [] };
  }
  const published = await allocators.ipAddresses.listPublished();
  return removeOrphans(repair, published, await readServices(allocators));
}

/** Whether the cache has an IPAddress with an address that no Service has. */
function isOrphanCached({ store, allocators: { ipAddresses, services } }: OrphanRepair): boolean {
  const cached = (prefix: string): Entry[] => store.cache.range(prefix, prefixEnd(prefix));
  const published = cached(ipAddresses.keyOf("")).filter(isPublished);
  if (published.length === 0) return false;
  const known = cached(services.prefix).filter(({ corrupt }) => corrupt === undefined);
  const used = new Set(known.flatMap((entry) => numbersOf(entry).ips));
  return published.some((entry) => !used.has(ipAddresses.ipOf(entry)));
}

async function removeOrphans(
  { store, clock, allocators: { ipAddresses }, suspects }: OrphanRepair,
  published: readonly Entry[],
  services: StoredOwners,
): Promise<AddressChanges> {
  const orphans = services.isComplete ? published.filter((entry) => services.isOrphan(entry)) : [];
  const due = dueOf(orphans, suspects, clock.monotonic());
  // The guard: a server that was suspended since the list must not delete an IPAddress that a Service now needs.
  for (const entry of due) await store.remove(entry, services.guardsOf(entry));
  const findings = due.map((entry) => leakedAddress(entry, ipAddresses.ipOf(entry), services.ownerNamedBy(entry)));
  return { findings, released: due.map((entry) => ipAddresses.ipOf(entry)) };
}

interface StoredOwners {
  /** Whether every Service could be decoded. */
  readonly isComplete: boolean;
  /** The Services that have an address, in the order of their keys. */
  readonly ownersOf: ReadonlyMap<string, readonly Entry[]>;
  isOrphan(address: Entry): boolean;
  /** The Service that an IPAddress names; undefined if it names none. */
  ownerNamedBy(
    address: Entry,
  ): { readonly namespace: string; readonly name: string; readonly isStored: boolean } | undefined;
  /** The condition that the named Service has not been written since. */
  guardsOf(address: Entry): Guard[];
}

async function readServices({ services, ipAddresses }: Allocators): Promise<StoredOwners> {
  const stored = await services.list();
  const known = stored.filter(({ corrupt }) => corrupt === undefined);
  const ownersOf = new Map<string, Entry[]>();
  for (const entry of known)
    for (const ip of numbersOf(entry).ips) ownersOf.set(ip, [...(ownersOf.get(ip) ?? []), entry]);
  const revisions = new Map(stored.map(({ key, modRevision }) => [key, modRevision]));
  const keyOf = ({ namespace, name }: { namespace: string; name: string }): string =>
    `${services.prefix}${namespace}/${name}`;
  return {
    isComplete: stored.length === known.length,
    ownersOf,
    isOrphan: (address) =>
      !(ownersOf.get(ipAddresses.ipOf(address)) ?? []).some((entry) => isFor(address, numbersOf(entry).owner)),
    ownerNamedBy(address) {
      const parent = parentOf(address);
      return parent && { ...parent, isStored: revisions.has(keyOf(parent)) };
    },
    guardsOf(address) {
      const parent = parentOf(address);
      if (parent === undefined) return [];
      return [{ key: keyOf(parent), revision: revisions.get(keyOf(parent)) ?? 0 }];
    },
  };
}

/** Creates or corrects the IPAddress of every cluster IP of a Service. */
async function ensureAddresses(allocators: Allocators, services: StoredOwners): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [ip, owners] of services.ownersOf) {
    if (familyOf(ip) === undefined) continue;
    // As kubernetes: an address outside all ranges gets no IPAddress.
    findings.push(
      ...(allocators.isInRange(ip)
        ? await ensureAddress(allocators, services, { ip, owners })
        : owners.map((one) => describeAddress("out-of-range", ip, one))),
    );
  }
  return findings;
}

async function ensureAddress(
  { ipAddresses }: Allocators,
  services: StoredOwners,
  { ip, owners }: { readonly ip: string; readonly owners: readonly Entry[] },
): Promise<Finding[]> {
  const [first] = owners;
  if (first === undefined) return [];
  const { owner } = numbersOf(first);
  const address = ipAddresses.known(ip);
  if (address === undefined) {
    const created = await ipAddresses.publish(ip, owner, guardOf(first));
    const missing = created === undefined ? [] : [describeAddress("not-allocated", ip, first)];
    return [...missing, ...duplicates(ip, owners, first)];
  }
  const holder = owners.find((entry) => isFor(address, numbersOf(entry).owner));
  if (holder !== undefined) {
    if (!hasLabels(address)) await ipAddresses.rewrite(address, numbersOf(holder).owner, guardOf(holder));
    return duplicates(ip, owners, holder);
  }
  // If the named Service exists without this address, the IPAddress is an orphan, which is deleted first.
  if (services.ownerNamedBy(address)?.isStored === true) return [];
  const corrected = await ipAddresses.rewrite(address, owner, [...guardOf(first), ...services.guardsOf(address)]);
  return corrected === undefined ? [] : [wrongOwner(ip, first)];
}

function duplicates(ip: string, owners: readonly Entry[], holder: Entry): Finding[] {
  return owners.filter((entry) => entry !== holder).map((entry) => describeAddress("duplicate", ip, entry));
}

/** The condition that a Service has not been written since it was listed. */
function guardOf({ key, modRevision }: Entry): Guard[] {
  return [{ key, revision: modRevision }];
}

/** Remembers superfluous objects, and returns those that have been superfluous and unchanged for long enough. */
function dueOf(superfluous: readonly Entry[], suspects: Suspects, now: number): readonly Entry[] {
  const before = new Map(suspects);
  suspects.clear();
  return superfluous.filter((entry) => {
    const known = before.get(entry.key);
    const since = known?.revision === entry.modRevision ? known.since : now;
    if (now - since >= SUPERFLUOUS_MS) return true;
    suspects.set(entry.key, { revision: entry.modRevision, since });
    return false;
  });
}
