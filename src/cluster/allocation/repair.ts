/**
 * Reconciles the records of allocated numbers with the stored Services, as kube-apiserver's repair does. It adds what
 * Services lack, and releases what no Service has. A number without a Service may belong to a Service that is being
 * written now, so a bit is released only in the third repair that finds it, and an IPAddress after SUPERFLUOUS_MS.
 */
import type { Clock } from "../../base/clock.ts";
import { prefixEnd, type Guard } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { indexesIn, type Allocators } from "./allocators.ts";
import { Bitmap } from "./bitmap.ts";
import { isFor, parentOf } from "./ip-addresses.ts";
import type { NumberRange } from "./number-range.ts";
import type { RangeRecord } from "./range-record.ts";
import { numbersOf, type ServiceNumbers } from "./stored-services.ts";

/** Longer than any request may take between the creation of an IPAddress and the storing of its Service. */
const SUPERFLUOUS_MS = 150_000;
/** As kubernetes: a bit without a Service is released when it is found for the third time. */
const LEAK_ROUNDS = 3;
/** Maximum number of attempts to replace a record that other servers change. */
const RACES_MAX = 20;

/** The findings of earlier repairs: the number of repairs for each leaked bit, and superfluous IPAddress objects. */
export interface RepairState {
  readonly leaks: Map<string, number>;
  readonly suspects: Map<string, { readonly revision: number; readonly since: number }>;
}

interface RepairReport {
  /** Numbers of Services that were not allocated. */
  readonly repaired: readonly string[];
  /** Numbers that were released because no Service has them. */
  readonly released: readonly string[];
  /** Numbers that several Services have. */
  readonly duplicate: readonly string[];
}

export interface RepairParts {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly allocators: Allocators;
}

export async function repairAllocations(parts: RepairParts, state: RepairState): Promise<RepairReport> {
  const { clusterIps, nodePorts, records, services } = parts.allocators;
  const markRepaired = records.repairing();
  const { usesBitmap, usesAddresses } = records.current();
  const ports = await repairRecord({ parts, state, record: nodePorts.record, range: nodePorts.range }, (service) =>
    service.ports.map(String),
  );
  const bits = [];
  for (const { record, bitmapRange: range } of usesBitmap ? clusterIps : [])
    bits.push(await repairRecord({ parts, state, record, range }, ({ ips }) => ips));
  const addresses = await repairAddresses(parts, state, usesAddresses);
  markRepaired();
  const known = (await services.list()).filter(({ corrupt }) => corrupt === undefined).map(numbersOf);
  return {
    repaired: [ports, ...bits, addresses].flatMap(({ repaired }) => repaired),
    released: [ports, ...bits, addresses].flatMap(({ released }) => released),
    duplicate: [
      ...duplicatesIn(known.flatMap(({ ips }) => ips)),
      ...duplicatesIn(known.flatMap((service) => service.ports.map(String))),
    ],
  };
}

interface RecordRepair {
  readonly parts: RepairParts;
  readonly state: RepairState;
  readonly record: RangeRecord;
  readonly range: NumberRange;
}

type Changes = Pick<RepairReport, "repaired" | "released">;

