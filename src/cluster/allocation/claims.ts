/**
 * Records the owner of each allocated number: each number has one key, and creating the key allocates the number.
 * Servers of all releases use the same keys, so no number is allocated twice.
 *
 * A claim is released by compare-and-swap on the revision that was read before the release was decided. If a write
 * needs a number that its own object already claims, it writes the claim again, so that a release that was decided
 * earlier fails.
 */
import { randomInteger, type Random } from "../../base/random.ts";
import { objectAt, stringAt } from "../../meta/json.ts";
import { serviceUnavailable } from "../../meta/status-error.ts";
import { prefixEnd, type Guard } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import type { NumberRange } from "./number-range.ts";

export interface ClaimOwner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface Claim {
  /** The claimed number: an address or a port. */
  readonly number: string;
  readonly entry: Entry;
}

export interface Taken {
  readonly claim: Claim;
  /**
   * True if the owner already had the claim. Another write of the same owner may rely on it, so this one must not
   * release it.
   */
  readonly wasOwned: boolean;
}

export interface ClaimPool {
  readonly range: NumberRange;
  /** Claims a number; undefined if another owner has it. Does not check whether the number is in the range. */
  take(number: string, owner: ClaimOwner): Promise<Taken | undefined>;
  /** Claims any free number; undefined if none is free. */
  takeAny(owner: ClaimOwner): Promise<Taken | undefined>;
  /** A number that `takeAny` might take, without taking it. */
  suggest(): string | undefined;
  /** The claim on a number by any owner, according to the cache. */
  known(number: string): Claim | undefined;
  /** Number of free numbers, according to the cache. */
  freeCount(): number;
  /** The claim on a number by any owner, read from the store. */
  find(number: string): Promise<Claim | undefined>;
  list(): Promise<readonly Claim[]>;
  /** Deletes the claim, unless it has been written since it was read or a guard does not hold. */
  release(claim: Claim, guards?: readonly Guard[]): Promise<void>;
}

interface ClaimPoolOptions {
  readonly store: ObjectStore;
  readonly random: Random;
  /** The key prefix of the claims, such as "/registry/ranges/evenkeel/nodeports/". */
  readonly prefix: string;
  readonly range: NumberRange;
  /** Whether the number is unavailable for another reason than a claim, according to the cache. */
  readonly isReserved: (number: string) => boolean;
}

/** Maximum number of attempts to write a claim. Each conflict means that another write of the same owner succeeded. */
const RACES_MAX = 16;

export function createClaimPool(options: ClaimPoolOptions): ClaimPool {
  const { store, prefix, range } = options;
  const toClaim = (entry: Entry): Claim => ({ number: entry.key.slice(prefix.length), entry });
  return {
    range,
    take: (number, owner) => take(options, number, owner),
    async takeAny(owner) {
      for (const number of candidates(options)) {
        const result = await store.create(prefix + number, encodeClaim(owner));
        if (result.committed) return { claim: toClaim(result.entry), wasOwned: false };
      }
      return undefined;
    },
    suggest: () => candidates(options).next().value ?? undefined,
    known(number) {
      const entry = store.cache.get(prefix + number);
      return entry === undefined ? undefined : toClaim(entry);
    },
    freeCount: () => range.size - store.cache.count(prefix),
    async find(number) {
      const entry = await store.get(prefix + number, { kind: "newest" });
      return entry === undefined ? undefined : toClaim(entry);
    },
    async list() {
      const { entries } = await store.list({ start: prefix, end: prefixEnd(prefix) }, { kind: "newest" });
      return entries.map(toClaim);
    },
    async release(claim, guards) {
      await store.remove(claim.entry, guards);
    },
  };
}

export function isOwnedBy(claim: Claim, owner: ClaimOwner): boolean {
  return ownerUid(claim) === owner.uid;
}

/** Empty for a claim that cannot be decoded. */
export function ownerUid({ entry }: Claim): string {
  if (entry.corrupt !== undefined) return "";
  const known = entry.memo.get("owner");
  if (typeof known === "string") return known;
  const uid = stringAt(objectAt(parseEntry(entry), "metadata"), "uid");
  entry.memo.set("owner", uid);
  return uid;
}

/** The namespace and name of the object that has the claim; undefined for a claim that cannot be decoded. */
export function claimantOf({ entry }: Claim): Pick<ClaimOwner, "namespace" | "name"> | undefined {
  if (entry.corrupt !== undefined) return undefined;
  const metadata = objectAt(parseEntry(entry), "metadata");
  return { namespace: stringAt(metadata, "namespace"), name: stringAt(metadata, "name") };
}

async function take(
  { store, prefix }: ClaimPoolOptions,
  number: string,
  owner: ClaimOwner,
): Promise<Taken | undefined> {
  const value = encodeClaim(owner);
  let result = await store.create(prefix + number, value);
  let wasOwned = false;
  for (let race = 0; race < RACES_MAX; race++) {
    if (result.committed) return { claim: { number, entry: result.entry }, wasOwned };
    const { current } = result;
    if (current !== undefined && !isOwnedBy({ number, entry: current }, owner)) return undefined;
    wasOwned = current !== undefined;
    result = current === undefined ? await store.create(prefix + number, value) : await store.replace(current, value);
  }
  throw serviceUnavailable("the object changes too fast to be updated, please try again later", 1);
}

/**
 * Yields every number that is free according to the cache. It starts at a random number, so that two servers rarely try
 * the same one.
 */
function* candidates({ store, prefix, range, random, isReserved }: ClaimPoolOptions): Generator<string, undefined> {
  const bands = [
    { from: range.unaskedFrom, size: range.size - range.unaskedFrom },
    { from: 0, size: range.unaskedFrom },
  ];
  for (const { from, size } of bands) {
    const start = randomInteger(random, size);
    for (let step = 0; step < size; step++) {
      const number = range.nameAt(from + ((start + step) % size));
      if (store.cache.get(prefix + number) === undefined && !isReserved(number)) yield number;
    }
  }
  return undefined;
}

function encodeClaim({ namespace, name, uid }: ClaimOwner): Buffer {
  return Buffer.from(JSON.stringify({ kind: "Claim", apiVersion: "evenkeel/v1", metadata: { name, namespace, uid } }));
}
