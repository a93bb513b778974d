/** Allocates node ports in the RangeAllocation `servicenodeports`, which all releases of kube-apiserver use. */
import type { Random } from "../../base/random.ts";
import type { Clock } from "../../base/clock.ts";
import { Bitmap } from "./bitmap.ts";
import { candidates, type NumberPool, type Taken } from "./number-pool.ts";
import type { NumberRange } from "./number-range.ts";
import type { RangeRecord } from "./range-record.ts";
import { RELEASE_MS } from "./timing.ts";

export interface NodePorts extends NumberPool {
  readonly range: NumberRange;
  readonly record: RangeRecord;
  /** Number of free ports, according to the cache. */
  freeCount(): number;
}

interface NodePortsOptions {
  readonly record: RangeRecord;
  readonly range: NumberRange;
  readonly random: Random;
  readonly clock: Clock;
  /** Whether a server of an earlier version of this project has claimed the port. */
  readonly isClaimed: (port: string) => boolean;
}

export function createNodePorts({ record, range, random, clock, isClaimed }: NodePortsOptions): NodePorts {
  const release = async (number: string): Promise<void> => {
    const index = range.indexOf(number);
    if (index === undefined) return;
    const startedAt = clock.monotonic();
    await record.change((allocated) => {
      // After a long time the repair may have released the port, and another Service may have it.
      const isDue = clock.monotonic() - startedAt < RELEASE_MS;
      return { next: isDue ? allocated.without([index]) : allocated, result: undefined };
    });
  };
  const taken = (number: string): Taken => ({ number, revert: () => release(number) });
  const isFree = (allocated: Bitmap, index: number, number: string): boolean =>
    !allocated.has(index) && !isClaimed(number);
  const known = (): Bitmap => record.known() ?? Bitmap.of([]);
  return {
    range,
    record,
    async take(number) {
      const index = range.indexOf(number) ?? 0;
      const isTaken = await record.change((allocated) =>
        isFree(allocated, index, number)
          ? { next: allocated.with([index]), result: true }
          : { next: allocated, result: false },
      );
      return isTaken ? taken(number) : undefined;
    },
    async takeAny() {
      const number = await record.change((allocated) => {
        const free = candidates(range, random, (index, name) => isFree(allocated, index, name)).next().value;
        return { next: free === undefined ? allocated : allocated.with([free.index]), result: free?.number };
      });
      return number === undefined ? undefined : taken(number);
    },
    suggest() {
      const allocated = known();
      return candidates(range, random, (index, name) => isFree(allocated, index, name)).next().value?.number;
    },
    isFree: (number) => isFree(known(), range.indexOf(number) ?? 0, number),
    freeCount() {
      let used = 0;
      for (const index of known().indexes()) if (index < range.size) used++;
      return range.size - used;
    },
    prepareRelease: (number) => Promise.resolve(() => release(number)),
  };
}
