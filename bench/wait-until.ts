/** Waits for a condition that a server reaches on its own. */
import { setTimeout as sleep } from "node:timers/promises";

const GIVE_UP_MS = 600_000;
const POLL_MS = 50;

export async function waitUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + GIVE_UP_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`timed out waiting until ${what}`);
    await sleep(POLL_MS);
  }
}