async function repairRecord(
  { parts, state, record, range }: RecordRepair,
  numbersIn: (service: ServiceNumbers) => readonly string[],
): Promise<Changes> {
  const { services, ipAddresses, nodePorts } = parts.allocators;
  for (let race = 0; race < RACES_MAX; race++) {
    // The record is read before the Services. So if the Service of a bit is not found, it is still being written, or the
    // bit has leaked.
    const { entry, allocated } = await record.read();
    const addresses = record === nodePorts.record ? [] : await ipAddresses.listAll();
    const stored = await services.list();
    const known = stored.filter(({ corrupt }) => corrupt === undefined).map(numbersOf);
    const wanted = Bitmap.of(indexesIn(range, known.flatMap(numbersIn)));
    const reserved = Bitmap.of(
      indexesIn(
        range,
        addresses.map((address) => ipAddresses.ipOf(address)),
      ),
    );
    const missing = [...wanted.indexes(), ...reserved.indexes()].filter((index) => !allocated.has(index));
    const leaked = [...allocated.indexes()].filter((index) => !wanted.has(index) && !reserved.has(index));
    // A Service that cannot be decoded may have any number, so nothing is released.
    const counts = countLeaks(state, range, stored.length === known.length ? leaked : []);
    const due = leaked.filter((index) => (counts.get(range.nameAt(index)) ?? 0) >= LEAK_ROUNDS);
    if (entry !== undefined && missing.length + due.length === 0)
      return remember(state, range, counts, { repaired: [], released: [] });
    if (await record.replace(entry, allocated.with(missing).without(due)))
      return remember(state, range, counts, {
        repaired: missing.filter((index) => wanted.has(index)).map((index) => range.nameAt(index)),
        released: due.map((index) => range.nameAt(index)),
      });
  }
  return { repaired: [], released: [] };
}

function countLeaks({ leaks }: RepairState, range: NumberRange, leaked: readonly number[]): Map<string, number> {
  return new Map(
    leaked.map((index) => {
      const number = range.nameAt(index);
      return [number, (leaks.get(number) ?? 0) + 1];
    }),
  );
}

function remember(
  { leaks }: RepairState,
  range: NumberRange,
  counts: ReadonlyMap<string, number>,
  changes: Changes,
): Changes {
  for (const number of leaks.keys()) if (range.indexOf(number) !== undefined) leaks.delete(number);
  for (const [number, count] of counts) if (!changes.released.includes(number)) leaks.set(number, count);
  return changes;
}

async function repairAddresses(
  { store, clock, allocators }: RepairParts,
  state: RepairState,
  usesAddresses: boolean,
): Promise<Changes> {
  const { ipAddresses, services } = allocators;
  const published = await ipAddresses.listPublished();
  const stored = await services.list();
  const known = stored.filter(({ corrupt }) => corrupt === undefined).map(numbersOf);
  const ownersOf = new Map<string, ServiceNumbers[]>();
  for (const service of known) for (const ip of service.ips) ownersOf.set(ip, [...(ownersOf.get(ip) ?? []), service]);
  const isOrphan = (entry: Entry): boolean =>
    !(ownersOf.get(ipAddresses.ipOf(entry)) ?? []).some(({ owner }) => isFor(entry, owner));
  const revisions = new Map(stored.map(({ key, modRevision }) => [key, modRevision]));
  const guardsOf = (entry: Entry): Guard[] => {
    const parent = parentOf(entry);
    if (parent === undefined) return [];
    const key = `${services.prefix}${parent.namespace}/${parent.name}`;
    return [{ key, revision: revisions.get(key) ?? 0 }];
  };
  const orphans = stored.length === known.length ? published.filter(isOrphan) : [];
  const due = dueOf(orphans, state.suspects, clock.monotonic());
  // The guard: a server that was suspended since the list must not delete an IPAddress that a Service now needs.
  for (const entry of due) await store.remove(entry, guardsOf(entry));
  const repaired: string[] = [];
  for (const [ip, [first]] of usesAddresses ? ownersOf : [])
    if (first !== undefined && !ipAddresses.has(ip) && (await ipAddresses.publish(ip, first.owner)) !== undefined)
      repaired.push(ip);
  return { repaired, released: due.map((entry) => ipAddresses.ipOf(entry)) };
}

/** Remembers superfluous objects, and returns those that have been superfluous and unchanged for long enough. */
function dueOf(superfluous: readonly Entry[], suspects: RepairState["suspects"], now: number): readonly Entry[] {
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

function duplicatesIn(numbers: readonly string[]): string[] {
  const seen = new Set<string>();
  return [...new Set(numbers.filter((number) => seen.has(number) || !seen.add(number)))];
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
