/** The dependencies that the functions of the registry (create, update, delete, list …) share. */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import type { IpFamily } from "../../meta/ip-address.ts";
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
   * The key prefix of namespaces, such as "/registry/namespaces/", under which a creation checks its namespace.
   * Undefined if creations do not check it.
   */
  readonly namespacePrefix: string | undefined;
  /** Assigns numbers from shared ranges to objects. Absent if no resource needs numbers. */
  readonly allocation?: AllocatesNumbers;
  /** The IP families of cluster IPs, the default one first. Absent if the server allocates none. */
  readonly ipFamilies?: readonly IpFamily[];
  /**
   * Counts the objects that the store holds for a namespace, including those of resources that no server serves. Absent
   * if the content of a namespace is not checked.
   */
  readonly namespaceContent?: (namespace: string) => Promise<readonly HeldObjects[]>;
  /**
   * True if clients may delete objects that cannot be read. As kubernetes: a list then names all unreadable objects
   * instead of the first one.
   */
  readonly allowsUnsafeDeletion?: boolean;
  /** True if pods must not have privileged containers. */
  readonly forbidsPrivileged?: boolean;
  /** Minimum duration of a watch without timeoutSeconds. It ends after a random time between this and twice this. */
  readonly watchTimeoutMsMin?: number;
}

/** The result of a write: the stored entry or, for a dry run, the object that would have been stored. */
export type Written = ({ readonly entry: Entry } | { readonly object: JsonObject }) & {
  /** Warnings for the client, if the request succeeds. */
  readonly warnings?: readonly string[];
};

/** The time in UTC with a resolution of one second, which every timestamp that the server sets has. */
export function timestamp(clock: Clock, fromNowMs = 0): string {
  return timestampAt(clock.now() + fromNowMs);
}
