/** What the verbs work with. */
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
  /** The storage prefix of namespaces, such as "/registry/namespaces/": creations look there. Undefined: nobody looks. */
  readonly namespacePrefix: string | undefined;
  /** Numbers that objects take from shared ranges. Absent: no resource here needs any. */
  readonly allocation?: AllocatesNumbers;
  /** What the store holds of a namespace now, also of resources that no server here serves. Absent: nobody looks. */
  readonly namespaceContent?: (namespace: string) => Promise<readonly HeldObjects[]>;
}

/** What a write left behind: a stored entry, or, for a dry run, what would have been stored. */
export type Written = ({ readonly entry: Entry } | { readonly object: JsonObject }) & {
  /** What the client should know although it succeeded. */
  readonly warnings?: readonly string[];
};

/** Seconds, UTC: the resolution of every timestamp the server sets. */
export function timestamp(clock: Clock, fromNowMs = 0): string {
  return timestampAt(clock.now() + fromNowMs);
}
