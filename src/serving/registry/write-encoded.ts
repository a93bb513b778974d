import type { GroupVersion } from "../../meta/group-version.ts";
import { serviceUnavailable } from "../../meta/status-error.ts";
import type { Guard } from "../../storage/kv.ts";
import type { WriteResult } from "../../storage/object-store.ts";
import type { ServedResource } from "./resource.ts";

/** What a write depends on besides the version it is written in. */
export interface WriteGuards {
  readonly guards: readonly Guard[];
  /** Decides anew by what the store has now: the guards that hold now, or the error that the write fails with. */
  look(): Promise<readonly Guard[]>;
}

/** Each lost guard means that servers have just agreed on something else, or that somebody has changed the place. */
const ATTEMPTS_MAX = 20;

/** Writes in the version that holds, again when another came to hold meanwhile or the place is not what it was. */
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
    else placeGuards = (await place?.look()) ?? [];
  }
  throw serviceUnavailable("what the write depends on changes too fast, please try again later", 1);
}

function guardsOf(encoding: Guard | undefined, place: readonly Guard[]): readonly Guard[] | undefined {
  if (encoding === undefined) return place.length === 0 ? undefined : place;
  return [encoding, ...place];
}
