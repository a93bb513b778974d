/**
 * The first stage of building a server: environment, configuration, metrics, health checks, loopback client and open
 * connections. All later stages depend on it.
 */
import type { Audit } from "../access/audit/create-audit.ts";
import { openAudit } from "../access/audit/open-audit.ts";
import { accessOf } from "../access/auth/authorize.ts";
import { protobufTables } from "../objects/catalog/protobuf-tables.ts";
import { decodeProtobufObject, PROTOBUF_MEDIA_TYPE } from "../objects/protobuf/decode.ts";
import { parseYaml } from "../objects/yaml/yaml.ts";
import { MetricsRegistry } from "../base/metrics.ts";
import { StoreEpochs } from "../base/store-epoch.ts";
import { HealthChecks } from "../serving/endpoints/health.ts";
import type { OpenWatches } from "../serving/endpoints/watch-stream.ts";
import { OpenRequests } from "../serving/http/open-requests.ts";
import type { Outbound } from "../serving/http/outbound.ts";
import type { Upstream } from "../serving/http/upstream.ts";
import { HistoryRecovery } from "../storage/history-recovery.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { Lifecycle } from "./lifecycle.ts";
import { Loopback } from "./loopback.ts";

export interface Foundation {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  /** The health checks, and the metrics about them, which are served at /metrics/slis. */
  readonly health: { readonly checks: HealthChecks; readonly metrics: MetricsRegistry };
  readonly lifecycle: Lifecycle;
  readonly loopback: Loopback;
  readonly address: AnnouncedAddress;
  /** Changes of the store's history, and the recovery from them. */
  readonly history: { readonly epochs: StoreEpochs; readonly recovery: HistoryRecovery };
  readonly open: { readonly requests: OpenRequests; readonly watches: OpenWatches };
  readonly transports: Transports;
}

interface Transports {
  /** Transport to peers; undefined if the server cannot call them. */
  readonly upstream: Upstream | undefined;
  /** Transport to webhooks and aggregated API servers; undefined if the server cannot call them. */
  readonly outbound: Outbound | undefined;
}

/** Throws an OptionError if a certificate is unusable, before anything else is opened. */
export function createFoundation(env: Env, config: ServerConfig): Foundation {
  const { credentials, egress, clientCertificate, unusedEgress } = config.peers;
  const { clock, log } = env;
  const metrics = new MetricsRegistry();
  const epochs = new StoreEpochs();
  for (const { gate, problem } of config.ignoredGates) log.warn("feature gate ignored", { gate, problem });
  if (unusedEgress.length > 0)
    log.warn(
      "egress selections without effect: the server uses a proxy only for its peers, and else connects directly",
      {
        selections: unusedEgress,
      },
    );
  return {
    env,
    config,
    metrics,
    health: { checks: new HealthChecks(), metrics: new MetricsRegistry() },
    lifecycle: new Lifecycle(env.log),
    loopback: new Loopback(env, epochs),
    address: new AnnouncedAddress(config.externalHostname),
    history: { epochs, recovery: new HistoryRecovery({ clock, log, metrics, epochs }) },
    open: { requests: new OpenRequests(), watches: new Set() },
    transports: {
      upstream: credentials && env.openUpstream({ credentials, egress }),
      outbound: env.openOutbound?.({ clientCertificate }),
    },
  };
}

/** Called before the store is opened, so that the server fails early if it cannot write the audit log. */
export function openAuditLogOf({ env, config, metrics }: Foundation): Promise<Audit> {
  const { clock, random, log } = env;
  return openAudit({
    config: config.audit,
    openOutput: env.openAuditLog,
    clock,
    random,
    log,
    metrics,
    attributesOf: accessOf,
    readBody: decodeNonJsonBody,
  });
}

function decodeNonJsonBody(bytes: Buffer, mediaType: string): unknown {
  if (mediaType === PROTOBUF_MEDIA_TYPE) return decodeProtobufObject(bytes, protobufTables());
  return mediaType === "application/yaml" ? parseYaml(bytes.toString("utf8")).value : undefined;
}

/** The address (host:port) at which clients reach the server. It is known when the server listens. */
class AnnouncedAddress {
  readonly #announced = Promise.withResolvers<string>();
  readonly #external: string | undefined;
  #current = "localhost";

  /** `external`: a host name, or name:port, that documents show instead of the announced address. */
  constructor(external: string | undefined) {
    this.#external = external;
  }

  /** The address in documents. */
  get current(): string {
    return this.#current;
  }

  get announced(): Promise<string> {
    return this.#announced.promise;
  }

  announce(address: string): void {
    this.#current = this.#external === undefined ? address : withPort(this.#external, address);
    this.#announced.resolve(address);
  }
}

/** As kubernetes: a host without a port gets the port of the address. */
function withPort(host: string, address: string): string {
  if (/^([^:]+|\[.*\]):[0-9]+$/.test(host)) return host;
  const port = address.slice(address.lastIndexOf(":") + 1);
  return host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`;
}
