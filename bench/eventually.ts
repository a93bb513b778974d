/** For what needs a moment after servers are ready, such as hearing of each other. */
import { setTimeout as sleep } from "node:timers/promises";

const GIVE_UP_MS = 10_000;
const POLL_MS = 50;

/** The first value the attempt returns without throwing; what it threw last when that takes too long. */
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
