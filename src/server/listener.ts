/** A server behind a port, and its end in order (see shutdown.ts). */
import { fixedValue, type Reloading } from "../access/auth/reloading/reloading.ts";
import { followTls, listenTls, type ServingKeyPair } from "../access/auth/reloading/serving-tls.ts";
import type { Clock } from "../base/clock.ts";
import type { Env } from "./env.ts";
import { buildServer, type Server } from "./build-server.ts";
import type { ServerConfig } from "./config.ts";
import type { Shutdown } from "./shutdown.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { ApiRequest } from "../serving/http/message.ts";
import { listen, type Listener } from "../serving/http/node/listener.ts";

export interface ListenConfig {
  readonly host: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  /** As it may be replaced while the server runs. Default: `cert` and `key`, for ever. */
  readonly certificate?: Reloading<ServingKeyPair> | undefined;
  /** Requests still open when the server must go have this long. Default: as long as any request may take. */
  readonly drainMs?: number;
  /** Stands before the whole chain. */
  readonly wrap?: (handle: Handler<ApiRequest>) => Handler<ApiRequest>;
}

/** What can be put behind a port. */
interface Listenable extends Shutdown {
  readonly handle: Handler<ApiRequest>;
  /** Where clients reach it (host:port). */
  announce(address: string): void;
}

export interface Listening<Served extends Listenable> {
  readonly server: Served;
  readonly host: string;
  readonly port: number;
  /** Drains and stops. Open requests have until the deadline. Calling it again is waiting for the same end. */
  stop(): Promise<void>;
  /** Closes every connection at once, and leaves everything else as it is. */
  disconnect(): Promise<void>;
}

export type ListeningServer = Listening<Server>;

export async function startListening(env: Env, config: ServerConfig, at: ListenConfig): Promise<ListeningServer> {
  return listenFor(await buildServer(env, config), { env, config, at });
}

/** Closes the server when the port cannot be had. */
export async function listenFor<Served extends Listenable>(
  server: Served,
  { env, config, at }: { readonly env: Env; readonly config: ServerConfig; readonly at: ListenConfig },
): Promise<Listening<Served>> {
  const { wrap = (handle) => handle, drainMs = config.requestTimeoutMs } = at;
  const tls = { certificate: at.certificate ?? fixedValue(at), authorities: config.authorities };
  let listener: Listener;
  try {
    listener = await listen({
      host: at.host,
      port: at.port,
      tls: listenTls(tls),
      handle: wrap(server.handle),
      log: (message, detail) => env.log.debug(message, { ...detail }),
    });
  } catch (thrown) {
    await server.close();
    throw thrown;
  }
  followTls(tls, (next) => listener.setTls(next), env.log);
  server.announce(`${listener.host}:${listener.port}`);
  let stopped: Promise<void> | undefined;
  return {
    server,
    host: listener.host,
    port: listener.port,
    stop: () => (stopped ??= stop({ clock: env.clock, server, listener, config, drainMs })),
    disconnect: () => listener.close(0),
  };
}

interface Stopping {
  readonly clock: Clock;
  readonly server: Listenable;
  readonly listener: Listener;
  readonly config: ServerConfig;
  readonly drainMs: number;
}

/** What is still being sent when the time is over has this long. */
const LAST_ANSWERS_MS = 2_000;

async function stop({ clock, server, listener, config, drainMs }: Stopping): Promise<void> {
  const { sendRetryAfter, delayMs } = config.shutdown;
  const refuseConnections = (): void => {
    listener.stopAccepting();
    server.stoppedListening();
  };
  // By then load balancers should have noticed: who connects anew comes to another server. Without a delay it would come here.
  const cancelAnnouncement = delayMs > 0 ? clock.after(delayMs / 2, () => listener.announceEnd()) : undefined;
  await server.beginShutdown();
  cancelAnnouncement?.();
  const startedAtMs = clock.monotonic();
  if (!sendRetryAfter) refuseConnections();
  await server.drain(drainMs);
  if (sendRetryAfter) refuseConnections();
  // Answers are there, but slow clients may still be reading them.
  const leftMs = drainMs - (clock.monotonic() - startedAtMs);
  await listener.close(Math.max(leftMs, LAST_ANSWERS_MS));
  await server.close();
}
