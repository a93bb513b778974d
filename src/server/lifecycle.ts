/**
 * Tracks the lifecycle of a server: its start-up hooks, its readiness and its shutdown events. Its phases, in order:
 *
 *   start      the store is opened, background tasks start, the watch cache loads
 *   hooks      the start-up hooks run one after the other; /readyz lists the hooks that have not finished
 *   ready      /readyz has passed for the first time; from then on X-Kubernetes-If-Ready is always satisfied
 *   shutdown   /readyz fails; load balancers notice during the delay; other servers take over the controllers
 *   draining   new requests are rejected, watches end cleanly, open requests finish (see shutdown.ts)
 *   stopped    background tasks have ended, the store is closed; no acknowledged write is lost
 */
import type { Clock } from "../base/clock.ts";
import { retryAfterStep } from "../serving/http/filters/if-ready.ts";
import { SILENT_LOG, type Log } from "../base/log.ts";
import { HOOK_PREFIX, type StartupHook } from "../base/startup-hook.ts";
import { measureHealth, type HealthCheck } from "../serving/endpoints/health.ts";
import { repeat, waitUntil, type BackgroundTask } from "../base/background.ts";
import { messageOf } from "../base/within.ts";
import type { Foundation } from "./foundation.ts";

/**
 * The shutdown events, with kube-apiserver's names. --shutdown-send-retry-after decides which of the last two happens
 * first.
 */
type ShutdownEvent =
  | "ShutdownInitiated"
  | "AfterShutdownDelayDuration"
  | "PreShutdownHooksStopped"
  | "NotAcceptingNewRequest"
  | "InFlightRequestsDrained"
  | "HTTPServerStoppedListening";

export class Lifecycle {
  readonly #pendingHooks = new Set<string>();
  readonly #hooks: StartupHook[] = [];
  readonly #ready = Promise.withResolvers<void>();
  readonly #onStep: (() => void)[] = [];
  readonly #shutdownEvents = new Set<ShutdownEvent>();
  readonly #log: Log;
  #hasBeenReady = false;

  constructor(log: Log = SILENT_LOG) {
    this.#log = log;
  }

  /** Adds hooks. They run in the order in which they are added, and all of them run before the server is ready. */
  addHooks(hooks: readonly StartupHook[]): void {
    this.#hooks.push(...hooks);
    for (const { name } of hooks) this.#pendingHooks.add(name);
  }

  /** Resolves when the server is ready for the first time. */
  get ready(): Promise<void> {
    return this.#ready.promise;
  }

  get hasBeenReady(): boolean {
    return this.#hasBeenReady;
  }

  /**
   * Retry-After of 503 responses during start-up. It depends on the time that the current start-up hook has taken so
   * far.
   */
  retryAfter(clock: Clock): () => number {
    let stepSinceMs = clock.monotonic();
    this.#onStep.push(() => {
      stepSinceMs = clock.monotonic();
    });
    return () => retryAfterStep(clock.monotonic() - stepSinceMs);
  }

  /** Runs the hooks one after the other, because a hook may rely on those before it. */
  async runHooks(signal: AbortSignal): Promise<void> {
    for (const hook of this.#hooks) {
      await runHook(hook, signal);
      if (signal.aborted) return;
      this.#pendingHooks.delete(hook.name);
      for (const listener of this.#onStep) listener();
    }
  }

  /**
   * Called whenever readiness may have changed. The first true value is kept: the server then counts as having been
   * ready.
   */
  observeReadiness(isReady: boolean): void {
    if (!isReady || this.#hasBeenReady) return;
    this.#hasBeenReady = true;
    this.#ready.resolve();
  }

  /** Whether the event has happened; once true, it stays true. */
  hasHappened(event: ShutdownEvent): boolean {
    return this.#shutdownEvents.has(event);
  }

  happened(event: ShutdownEvent): void {
    if (this.hasHappened(event)) return;
    this.#shutdownEvents.add(event);
    this.#log.info("shutdown event", { name: event });
  }

  /**
   * Logs the health checks that failed when a client requested a health path. While the server starts or shuts down,
   * its checks fail by design, which is no reason for a warning.
   */
  readonly reportFailedChecks = (failed: Readonly<Record<string, string>>): void => {
    const isExpected = !this.#hasBeenReady || this.hasHappened("ShutdownInitiated");
    this.#log[isExpected ? "info" : "warn"]("health check failed", { failed });
  };

  readonly checks = (): HealthCheck[] => [
    ...this.#hooks.flatMap(({ name: hook, also = [] }) =>
      [`${HOOK_PREFIX}${hook}`, ...also].map((name): HealthCheck => ({
        name,
        check: () => (this.#pendingHooks.has(hook) ? "not finished" : undefined),
        // DIFFERS: kube-apiserver includes these checks in /livez. Here they are left out, because a hook that waits
        // for the store is no reason to restart the process.
        endpoints: ["healthz", "readyz"],
      })),
    ),
    {
      name: "shutdown",
      check: () => (this.hasHappened("ShutdownInitiated") ? "process is shutting down" : undefined),
      endpoints: ["readyz"],
    },
  ];
}

async function runHook(hook: StartupHook, signal: AbortSignal): Promise<void> {
  try {
    await hook.run(signal);
  } catch (thrown) {
    throw new Error(`the hook ${HOOK_PREFIX}${hook.name} failed: ${messageOf(thrown)}`, { cause: thrown });
  }
}

const HEALTH_MEASURE_MS = 5_000;

/** The tasks that run the start-up hooks, observe readiness, and measure the health checks. */
export function lifecycleTasks({ env, lifecycle, health }: Foundation): BackgroundTask[] {
  const { clock } = env;
  const measure = measureHealth(health.checks.all, health.metrics);
  return [
    // As kubernetes: a failed hook ends the process, because a server that has not started completely never gets ready.
    { name: "start-up", run: (signal) => lifecycle.runHooks(signal), mayReturn: true, isEssential: true },
    {
      name: "readiness",
      mayReturn: true,
      async run(signal) {
        await waitUntil(clock, () => health.checks.isReady(), signal);
        lifecycle.observeReadiness(!signal.aborted);
      },
    },
    {
      name: "health-metrics",
      run: (signal) => repeat(clock, HEALTH_MEASURE_MS, measure, signal),
    },
  ];
}
