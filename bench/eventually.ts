/** Retries for conditions that take a moment after servers are ready, such as peers discovering each other. */
import { setTimeout as sleep } from "node:timers/promises";

const GIVE_UP_MS = 10_000;
const POLL_MS = 50;

/** The first value that the attempt returns; throws its last error after a timeout. */
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
