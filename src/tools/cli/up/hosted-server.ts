/** A listening server that can be paused, killed or partitioned, in this process or alone in a child process. */
import { resolveOptions, type ServerOptions } from "../../../server/config.ts";
import type { Env } from "../../../server/env.ts";
import { startListening } from "../../../server/listener.ts";
import type { FaultSwitch } from "./fault-switch.ts";
import { faultyEnv, faultyHandler } from "./faulty-env.ts";

export const HOST = "127.0.0.1";

/** The options of a server, as plain data that can be sent to a child process. */
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
  /** Shuts down gracefully. Open requests must complete before the deadline. */
  stop(): Promise<void>;
  /** Ends at once, without cleanup. */
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
