/**
 * Creates an API server for a program's own resources, with everything that Kubernetes clients expect of an API server.
 * It runs alone, or behind an APIService of the main API server.
 */
import { hostname } from "node:os";
import type { Authorizer } from "../../access/auth/authorize.ts";
import type { RequestHeaderFlags } from "../../access/auth/request-header-options.ts";
import { DEFAULT_RELEASE } from "../../objects/catalog/release.ts";
import { createClient, type Client } from "../../client/client.ts";
import { createNodeTransport, type NodeTransport, type NodeTransportOptions } from "../../client/node-transport.ts";
import { createServingCertificate } from "../../serving/http/node/serving-certificate.ts";
import { labelValueErrors } from "../../meta/names.ts";
import { serverId } from "../../cluster/peers/server-id.ts";
import type { PeerTiming } from "../../cluster/peers/timing.ts";
import { assembleServer, type Server } from "../build-server.ts";
import { libraryAssembly } from "./assembly.ts";
import type { ResourceDefinition } from "../../extensions/library/resource-definition.ts";
import { ownResources } from "../../extensions/library/resource-table.ts";
import { resolveOptions, type ServerConfig, type ServerOptions } from "../config.ts";
import type { Env } from "../env.ts";
import { createNodeEnv, type LogLevel } from "../env-node.ts";
import { listenFor, type Listening, type ListenConfig } from "../listener.ts";
import { OptionError } from "../../base/option-error.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";

export interface ApiServerOptions extends Pick<
  ServerOptions,
  | "storage"
  | "etcdPrefix"
  | "requestTimeoutMs"
  | "maxRequestsInflight"
  | "maxMutatingRequestsInflight"
  | "compactionIntervalMs"
  | "shutdown"
> {
  /**
   * The name that all servers of the program share, such as "wardle-apiserver". Servers that share a store must have
   * the same name.
   */
  readonly component: string;
  readonly resources: readonly ResourceDefinition[];
  readonly listen: ApiServerListen;
  /** How clients authenticate. Default: every client is anonymous and may read only health and version. */
  readonly authentication?: ApiServerAuthentication;
  /** Authorizes requests. Default: every authenticated user may do everything. */
  readonly authorize?: Authorizer;
  /**
   * Address and credentials of the main API server, to which this server publishes its storage versions. If absent, it
   * publishes nothing.
   */
  readonly mainServer?: NodeTransportOptions;
  /**
   * Unique ID of this server. Default: derived from the host name and the component, so servers of one component on the
   * same host must set it.
   */
  readonly serverId?: string;
  /** Timing of the identity lease, such as its duration and its renew interval. */
  readonly timing?: Partial<PeerTiming>;
  /** Lowest level of the log messages that are written to standard error. Default "warn". */
  readonly logLevel?: LogLevel;
}

export interface ApiServerListen {
  /** Address to listen on. Default "127.0.0.1". */
  readonly host?: string;
  /** Port to listen on; 0 selects any free port. */
  readonly port: number;
  /**
   * Serving certificate and key in PEM. If absent, a certificate is generated and signed by the `ca` of the running
   * server.
   */
  readonly tls?: Pick<ListenConfig, "cert" | "key">;
  /** Additional DNS names and IP addresses of a generated certificate. */
  readonly names?: readonly string[];
}

export interface ApiServerAuthentication {
  /** The CA and the headers with which the main API server authenticates itself and its users. */
  readonly requestHeader?: Omit<RequestHeaderFlags, "userCa">;
  /** PEM of the CA that signs the client certificates of users. */
  readonly clientCa?: string;
  /** The content of a static token file, with lines token,user,uid[,"group1,group2"]. */
  readonly tokens?: string;
}

export interface ApiServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** For example "https://127.0.0.1:8443". */
  readonly url: string;
  /**
   * PEM of the CA that signed a generated certificate, for the caBundle of an APIService; undefined if the certificate
   * was given.
   */
  readonly ca: string | undefined;
  /** Resolves when /readyz has passed for the first time. */
  readonly ready: Promise<void>;
  /** Drains and stops the server. Later calls wait for the same shutdown. */
  stop(): Promise<void>;
}

/** Throws an OptionError with one sentence about the first invalid option. */
export async function createApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const env = createNodeEnv({ logLevel: options.logLevel ?? "warn" });
  const config = toConfig(options);
  const resources = ownResources(options.resources, gatesOf(DEFAULT_RELEASE));
  const { host, port, cert, key, ca } = listenAt(options.listen, env);
  const transport = options.mainServer && createNodeTransport(options.mainServer);
  try {
    const main = transport && toClient(env, transport, options.component);
    const { component, authorize: authorizer } = options;
    const built = await assembleServer(env, config, libraryAssembly({ component, resources, main, authorizer }));
    const listening = await listenFor(built, { env, config, at: { host, port, cert, key } });
    return running(listening, { ca, transport });
  } catch (thrown) {
    transport?.[Symbol.dispose]();
    throw thrown;
  }
}

function toConfig(options: ApiServerOptions): ServerConfig {
  const { component, authentication = {}, timing } = options;
  if (component === "" || labelValueErrors(component).length > 0)
    throw new OptionError(`the component must be a name such as wardle-apiserver, not ${JSON.stringify(component)}`);
  const { requestHeader, clientCa, tokens } = authentication;
  const host = hostname();
  return resolveOptions({
    ...options,
    strictRelease: true,
    controllers: [],
    // The default is not /registry, because the main API server watches everything under that prefix.
    etcdPrefix: options.etcdPrefix ?? `/${component}`,
    peers: {
      hostname: host,
      serverId: options.serverId ?? serverId(host, component),
      ...(timing === undefined ? {} : { timing }),
    },
    ...(requestHeader === undefined ? {} : { requestHeader }),
    ...(clientCa === undefined ? {} : { clientCa }),
    ...(tokens === undefined ? {} : { tokenFile: tokens }),
  });
}

function listenAt(
  { host = "127.0.0.1", port, tls, names = [] }: ApiServerListen,
  { clock }: Env,
): { host: string; port: number; cert: string; key: string; ca: string | undefined } {
  if (tls !== undefined) return { host, port, ...tls, ca: undefined };
  const hosts = [...new Set([host, "localhost", "127.0.0.1", ...names])];
  const made = createServingCertificate({ hosts, commonName: host, nowMs: clock.now() });
  return { host, port, cert: made.certPem, key: made.keyPem, ca: made.caPem };
}

/** Creates a client without retries, because its callers make short attempts and repeat them themselves. */
function toClient({ clock, random }: Env, transport: NodeTransport, component: string): Client {
  return createClient({ transport, clock, random, userAgent: component, defaults: { retriesMax: 0 } });
}

function running(
  listening: Listening<Server>,
  { ca, transport }: { readonly ca: string | undefined; readonly transport: NodeTransport | undefined },
): ApiServer {
  const { server, host, port } = listening;
  let stopped: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    await listening.stop();
    transport?.[Symbol.dispose]();
  };
  const stopOnce = (): Promise<void> => (stopped ??= end());
  return {
    host,
    port,
    ca,
    url: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ready: server.ready,
    stop: stopOnce,
    [Symbol.asyncDispose]: stopOnce,
  };
}
