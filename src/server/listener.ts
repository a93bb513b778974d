/** Listens on a port for a server, and shuts the server down gracefully when it stops (see shutdown.ts). */
import { fixedValue, type Reloading } from "../access/auth/reloading/reloading.ts";
import { applyTlsChanges, listenTls, type ServingKeyPair } from "../access/auth/reloading/serving-tls.ts";
import type { Clock } from "../base/clock.ts";
import type { Env } from "./env.ts";
import { buildServer, type Server } from "./build-server.ts";
import type { ServerConfig } from "./config.ts";
import type { Shutdown } from "./shutdown.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { ApiRequest } from "../serving/http/message.ts";
import { listen, type Listener, type TlsSettings } from "../serving/http/node/listener.ts";
import type { NamedKeyPair } from "../serving/http/node/named-contexts.ts";
import type { HttpLimits } from "../serving/http/node/http-limits.ts";

export interface ListenConfig {
  readonly host: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  /** Serving certificate that can change while the server runs. Default: `cert` and `key`, which never change. */
  readonly certificate?: Reloading<ServingKeyPair> | undefined;
  /** Certificates for single server names, which can change while the server runs. */
  readonly named?: Reloading<readonly NamedKeyPair[]> | undefined;
  readonly tlsSettings?: TlsSettings;
  readonly isHttp2Disabled?: boolean;
  /** Whether other processes may listen on the same port. */
  readonly isPortShared?: boolean;
  readonly limits?: Partial<HttpLimits>;
  /** Time limit for open requests during shutdown, in ms. Default: the request timeout. */
  readonly drainMs?: number;
  /** Wraps the whole handler chain, for example to inject faults. */
  readonly wrap?: (handle: Handler<ApiRequest>) => Handler<ApiRequest>;
}

/** A server that can listen on a port. */
interface Listenable extends Shutdown {
  readonly handle: Handler<ApiRequest>;
  /** Publishes the address (host:port) at which clients reach the server. */
  announce(address: string): void;
}

export interface Listening<Served extends Listenable> {
  readonly server: Served;
  readonly host: string;
  readonly port: number;
  /**
   * Drains and stops the server. Open requests have until the deadline of `drainMs`. Later calls wait for the same
   * shutdown.
   */
  stop(): Promise<void>;
  /** Stops listening and closes every connection at once. The server itself keeps running. */
  disconnect(): Promise<void>;
}

export type ListeningServer = Listening<Server>;

export async function startListening(env: Env, config: ServerConfig, at: ListenConfig): Promise<ListeningServer> {
  return listenFor(await buildServer(env, config), { env, config, at });
}

/** Listens on the port. If that fails, closes the server and throws. */
export async function listenFor<Served extends Listenable>(
  server: Served,
  { env, config, at }: { readonly env: Env; readonly config: ServerConfig; readonly at: ListenConfig },
): Promise<Listening<Served>> {
  const { wrap = (handle) => handle, drainMs = config.requestTimeoutMs } = at;
  const { named, tlsSettings: settings } = at;
  const tls = { certificate: at.certificate ?? fixedValue(at), authorities: config.authorities, named, settings };
  let listener: Listener;
  try {
    listener = await listen({
      host: at.host,
      port: at.port,
      tls: listenTls(tls),
      handle: wrap(server.handle),
      log: (message, detail) => env.log.debug(message, { ...detail }),
      limits: at.limits ?? {},
      isHttp2Disabled: at.isHttp2Disabled ?? false,
      isPortShared: at.isPortShared ?? false,
    });
  } catch (thrown) {
    await server.close();
    throw thrown;
  }
  applyTlsChanges(tls, (next) => listener.setTls(next), env.log);
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

/** Minimum time for responses that are still being sent after the drain deadline. */
const LAST_RESPONSES_MS = 2_000;

async function stop({ clock, server, listener, config, drainMs }: Stopping): Promise<void> {
  const { sendRetryAfter, delayMs } = config.shutdown;
  const stopListening = (): void => {
    listener.stopAccepting();
    server.stoppedListening();
  };
  // After half the delay, load balancers should have noticed that /readyz fails, so a client that is asked to reconnect
  // reaches another server. Without a delay the client would reconnect to this server.
  const cancelAnnouncement = delayMs > 0 ? clock.after(delayMs / 2, () => listener.announceEnd()) : undefined;
  await server.beginShutdown();
  cancelAnnouncement?.();
  const startedAtMs = clock.monotonic();
  if (!sendRetryAfter) stopListening();
  await server.drain(drainMs);
  if (sendRetryAfter) stopListening();
  // All responses are complete, but slow clients may still be reading them.
  const leftMs = drainMs - (clock.monotonic() - startedAtMs);
  await listener.close(Math.max(leftMs, LAST_RESPONSES_MS));
  await server.close();
}
