/** Everything that is not ours and not deterministic. This is the whole list. */
import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Random } from "../base/random.ts";
import type { Kv } from "../storage/kv.ts";
import type { StorageConfig } from "./config.ts";

export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly openKv: (config: StorageConfig) => Promise<Kv>;
  /** Resident memory in bytes, CPU seconds used: for /metrics. */
  readonly processUsage: () => { readonly residentBytes: number; readonly cpuSeconds: number };
}
