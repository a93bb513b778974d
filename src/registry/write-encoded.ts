import { serviceUnavailable } from "../meta/status-error.ts";
import type { Guard } from "../storage/kv.ts";
import type { WriteResult } from "../storage/object-store.ts";
import type { ServedResource, WriteEncoding } from "./resource.ts";

/** Each lost guard means that servers have just agreed on something else. */
const ATTEMPTS_MAX = 20;

/** Writes in the version that holds, again when another came to hold meanwhile. */
export async function writeEncoded(
  { stored }: Pick<ServedResource, "stored">,
  write: (encoding: WriteEncoding) => Promise<WriteResult>,
): Promise<WriteResult> {
  let lost: Guard | undefined;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const encoding = await stored.encoding.current(lost);
    const result = await write(encoding);
    if (result.committed || !result.isGuardLost) return result;
    lost = encoding.guard;
  }
  throw serviceUnavailable("the storage version changes too fast to write in it, please try again later", 1);
}
