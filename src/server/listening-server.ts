/** A server behind a port, and its end told in order (see lifecycle.ts). */
import type { Env } from "./env.ts";
import { buildServer, type Server } from "./build-server.ts";
import type { ServerConfig } from "./config.ts";
import type { Handler } from "../http/chain.ts";
import type { ApiRequest } from "../http/message.ts";
import { listen, type Listener } from "../http/node/listener.ts";

export interface ListenConfig {
  readonly host: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  /** Requests still open when the server must go have this long. Default one minute. */
  readonly drainMs?: number;
  /** Stands before the whole chain. */
  readonly wrap?: (handle: Handler<ApiRequest>) => Handler<ApiRequest>;
}

export interface ListeningServer {
  readonly server: Server;
  readonly host: string;
  readonly port: number;
  /** Drains and stops. Open requests have until the deadline. */
  stop(): Promise<void>;
  /** Closes every connection at once, and leaves everything else as it is. */
  disconnect(): Promise<void>;
}

/** Whoever presents a certificate is looked at; which authority it leads to is for authentication to find out. */
function clientAuthorities({ clientCa, requestHeader }: ServerConfig): { clientCa?: string } {
  const authorities = [clientCa, requestHeader?.clientCa].filter((pem) => pem !== undefined);
  return authorities.length === 0 ? {} : { clientCa: authorities.join("\n") };
}

const DRAIN_MS = 60_000;

export async function startListening(env: Env, config: ServerConfig, at: ListenConfig): Promise<ListeningServer> {
  const server = await buildServer(env, config);
  const { wrap = (handle) => handle, drainMs = DRAIN_MS } = at;
  let listener: Listener;
  try {
    listener = await listen({
      host: at.host,
      port: at.port,
      tls: { cert: at.cert, key: at.key, ...clientAuthorities(config) },
      handle: wrap(server.handle),
      log: (message, detail) => env.log.debug(message, { ...detail }),
    });
  } catch (thrown) {
    await server.close();
    throw thrown;
  }
  server.announce(`${listener.host}:${listener.port}`);
  return {
    server,
    host: listener.host,
    port: listener.port,
    async stop() {
      await server.beginShutdown();
      listener.stopAccepting();
      server.endWatches();
      await listener.close(drainMs);
      await server.close();
    },
    disconnect: () => listener.close(0),
  };
}
