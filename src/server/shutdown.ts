/**
 * The graceful shutdown of a server, with the events of kube-apiserver in the same order. The server leaves the cluster
 * only after its requests have drained, so that no acknowledged write and no request in flight is lost.
 *
 *   ShutdownInitiated            /readyz fails; all requests are still served
 *     AfterShutdownDelayDuration the delay has passed; from half of it on, HTTP/1.1 responses close their connections
 *     PreShutdownHooksStopped    peers prefer other servers; another server leads the controllers
 *   NotAcceptingNewRequest       both indented events have happened; new requests are rejected with Retry-After
 *   HTTPServerStoppedListening   with --shutdown-send-retry-after, after InFlightRequestsDrained instead
 *   InFlightRequestsDrained      all open requests have ended, watches have ended cleanly
 *   close                        removes the endpoint record, then the identity lease; stops the background tasks;
 *                                closes the store
 */
import type { Audit } from "../access/audit/create-audit.ts";
import { sleep } from "../base/clock.ts";
import { messageOf, within } from "../base/within.ts";
import type { Kv } from "../storage/kv.ts";
import type { Background } from "../base/background.ts";
import type { Cluster } from "./assembly.ts";
import type { Foundation } from "./foundation.ts";

interface ShutdownParts {
  readonly on: Foundation;
  readonly cluster: Pick<Cluster, "drain" | "leave">;
  readonly background: Background;
  readonly kv: Kv;
  /** Closed during shutdown, so that all recorded audit events are written before the process ends. */
  readonly audit: Pick<Audit, "close">;
}

export interface Shutdown {
  /**
   * Makes /readyz fail. Resolves after the configured delay and the pre-shutdown hook; from then on new requests are
   * rejected.
   */
  beginShutdown(): Promise<void>;
  /** Ends the watches of clients. Resolves when all open requests have ended, or after `limitMs`. */
  drain(limitMs: number): Promise<void>;
  /** Records that the listener accepts no more connections. */
  stoppedListening(): void;
  /** Leaves the cluster, stops the background tasks, and closes the store. */
  close(): Promise<void>;
}

/**
 * Time limit of the pre-shutdown hook. The leader leases of this server expire within this time, so other servers take
 * over the controllers even if the hook fails.
 */
const BEFORE_SHUTDOWN_MS_MAX = 15_000;

const AUDIT_FLUSH_MS_MAX = 5_000;

export function createShutdown(parts: ShutdownParts): Shutdown {
  const { cluster, background, kv } = parts;
  const { env, config, lifecycle, open, transports } = parts.on;
  const { clock, log } = env;
  const { delayMs, watchGraceMs: graceMs } = config.shutdown;
  const delay = async (): Promise<void> => {
    if (delayMs > 0) await sleep(clock, delayMs);
    lifecycle.happened("AfterShutdownDelayDuration");
  };
  const begin = async (): Promise<void> => {
    lifecycle.happened("ShutdownInitiated");
    await Promise.all([delay(), beforeShutdown(parts)]);
    lifecycle.happened("NotAcceptingNewRequest");
  };
  let begun: Promise<void> | undefined;
  return {
    beginShutdown: () => (begun ??= begin()),
    async drain(limitMs) {
      if (!(await open.requests.drain({ clock, graceMs, limitMs })))
        log.warn("shutdown drain timed out with requests in flight", { requests: open.requests.answering });
      lifecycle.happened("InFlightRequestsDrained");
    },
    stoppedListening: () => lifecycle.happened("HTTPServerStoppedListening"),
    async close() {
      await cluster.leave();
      await background.stop();
      await transports.outbound?.close();
      await flushed(parts);
      await kv.close();
    },
  };
}

/** Writes the remaining audit events, within a time limit: a disk that does not respond must not block the shutdown. */
async function flushed({ on: { env }, audit }: ShutdownParts): Promise<void> {
  try {
    await within(env.clock, AUDIT_FLUSH_MS_MAX, () => audit.close());
  } catch (thrown) {
    env.log.warn("failed to write all audit events", { error: messageOf(thrown) });
  }
}

/**
 * Runs the pre-shutdown hook, and continues if it fails. DIFFERS: in kube-apiserver a failed hook ends the process at
 * once, together with the requests in flight.
 */
async function beforeShutdown({ on: { env, lifecycle }, cluster }: ShutdownParts): Promise<void> {
  const { clock, log } = env;
  try {
    await within(clock, BEFORE_SHUTDOWN_MS_MAX, () => cluster.drain());
  } catch (thrown) {
    log.warn("pre-shutdown hook failed, continuing the shutdown", { error: messageOf(thrown) });
  }
  lifecycle.happened("PreShutdownHooksStopped");
}
