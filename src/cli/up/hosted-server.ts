/** A server behind a port, with fault switches: in this process or, alone, in one of its own. */
import { listen, type Listener } from "../../http/node/listener.ts";
import { buildServer, type Server } from "../../server/build-server.ts";
import { resolveOptions, type ServerOptions } from "../../server/config.ts";
import type { Env } from "../../server/env.ts";
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
  const config = resolveOptions(launch.options);
  const server = await buildServer(faultyEnv(env, faults), config);
  const clientCa = [config.clientCa, config.requestHeader?.clientCa].filter((pem) => pem !== undefined).join("\n");
  let listener: Listener;
  try {
    listener = await listen({
      host: HOST,
      port: launch.port,
      tls: { cert: launch.cert, key: launch.key, ...(clientCa === "" ? {} : { clientCa }) },
      handle: faultyHandler(server.handle, faults),
      log: (message, detail) => env.log.debug(message, { ...detail }),
    });
  } catch (thrown) {
    await server.close();
    throw thrown;
  }
  server.announce(`${listener.host}:${listener.port}`);
  return {
    port: listener.port,
    ready: server.ready,
    stop: () => drain(server, listener),
    kill() {
      faults.kill();
      return listener.close(0);
    },
  };
}

async function drain(server: Server, listener: Listener): Promise<void> {
  await server.beginShutdown();
  listener.stopAccepting();
  server.endWatches();
  await listener.close(DRAIN_MS);
  await server.close();
}
