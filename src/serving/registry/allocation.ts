/**
 * The port that assigns numbers from a range that the whole cluster shares, such as the cluster IP and node ports of a
 * Service. Every write runs inside a session, so that a crash can leak a number but never assign one twice.
 */
import type { JsonObject } from "../../meta/json.ts";
import { StorageError } from "../../storage/kv.ts";
import type { RegistryContext } from "./context.ts";
import { Forwarded } from "./forwarded-request.ts";
import type { ObjectChange } from "./guaranteed-update.ts";
import type { ServedResource } from "./resource.ts";
import type { WriteGuards } from "./write-encoded.ts";

export interface Allocation {
  /**
   * Returns the object with all numbers that it needs. Called again if another writer has changed the object, with its
   * new state.
   */
  assign(object: JsonObject, existing?: JsonObject): Promise<JsonObject>;
  /** Assigns numbers to the object of a change, or prepares their release if the change removes the object. */
  apply(change: ObjectChange, existing: JsonObject): Promise<ObjectChange>;
  /**
   * Adds guards, so that the object is stored only while its new numbers are recorded. Called directly before the write;
   * throws if the numbers were assigned too long ago.
   */
  guarded(place: WriteGuards | undefined): WriteGuards | undefined;
  /** Releases the assigned numbers, because the object will not be stored. */
  revert(): Promise<void>;
}

export interface AllocationSession extends Allocation {
  /** Called after the object is stored. Releases the numbers that it no longer needs. */
  finish(): Promise<void>;
}

export interface AllocatesNumbers {
  /**
   * Begins the session of one write. Returns undefined for resources that need no numbers. A dry run claims no numbers.
   */
  begin(context: RegistryContext, served: ServedResource, dryRun: boolean): AllocationSession | undefined;
}

const NOTHING_TO_ALLOCATE: Allocation = {
  assign: (object) => Promise.resolve(object),
  apply: (change) => Promise.resolve(change),
  guarded: (place) => place,
  revert: () => Promise.resolve(),
};

/**
 * Runs one write in an allocation session. `work` stores the result of `assign` or `apply`. If `work` returns undefined
 * or a forwarded request, or throws, nothing was stored and the numbers are released. Only after a storage error do the
 * numbers stay assigned, because the object may have been stored.
 */
export async function withAllocation<T extends object | undefined>(
  context: RegistryContext,
  served: ServedResource,
  dryRun: boolean,
  work: (allocation: Allocation) => Promise<T>,
): Promise<T> {
  const session = context.allocation?.begin(context, served, dryRun);
  if (session === undefined) return work(NOTHING_TO_ALLOCATE);
  let result: T;
  try {
    result = await work(session);
  } catch (thrown) {
    if (!(thrown instanceof StorageError)) await session.revert();
    throw thrown;
  }
  await (result === undefined || result instanceof Forwarded ? session.revert() : session.finish());
  return result;
}
