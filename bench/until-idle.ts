/** Waits until a server has finished its work: until it uses hardly any CPU time. */
import { setTimeout as sleep } from "node:timers/promises";
import { cpuMs } from "./process-usage.ts";

const INTERVAL_MS = 300;
const IDLE_SHARE = 0.1;

export async function untilIdle(pid: number): Promise<void> {
  for (;;) {
    const before = cpuMs(pid);
    await sleep(INTERVAL_MS);
    if (cpuMs(pid) - before < IDLE_SHARE * INTERVAL_MS) return;
  }
}
