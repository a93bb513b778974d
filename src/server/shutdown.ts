/**
 * How a server leaves: moments in the order of kube-apiserver's, the way out of the cluster in the order that loses nothing.
 *
 *   ShutdownInitiated            /readyz fails; everything is served as before
 *     the delay                  → AfterShutdownDelayDuration; from half of it on HTTP/1.1 connections end behind an answer
 *     peers are told to come here only if nobody else can answer; another server leads → PreShutdownHooksStopped
 *   NotAcceptingNewRequest       both are over: whatever comes now is refused, and told when to come again
 *   HTTPServerStoppedListening   here, or last if clients are to be told rather than refused
 *   InFlightRequestsDrained      what was open has been answered, watches have ended cleanly
 *   close                        the endpoint record goes, then the identity lease, then the background, then the store
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
  /** Events that were recorded are written before the server ends. */
  readonly audit: Pick<Audit, "close">;
}

export interface Shutdown {
  /** /readyz fails from now on. Resolves when new requests are refused: after the configured delay. */
  beginShutdown(): Promise<void>;
  /** Ends clients' watches, and resolves when their requests have been answered, or the time has passed. */
  drain(limitMs: number): Promise<void>;
  /** Nobody can connect any more. */
  stoppedListening(): void;
  /** Leaves the cluster, stops the background, closes the store. */
  close(): Promise<void>;
}

/** What keeps others from taking over is not worth more: they wait no longer for a leader that is gone. */
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
        log.warn("requests were not answered in time for the shutdown", { requests: open.requests.answering });
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

/** A disk that does not answer must not keep the server from ending. */
async function flushed({ on: { env }, audit }: ShutdownParts): Promise<void> {
  try {
    await within(env.clock, AUDIT_FLUSH_MS_MAX, () => audit.close());
  } catch (thrown) {
    env.log.warn("not all audit events were written", { error: messageOf(thrown) });
  }
}

/** DIFFERS: a hook of kube-apiserver that fails ends the shutdown there, and requests under way with it. */
async function beforeShutdown({ on: { env, lifecycle }, cluster }: ShutdownParts): Promise<void> {
  const { clock, log } = env;
  try {
    await within(clock, BEFORE_SHUTDOWN_MS_MAX, () => cluster.drain());
  } catch (thrown) {
    log.warn("the shutdown goes on although others could not be told of it", { error: messageOf(thrown) });
  }
  lifecycle.happened("PreShutdownHooksStopped");
}
