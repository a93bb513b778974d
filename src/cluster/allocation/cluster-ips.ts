/**
 * Allocates the cluster IPs of one family in the records of kube-apiserver: the bitmap, IPAddress objects, or the
 * bitmap first and then an IPAddress. Creating the IPAddress decides between all servers that use these objects. If a
 * user deletes the IPAddress of a Service, the address is still not free, because the Service has it.
 */
import type { Random } from "../../base/random.ts";
import type { Clock } from "../../base/clock.ts";
import type { IpFamily } from "../../meta/ip-address.ts";
import type { Guard } from "../../storage/kv.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { Bitmap } from "./bitmap.ts";
import { isFor, type IpAddresses } from "./ip-addresses.ts";
import type { IpRange } from "./ip-range.ts";
import type { NumberRecords } from "./number-records.ts";
import { candidates, type NumberOwner, type NumberPool, type Taken } from "./number-pool.ts";
import type { RangeRecord } from "./range-record.ts";
import { readyRanges, type ServiceCidrRange } from "./service-cidrs.ts";
import { RELEASE_MS } from "./timing.ts";

export interface ClusterIps extends NumberPool {
  readonly family: IpFamily;
  /** The range of the bitmap, which is the configured one. */
  readonly bitmapRange: IpRange;
  readonly record: RangeRecord;
  /** The ranges from which addresses are allocated at present. */
  ranges(): readonly IpRange[];
}

interface ClusterIpsOptions {
  readonly record: RangeRecord;
  /** The configured range. */
  readonly range: IpRange;
  /** The ranges of the ServiceCIDRs of the family; undefined if there are no ServiceCIDRs. */
  readonly serviceCidrs: () => readonly ServiceCidrRange[] | undefined;
  readonly addresses: IpAddresses;
  readonly records: () => NumberRecords;
  /** Whether a stored Service has the address, according to the cache. */
  readonly isInUse: (ip: string) => boolean;
  /** Whether a server of an earlier version of this project has claimed the address. */
  readonly isClaimed: (ip: string) => boolean;
  readonly random: Random;
  readonly clock: Clock;
}

/** As kubernetes: the bitmap of an IPv6 range covers its first 2^16 addresses. */
const IPV6_BITMAP_MAX = 2 ** 16 - 1;

export function createClusterIps(options: ClusterIpsOptions): ClusterIps {
  const { record, range, addresses } = options;
  const bitmapRange = range.family === "IPv6" ? range.first(IPV6_BITMAP_MAX) : range;
  const pool = new IpPool(options, bitmapRange);
  const ranges = (): readonly IpRange[] => {
    const cidrs = options.serviceCidrs();
    return cidrs === undefined ? [range] : readyRanges(cidrs);
  };
  return {
    family: range.family,
    bitmapRange,
    record,
    ranges,
    take: (ip, owner) => pool.take(ip, owner),
    takeAny: (owner) => pool.takeAny(owner, ranges()),
    suggest: () => pool.free(ranges()).next().value ?? undefined,
    isFree: (ip) => pool.isFree(ip),
    async prepareRelease(ip, owner) {
      const entry = await addresses.find(ip);
      const own = entry !== undefined && isFor(entry, owner) ? entry : undefined;
      return async () => {
        if (own !== undefined) await addresses.withdraw(own);
        // If the IPAddress belongs to another owner, so does the bit.
        await pool.releaseBit(ip);
      };
    },
  };
}

class IpPool {
  readonly #options: ClusterIpsOptions;
  readonly #range: IpRange;

  constructor(options: ClusterIpsOptions, bitmapRange: IpRange) {
    this.#options = options;
    this.#range = bitmapRange;
  }

  isFree(ip: string): boolean {
    const { addresses, isInUse, isClaimed } = this.#options;
    return !addresses.has(ip) && !isInUse(ip) && !isClaimed(ip);
  }

