/**
 * An API server for resources of one's own: everything that Kubernetes' clients expect of one, around what the resources
 * mean. It stands alone, or behind an APIService of the main API server.
 */
import { hostname } from "node:os";
import type { Authorizer } from "../../access/auth/authorize.ts";
import type { RequestHeaderFlags } from "../../access/auth/request-header-options.ts";
import { DEFAULT_RELEASE } from "../../objects/catalogue/release.ts";
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
import { gatesOf } from "../../objects/catalogue/release-gates.ts";

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
  /** Whose servers these are, such as "wardle-apiserver": several with one store have one name. */
  readonly component: string;
  readonly resources: readonly ResourceDefinition[];
  readonly listen: ApiServerListen;
  /** Who may ask. Without any of it everybody is a stranger, who may ask for health and version. */
  readonly authentication?: ApiServerAuthentication;
  /** Default: whoever is known may do everything. */
  readonly authorize?: Authorizer;
  /** Where storage versions are published, and with whose credentials. Absent: nothing is published. */
  readonly mainServer?: NodeTransportOptions;
  /** Default: made of the host's name and the component, so that servers of one component on one host need it. */
  readonly serverId?: string;
  /** Of the identity lease: how long it lasts, how often it is renewed, and so on. */
  readonly timing?: Partial<PeerTiming>;
  /** What is written to standard error. Default "warn". */
  readonly logLevel?: LogLevel;
}

export interface ApiServerListen {
  /** Default "127.0.0.1". */
  readonly host?: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** PEM. Absent: one is made, which `ca` of the running server vouches for. */
  readonly tls?: Pick<ListenConfig, "cert" | "key">;
  /** Names and addresses of a certificate that is made, beside the host. */
  readonly names?: readonly string[];
}

export interface ApiServerAuthentication {
  /** The main API server, known by a certificate of this CA, says for whom it asks. */
  readonly requestHeader?: Omit<RequestHeaderFlags, "userCa">;
  /** PEM of the CA whose client certificates name users. */
  readonly clientCa?: string;
  /** The text of a token file: token,user,uid[,"group1,group2"]. */
  readonly tokens?: string;
}

export interface ApiServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
  /** Such as "https://127.0.0.1:8443". */
  readonly url: string;
  /** PEM of what vouches for its certificate (the caBundle of an APIService), if it was made here. */
  readonly ca: string | undefined;
  /** Resolves when /readyz has passed for the first time. */
  readonly ready: Promise<void>;
  /** Drains and stops. Calling it again is waiting for the same end. */
  stop(): Promise<void>;
}

/** Throws an OptionError with one sentence for options that cannot be used. */
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
    // Beside the main API server's, which follows everything under /registry.
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

/** Attempts are short, and a failed one is followed by another soon: this client does not retry by itself. */
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
