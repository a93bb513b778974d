/** A server behind a port, with fault switches: in this process or, alone, in one of its own. */
import { resolveOptions, type ServerOptions } from "../../../server/config.ts";
import type { Env } from "../../../server/env.ts";
import { startListening } from "../../../server/listener.ts";
import type { FaultSwitch } from "./fault-switch.ts";
import { faultyEnv, faultyHandler } from "./faulty-env.ts";

export const HOST = "127.0.0.1";

/** Plain data: it goes to other processes as it is. */
export interface Launch {
  readonly id: string;
  readonly options: ServerOptions;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
}

export interface HostedServer {
  readonly port: number;
  readonly ready: Promise<void>;
  /** Drains and leaves. Open requests have until the deadline. */
  stop(): Promise<void>;
  /** Ends at once, and leaves everything as it is. */
  kill(): Promise<void>;
}

const DRAIN_MS = 5_000;

export async function hostServer(env: Env, launch: Launch, faults: FaultSwitch): Promise<HostedServer> {
  const { options, port, cert, key } = launch;
  const listening = await startListening(faultyEnv(env, faults), resolveOptions(options), {
    host: HOST,
    port,
    cert,
    key,
    drainMs: DRAIN_MS,
    wrap: (handle) => faultyHandler(handle, faults),
  });
  return {
    port: listening.port,
    ready: listening.server.ready,
    stop: () => listening.stop(),
    kill() {
      faults.kill();
      return listening.disconnect();
    },
  };
}
