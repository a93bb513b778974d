/**
 * The port for numbers that an object takes from a range shared by the whole cluster, such as a Service's cluster IP
 * and node ports. The verbs run every write inside a session, so that a crash can leak a number but never assign one
 * twice.
 */
import type { JsonObject } from "../../meta/json.ts";
import { StorageError } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { RegistryContext } from "./context.ts";
import { Forwarded } from "./forwarded-request.ts";
import type { ObjectChange } from "./guaranteed-update.ts";
import type { ServedResource } from "./resource.ts";

export interface Allocation {
  /** Returns the object with all numbers it needs. Called again after a lost race, with the object stored by then. */
  assign(object: JsonObject, existing?: JsonObject): Promise<JsonObject>;
  /** The same for a decided change, which may be a removal. */
  apply(change: ObjectChange, existing: JsonObject): Promise<ObjectChange>;
  /** Releases the assigned numbers, because the object will not be stored. */
  revert(): Promise<void>;
}

export interface AllocationSession extends Allocation {
  /** Called after the object is stored; releases numbers that it no longer needs. */
  finish(): Promise<void>;
}

export interface AllocatesNumbers {
  /** Undefined for resources that need no numbers. A dry run claims nothing. */
  begin(context: RegistryContext, served: ServedResource, dryRun: boolean): AllocationSession | undefined;
  /** The same ranges in another store. */
  on(store: ObjectStore): AllocatesNumbers;
}

const NOTHING_TO_ALLOCATE: Allocation = {
  assign: (object) => Promise.resolve(object),
  apply: (change) => Promise.resolve(change),
  revert: () => Promise.resolve(),
};

/**
 * Runs one write. `work` stores the result of `assign` or `apply`. If it throws, or returns undefined or a forwarded
 * request, nothing was stored and the numbers are released. After a storage error the numbers stay assigned, because
 * the object may exist.
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
