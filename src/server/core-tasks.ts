/** What runs beside the requests of every server, whatever it serves. */
import type { MetricsRegistry } from "../base/metrics.ts";
import { measureHealth, type HealthCheck } from "../serving/endpoints/health.ts";
import type { Kv } from "../storage/kv.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import { repeat, waitUntil, type BackgroundTask } from "./background.ts";
import { compactor } from "./compactor.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { isReady } from "./health-checks.ts";
import { runHooks, type Lifecycle, type StartupHook } from "./lifecycle.ts";

export interface CoreTaskParts {
  readonly env: Env;
  readonly config: Pick<ServerConfig, "compactionIntervalMs">;
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly lifecycle: Lifecycle;
  readonly checks: () => HealthCheck[];
  readonly healthMetrics: MetricsRegistry;
}

const HEALTH_MEASURE_MS = 5_000;

export function coreTasks(parts: CoreTaskParts, hooks: readonly StartupHook[]): BackgroundTask[] {
  const { env, config, kv, cache, lifecycle, checks, healthMetrics } = parts;
  const { clock, log } = env;
  return [
    { name: "watch-cache", run: (signal) => cache.run(signal) },
    { name: "start-up", run: (signal) => runHooks(hooks, lifecycle, signal) },
    {
      name: "readiness",
      async run(signal) {
        await waitUntil(clock, () => isReady(checks()), signal);
        lifecycle.observeReadiness(!signal.aborted);
      },
    },
    {
      name: "health-metrics",
      run: (signal) => repeat(clock, HEALTH_MEASURE_MS, measureHealth(checks, healthMetrics), signal),
    },
    compactor({ kv, clock, log, intervalMs: config.compactionIntervalMs }),
  ];
}
