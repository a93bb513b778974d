/** The dependencies of the verbs. */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import type { JsonObject } from "../../meta/json.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import type { LeasePool } from "../../storage/lease-pool.ts";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { HeldObjects } from "./namespace-finalize.ts";
import type { AllocatesNumbers } from "./allocation.ts";

export interface RegistryContext {
  readonly store: ObjectStore;
  readonly leases: LeasePool;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * The storage prefix of namespaces, such as "/registry/namespaces/", where creations check their namespace.
   * Undefined: they do not check.
   */
  readonly namespacePrefix: string | undefined;
  /** Numbers that objects take from shared ranges. Absent if no resource needs any. */
  readonly allocation?: AllocatesNumbers;
  /**
   * The objects that the store now holds for a namespace, including those of resources that no server serves. Absent:
   * the content is not checked.
   */
  readonly namespaceContent?: (namespace: string) => Promise<readonly HeldObjects[]>;
}

/** The result of a write: the stored entry or, for a dry run, the object that would have been stored. */
export type Written = ({ readonly entry: Entry } | { readonly object: JsonObject }) & {
  /** Warnings for the client of a successful request. */
  readonly warnings?: readonly string[];
};

/** In seconds, UTC: the resolution of every timestamp that the server sets. */
export function timestamp(clock: Clock, fromNowMs = 0): string {
  return timestampAt(clock.now() + fromNowMs);
}
