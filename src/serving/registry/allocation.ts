/**
 * The port for numbers that an object takes from a range the whole cluster shares, such as a Service's cluster IP and node
 * ports. The verbs run every write inside a session, so that a crash leaks at most a number and never hands one out twice.
 */
import type { JsonObject } from "../../meta/json.ts";
import { StorageError } from "../../storage/kv.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { RegistryContext } from "./context.ts";
import { Forwarded } from "./forwarded-request.ts";
import type { ObjectChange } from "./guaranteed-update.ts";
import type { ServedResource } from "./resource.ts";

export interface Allocation {
  /** The object with everything it needs. Called again after a lost race, with what is there by then. */
  assign(object: JsonObject, existing?: JsonObject): Promise<JsonObject>;
  /** The same for a change that has been decided, which may be a removal. */
  apply(change: ObjectChange, existing: JsonObject): Promise<ObjectChange>;
  /** Gives back what was assigned: it will not be stored after all. */
  revert(): Promise<void>;
}

export interface AllocationSession extends Allocation {
  /** The object is stored: releases what it no longer needs. */
  finish(): Promise<void>;
}

export interface AllocatesNumbers {
  /** Undefined for resources that need no numbers. A dry run claims nothing. */
  begin(context: RegistryContext, served: ServedResource, dryRun: boolean): AllocationSession | undefined;
  /** The same ranges, kept in another store. */
  on(store: ObjectStore): AllocatesNumbers;
}

const NOTHING_TO_ALLOCATE: Allocation = {
  assign: (object) => Promise.resolve(object),
  apply: (change) => Promise.resolve(change),
  revert: () => Promise.resolve(),
};

/**
 * Runs one write. `work` stores what `assign` or `apply` returned; when it throws, returns undefined or returns a request
 * that a peer serves, nothing was stored. A write whose outcome is unknown keeps its numbers: the object may be there.
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
