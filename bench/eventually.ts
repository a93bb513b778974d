/**
 * Retries an attempt that succeeds only some time after the servers are ready, such as one that needs peers to have
 * discovered each other.
 */
import { setTimeout as sleep } from "node:timers/promises";

const GIVE_UP_MS = 10_000;
const POLL_MS = 50;

/** Returns the first value that the attempt returns; throws its last error after a timeout. */
export async function eventually<Value>(attempt: () => Promise<Value>): Promise<Value> {
  const deadline = performance.now() + GIVE_UP_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (thrown) {
      if (performance.now() > deadline) throw thrown;
    }
    await sleep(POLL_MS);
  }
}