  *free(ranges: readonly IpRange[]): Generator<string, undefined> {
    const { records, random, record } = this.#options;
    const allocated = records().bitmapDecides ? record.known() : undefined;
    for (const range of ranges) {
      const isFree = (_: number, ip: string): boolean =>
        this.isFree(ip) && allocated?.has(this.#range.indexOf(ip) ?? -1) !== true;
      for (const { number } of candidates(range, random, isFree)) yield number;
    }
    return undefined;
  }

  async take(ip: string, owner: NumberOwner): Promise<Taken | undefined> {
    const { records, record } = this.#options;
    const { usesBitmap, usesAddresses, bitmapDecides } = records();
    if (await this.#isTaken(ip)) return undefined;
    const index = usesBitmap ? this.#range.indexOf(ip) : undefined;
    if (index === undefined)
      return (await this.#takeAddress(ip, owner, usesAddresses)) ?? (await this.#adopt(ip, owner));
    const isNew = await record.change((allocated) => ({
      next: allocated.with([index]),
      result: !allocated.has(index),
    }));
    if (!isNew && bitmapDecides) return this.#adopt(ip, owner);
    const taken = (await this.#takeAddress(ip, owner, usesAddresses)) ?? (await this.#adopt(ip, owner));
    // The server that set the bit may have cleared it before the IPAddress existed.
    if (taken !== undefined && !isNew)
      await record.change((allocated) => ({ next: allocated.with([index]), result: true }));
    return taken;
  }

  async #isTaken(ip: string): Promise<boolean> {
    const { addresses, isInUse, isClaimed } = this.#options;
    if (!isInUse(ip) && !isClaimed(ip)) return false;
    // The Service may have just been deleted, so the cache must catch up.
    await addresses.find(ip);
    return isInUse(ip) || isClaimed(ip);
  }

  async takeAny(owner: NumberOwner, ranges: readonly IpRange[]): Promise<Taken | undefined> {
    const { usesBitmap, usesAddresses } = this.#options.records();
    if (usesBitmap && ranges.some(({ text }) => text === this.#options.range.text)) {
      const taken = await this.#takeAnyBit(owner, usesAddresses);
      if (taken !== undefined) return taken;
    }
    if (!usesAddresses) return undefined;
    for (const ip of this.free(ranges)) {
      const taken = await this.take(ip, owner);
      if (taken !== undefined) return taken;
    }
    return undefined;
  }

  /** As kubernetes 1.33: allocates in the bitmap first. */
  async #takeAnyBit(owner: NumberOwner, usesAddresses: boolean): Promise<Taken | undefined> {
    const { record, random } = this.#options;
    const range = this.#range;
    for (;;) {
      const ip = await record.change((allocated) => {
        const isFree = (index: number, name: string): boolean => !allocated.has(index) && this.isFree(name);
        const free = candidates(range, random, isFree).next().value;
        return { next: free === undefined ? allocated : allocated.with([free.index]), result: free?.number };
      });
      if (ip === undefined) return undefined;
      const taken = await this.#takeAddress(ip, owner, usesAddresses);
      // The bit of an address that exists stays set, so each attempt leaves fewer numbers.
      if (taken !== undefined) return taken;
    }
  }

  async #takeAddress(ip: string, owner: NumberOwner, usesAddresses: boolean): Promise<Taken | undefined> {
    const { addresses } = this.#options;
    if (!usesAddresses) return { number: ip, revert: () => this.releaseBit(ip) };
    const entry = await addresses.publish(ip, owner);
    if (entry === undefined) return undefined;
    return {
      number: ip,
      guard: guardOf(entry),
      revert: async () => {
        await addresses.withdraw(entry);
        await this.releaseBit(ip);
      },
    };
  }

  /**
   * Allocates an address whose IPAddress already names the Service, which is not stored: an earlier attempt to create the
   * Service has failed. The IPAddress is written again, so that the earlier attempt cannot delete it.
   */
  async #adopt(ip: string, owner: NumberOwner): Promise<Taken | undefined> {
    const { addresses } = this.#options;
    const entry = await addresses.find(ip);
    if (entry === undefined || !isFor(entry, owner) || (await this.#isTaken(ip))) return undefined;
    const rewritten = await addresses.rewrite(entry, owner);
    return rewritten && { number: ip, guard: guardOf(rewritten), revert: () => Promise.resolve() };
  }

  /** Clears the bit, unless an IPAddress exists, whose owner needs it. */
  async releaseBit(ip: string): Promise<void> {
    const { records, record, addresses, clock } = this.#options;
    const index = this.#range.indexOf(ip);
    if (!records().usesBitmap || index === undefined) return;
    const startedAt = clock.monotonic();
    const release = (allocated: Bitmap): Bitmap =>
      clock.monotonic() - startedAt < RELEASE_MS ? allocated.without([index]) : allocated;
    await record.changeGuarded(release, { key: addresses.keyOf(ip), revision: 0 });
  }
}

/** The condition that nobody has deleted or changed the IPAddress. */
function guardOf({ key, modRevision }: Entry): Guard {
  return { key, revision: modRevision };
}
