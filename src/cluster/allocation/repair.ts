/**
 * Reconciles claims with Services after crashes. It adds claims that services lack, and removes claims and IPAddress
 * objects that no service needs. A superfluous claim may belong to a service that is being written now, so it is
 * removed only if it stays superfluous and unchanged for SUPERFLUOUS_MS.
 */
import type { JsonObject } from "../../meta/json.ts";
import { prefixEnd, type Guard } from "../../storage/kv.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import { prepareForCreate } from "../../serving/registry/prepare.ts";
import type { Allocators } from "./allocators.ts";
import { claimantOf, ownerUid, type Claim, type ClaimPool, type ClaimOwner } from "./claims.ts";
import { parentOf } from "./ip-addresses.ts";
import { canonicalIp } from "../../meta/ip-address.ts";
import { ownerOf } from "./service-allocation.ts";
import { allocatedValuesOf, type AllocatedValues } from "../../objects/kinds/core/services/service-fields.ts";

/** Longer than any request may take between claiming a number and storing the service. */
const SUPERFLUOUS_MS = 150_000;

/** Superfluous claims that earlier repairs found: by key, the revision of the claim and when it was first seen. */
export type Suspects = Map<string, { readonly revision: number; readonly since: number }>;

interface RepairReport {
  readonly claimed: number;
  readonly released: number;
  /** Numbers that two services have, so that a claim cannot be right for both. */
  readonly disputed: readonly string[];
}

interface Holder {
  readonly owner: ClaimOwner;
  readonly holdings: AllocatedValues;
}

export interface RepairParts {
  readonly context: RegistryContext;
  readonly allocators: Allocators;
  /** The key prefix of Services, such as "/registry/services/specs/". */
  readonly servicePrefix: string;
}

export async function repairAllocations(parts: RepairParts, suspects: Suspects): Promise<RepairReport> {
  const { context, servicePrefix } = parts;
  const { clusterIps, nodePorts, ipAddresses } = parts.allocators;
  // Claims are read before services. So if the service of a claim is not found, the service is still being written, or
  // the claim is superfluous.
  const claims = [
    ...(await clusterIps.list()).map((claim) => ({ pool: clusterIps, claim })),
    ...(await nodePorts.list()).map((claim) => ({ pool: nodePorts, claim })),
  ];
  const addresses = await ipAddresses.listPublished();
  const { entries } = await context.store.list(
    { start: servicePrefix, end: prefixEnd(servicePrefix) },
    { kind: "newest" },
  );
  const holders = entries.filter((entry) => entry.corrupt === undefined).map(holderOf);
  const disputed = await claimMissing(parts, holders, claims);
  // A service that cannot be decoded may hold any number, so no claim is removed.
  if (holders.length < entries.length) return { ...disputed, released: 0 };
  const revisions = new Map(entries.map(({ key, modRevision }) => [key, modRevision]));
  const superfluous = [
    ...superfluousClaims(claims, holders, clusterIps).map(({ pool, claim }) => ({
      entry: claim.entry,
      remove: () => pool.release(claim, unchangedService(parts, claimantOf(claim), revisions)),
    })),
    ...addresses
      .filter((entry) => isOrphan(entry, ipAddresses.ipOf(entry), holders))
      .map((entry) => ({
        entry,
        remove: () => ipAddresses.withdraw(entry, unchangedService(parts, parentOf(entry), revisions)),
      })),
  ];
  const due = dueOf(superfluous, suspects, context.clock.monotonic());
  for (const { remove } of due) await remove();
  return { ...disputed, released: due.length };
}

/**
 * The guard of a removal: the service must still be absent, or as it was read. A server that was suspended since then
 * would otherwise remove a number that the service has taken meanwhile.
 */
function unchangedService(
  { servicePrefix }: RepairParts,
  service: { readonly namespace: string; readonly name: string } | undefined,
  revisions: ReadonlyMap<string, number>,
): Guard[] {
  if (service === undefined || service.name === "") return [];
  const key = `${servicePrefix}${service.namespace}/${service.name}`;
  return [{ key, revision: revisions.get(key) ?? 0 }];
}

async function claimMissing(
  { context, allocators }: RepairParts,
  holders: readonly Holder[],
  claims: readonly { pool: ClaimPool; claim: Claim }[],
): Promise<Omit<RepairReport, "released">> {
  const { clusterIps, nodePorts, ipAddresses } = allocators;
  const claimed = new Map(claims.map(({ claim }) => [claim.entry.key, ownerUid(claim)]));
  const keyOf = new Map(
    claims.map(({ pool, claim }) => [`${pool === clusterIps ? "ip" : "port"} ${claim.number}`, claim.entry.key]),
  );
  const prepare = (served: Parameters<typeof prepareForCreate>[1], object: JsonObject): JsonObject =>
    prepareForCreate(context, served, object);
  const disputed: string[] = [];
  let added = 0;
  for (const { owner, holdings } of holders) {
    const wanted = [
      ...holdings.ips.map((ip) => ({ pool: clusterIps, label: `ip ${ip}`, number: ip })),
      ...holdings.ports.map((port) => ({ pool: nodePorts, label: `port ${port}`, number: String(port) })),
    ];
    for (const { pool, label, number } of wanted) {
      const uid = claimed.get(keyOf.get(label) ?? "");
      if (uid === owner.uid) continue;
      if (uid === undefined && (await pool.take(number, owner)) !== undefined) added++;
      else disputed.push(number);
    }
    for (const ip of holdings.ips)
      if (!ipAddresses.has(ip))
        await ipAddresses.publish(ip, { namespace: owner.namespace, name: owner.name }, prepare);
  }
  return { claimed: added, disputed };
}

function superfluousClaims(
  claims: readonly { pool: ClaimPool; claim: Claim }[],
  holders: readonly Holder[],
  clusterIps: ClaimPool,
): readonly { pool: ClaimPool; claim: Claim }[] {
  const byUid = new Map(holders.map((holder) => [holder.owner.uid, holder.holdings]));
  return claims.filter(({ pool, claim }) => {
    const holdings = byUid.get(ownerUid(claim));
    if (holdings === undefined) return true;
    return !(pool === clusterIps ? holdings.ips.includes(claim.number) : holdings.ports.includes(Number(claim.number)));
  });
}

function isOrphan(address: Entry, ip: string, holders: readonly Holder[]): boolean {
  const parent = parentOf(address);
  if (parent === undefined) return false;
  return !holders.some(
    ({ owner, holdings }) =>
      owner.namespace === parent.namespace && owner.name === parent.name && holdings.ips.includes(ip),
  );
}

/** Remembers superfluous claims, and returns those that have been superfluous for long enough. */
function dueOf<T extends { readonly entry: Entry }>(
  superfluous: readonly T[],
  suspects: Suspects,
  now: number,
): readonly T[] {
  const before = new Map(suspects);
  suspects.clear();
  return superfluous.filter(({ entry }) => {
    const known = before.get(entry.key);
    const since = known?.revision === entry.modRevision ? known.since : now;
    if (now - since >= SUPERFLUOUS_MS) return true;
    suspects.set(entry.key, { revision: entry.modRevision, since });
    return false;
  });
}

function holderOf(entry: Entry): Holder {
  const known = entry.memo.get("holder") as Holder | undefined;
  if (known !== undefined) return known;
  const service = parseEntry(entry);
  const { ips, ports } = allocatedValuesOf(service);
  const holder = { owner: ownerOf(service), holdings: { ips: ips.map((ip) => canonicalIp(ip) ?? ip), ports } };
  entry.memo.set("holder", holder);
  return holder;
}
