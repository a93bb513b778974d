/** The tasks that take a server through its start: hooks, readiness, and the metrics of its health checks. */
import { repeat, waitUntil, type BackgroundTask } from "../base/background.ts";
import { measureHealth } from "../serving/endpoints/health.ts";
import type { Foundation } from "./foundation.ts";

const HEALTH_MEASURE_MS = 5_000;

export function lifecycleTasks({ env, lifecycle, health }: Foundation): BackgroundTask[] {
  const { clock } = env;
  return [
    { name: "start-up", run: (signal) => lifecycle.runHooks(signal) },
    {
      name: "readiness",
      async run(signal) {
        await waitUntil(clock, () => health.checks.isReady(), signal);
        lifecycle.observeReadiness(!signal.aborted);
      },
    },
    {
      name: "health-metrics",
      run: (signal) => repeat(clock, HEALTH_MEASURE_MS, measureHealth(health.checks.all, health.metrics), signal),
    },
  ];
}
