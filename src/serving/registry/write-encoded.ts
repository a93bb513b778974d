/** Writes or removes an object with guards on the agreement of the servers, and retries if a guard does not hold. */
import type { GroupVersion } from "../../meta/group-version.ts";
import { serviceUnavailable } from "../../meta/status-error.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ObjectStore, WriteResult } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { ServedResource } from "./resource.ts";

/** The guards of a write besides the guard on its encoding. */
export interface WriteGuards {
  readonly guards: readonly Guard[];
  /**
   * Reads the newest state of the store after the guard on the key `lost` did not hold. Returns the guards that hold now,
   * or throws the error with which the write fails.
   */
  look(lost?: string): Promise<readonly Guard[]>;
}

/**
 * Maximum number of attempts. After each failed attempt, the servers have agreed on another encoding, or the namespace
 * or CRD has changed.
 */
const ATTEMPTS_MAX = 20;

/**
 * Writes an object in the version on which the servers agree. Repeats the write if the guard on this version or another
 * guard does not hold.
 */
export async function writeEncoded(
  { stored }: Pick<ServedResource, "stored">,
  write: (version: GroupVersion, guards: readonly Guard[] | undefined) => Promise<WriteResult>,
  place?: WriteGuards,
): Promise<WriteResult> {
  let lost: Guard | undefined;
  let placeGuards = place?.guards ?? [];
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const encoding = await stored.encoding.current(lost);
    const result = await write(encoding.version, guardsOf(encoding.guard, placeGuards));
    if (result.committed || result.lostGuard === undefined) return result;
    if (result.lostGuard === encoding.guard?.key) lost = encoding.guard;
    else placeGuards = (await place?.look(result.lostGuard)) ?? [];
  }
  throw serviceUnavailable("the namespace or encoding of the object changes too fast, please try again later", 1);
}

/**
 * Removes an object if no server treats this one as departed. Repeats the removal if only the StorageVersion object has
 * changed meanwhile.
 */
export async function removeGuarded(
  { stored }: Pick<ServedResource, "stored">,
  store: Pick<ObjectStore, "remove">,
  entry: Entry,
): ReturnType<ObjectStore["remove"]> {
  let lost: Guard | undefined;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const guard = await stored.encoding.deletionGuard(lost);
    const result = await store.remove(entry, guard && [guard]);
    if (result.committed || result.lostGuard === undefined) return result;
    lost = guard;
  }
  throw serviceUnavailable("the encoding of the object changes too fast, please try again later", 1);
}

function guardsOf(encoding: Guard | undefined, place: readonly Guard[]): readonly Guard[] | undefined {
  if (encoding === undefined) return place.length === 0 ? undefined : place;
  return [encoding, ...place];
}
