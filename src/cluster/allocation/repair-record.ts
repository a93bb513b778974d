/**
 * Reconciles one bitmap with the stored Services. A bit without a Service may belong to a Service that is being written
 * now, so it is released only in the third repair that finds it.
 */
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { indexesIn, type Allocators } from "./allocators.ts";
import { Bitmap } from "./bitmap.ts";
import { isPublished } from "./ip-addresses.ts";
import type { NumberRange } from "./number-range.ts";
import type { RangeRecord } from "./range-record.ts";
import { recordFindings, type Describe, type Finding } from "./repair-findings.ts";
import { numbersOf, type ServiceNumbers } from "./stored-services.ts";

/** As kubernetes: a bit without a Service is released when it is found for the third time. */
const LEAK_ROUNDS = 3;
/** Maximum number of attempts to replace a record that other servers change. */
const RACES_MAX = 20;

interface RecordRepair {
  readonly allocators: Allocators;
  /** How many repairs have found each leaked number. */
  readonly leaks: Map<string, number>;
  readonly record: RangeRecord;
  readonly range: NumberRange;
  readonly numbersIn: (service: ServiceNumbers) => readonly string[];
  readonly describe: Describe;
  /** Whether an IPAddress reserves its bit. */
  readonly isOfIps: boolean;
}

interface RecordChanges {
  readonly findings: readonly Finding[];
  /** Numbers that were released because no Service has them. */
  readonly released: readonly string[];
}

export async function repairRecord(repair: RecordRepair): Promise<RecordChanges> {
  const { record, range, leaks, numbersIn, describe } = repair;
  const { services, ipAddresses } = repair.allocators;
  for (let race = 0; race < RACES_MAX; race++) {
    // The record is read before the Services. So if the Service of a bit is not found, it is still being written, or the
    // bit has leaked.
    const { entry, allocated } = await record.read();
    const addresses = repair.isOfIps ? await ipAddresses.listAll() : [];
    const indexesOf = (some: readonly Entry[]): number[] =>
      indexesIn(
        range,
        some.map((one) => ipAddresses.ipOf(one)),
      );
    const stored = await services.list();
    const known = stored.filter(isDecoded);
    const wanted = Bitmap.of(indexesIn(range, known.map(numbersOf).flatMap(numbersIn)));
    // The IPAddress of a Service that is not stored also leaks, so only those of users keep a bit.
    const kept = wanted.with(indexesOf(addresses.filter((one) => !isPublished(one))));
    const missing = [...wanted.with(indexesOf(addresses)).indexes()].filter((index) => !allocated.has(index));
    const leaked = [...allocated.indexes()].filter((index) => !kept.has(index));
    // A Service that cannot be decoded may have any number, so nothing is released.
    const counts = countLeaks(leaks, range, stored.length === known.length ? leaked : []);
    const due = leaked.filter((index) => (counts.get(range.nameAt(index)) ?? 0) >= LEAK_ROUNDS);
    const isCurrent = entry !== undefined && missing.length + due.length === 0;
    if (!isCurrent && !(await record.replace(entry, allocated.with(missing).without(due)))) continue;
    const released = due.map((index) => range.nameAt(index));
    remember(leaks, range, counts, released);
    const before = entry === undefined ? undefined : allocated;
    return { findings: recordFindings({ services: known, range, allocated: before, numbersIn, describe }), released };
  }
  return { findings: [], released: [] };
}

function isDecoded({ corrupt }: Entry): boolean {
  return corrupt === undefined;
}

function countLeaks(
  leaks: ReadonlyMap<string, number>,
  range: NumberRange,
  leaked: readonly number[],
): Map<string, number> {
  return new Map(
    leaked.map((index) => {
      const number = range.nameAt(index);
      return [number, (leaks.get(number) ?? 0) + 1];
    }),
  );
}

function remember(
  leaks: Map<string, number>,
  range: NumberRange,
  counts: ReadonlyMap<string, number>,
  released: readonly string[],
): void {
  for (const number of leaks.keys()) if (range.indexOf(number) !== undefined) leaks.delete(number);
  for (const [number, count] of counts) if (!released.includes(number)) leaks.set(number, count);
}
