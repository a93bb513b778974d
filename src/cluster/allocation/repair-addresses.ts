/**
 * Reconciles the IPAddress objects with the stored Services: creates those that are missing, corrects those that name
 * another owner, and deletes those without a Service. An IPAddress without a Service may belong to a Service that is being
 * written now, so it is deleted only after SUPERFLUOUS_MS.
 */
import type { Clock } from "../../base/clock.ts";
import { familyOf } from "../../meta/ip-address.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { Allocators } from "./allocators.ts";
import { hasLabels, isFor, parentOf } from "./ip-addresses.ts";
import { describeAddress, leakedAddress, wrongOwner, type Finding } from "./repair-findings.ts";
import { numbersOf } from "./stored-services.ts";

/** Longer than any request may take between the creation of an IPAddress and the storing of its Service. */
const SUPERFLUOUS_MS = 150_000;

/** IPAddress objects that earlier repairs found without a Service. */
export type Suspects = Map<string, { readonly revision: number; readonly since: number }>;

interface AddressRepair {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly allocators: Allocators;
  readonly suspects: Suspects;
  /** Whether a live server uses IPAddress objects. Otherwise only those that are left over are deleted. */
  readonly usesAddresses: boolean;
}

interface AddressChanges {
  readonly findings: readonly Finding[];
  readonly released: readonly string[];
}

export async function repairAddresses(repair: AddressRepair): Promise<AddressChanges> {
  const { store, clock, allocators, suspects } = repair;
  const { ipAddresses } = allocators;
  const published = await ipAddresses.listPublished();
  const services = await readServices(allocators);
  const orphans = services.isComplete ? published.filter((entry) => services.isOrphan(entry)) : [];
  const due = dueOf(orphans, suspects, clock.monotonic());
  // The guard: a server that was suspended since the list must not delete an IPAddress that a Service now needs.
  for (const entry of due) await store.remove(entry, services.guardsOf(entry));
  const findings = repair.usesAddresses ? await ensureAddresses(allocators, services) : [];
  const leaked = due.map((entry) => leakedAddress(entry, ipAddresses.ipOf(entry), services.ownerNamedBy(entry)));
  return { findings: [...findings, ...leaked], released: due.map((entry) => ipAddresses.ipOf(entry)) };
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
