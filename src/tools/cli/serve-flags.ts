/** The flags of `serve` that are about this server alone. */
import { Option, type Command } from "commander";
import { DEFAULT_RELEASE, RELEASES } from "../../objects/catalogue/release.ts";
import type { LogLevel } from "../../server/env-node.ts";
import { address, count, duration, commaList, port, probability } from "./flags.ts";

export interface ServeFlags {
  readonly securePort: number;
  readonly bindAddress: string;
  readonly advertiseAddress?: string;
  readonly serviceClusterIpRange: string;
  readonly serviceNodePortRange: string;
  readonly dataDir: string;
  readonly release: string;
  readonly strictRelease?: boolean;
  readonly runtimeConfig?: readonly string[];
  readonly serviceEndpointOverride?: readonly string[];
  readonly controllers?: readonly string[];
  readonly rootCaFile?: string;
  readonly featureGates?: readonly string[];
  readonly etcdServers?: readonly string[];
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  readonly etcdPrefix: string;
  readonly etcdCompactionInterval: number;
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tokenAuthFile?: string;
  readonly clientCaFile?: string;
  readonly requestheaderClientCaFile?: string;
  readonly requestheaderAllowedNames?: readonly string[];
  readonly requestheaderUsernameHeaders?: readonly string[];
  readonly requestheaderUidHeaders?: readonly string[];
  readonly requestheaderGroupHeaders?: readonly string[];
  readonly requestheaderExtraHeadersPrefix?: readonly string[];
  readonly eventTtl: number;
  readonly requestTimeout: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly shutdownDelayDuration: number;
  readonly shutdownSendRetryAfter?: boolean;
  readonly shutdownWatchTerminationGracePeriod: number;
  readonly goawayChance: number;
  readonly startupSendRetryAfterIfNotInitialized?: boolean;
  readonly startupIfReadyMode?: "retry" | "report";
  readonly logLevel: LogLevel;
}

/** Where it listens, what it serves, and where that is kept. */
export function withServeFlags(command: Command): Command {
  return command
    .option("--secure-port <port>", "HTTPS port; 0 takes a free one", port, 6443)
    .option("--bind-address <ip>", "address to listen on", address, "127.0.0.1")
    .option("--advertise-address <ip>", "address at which the rest of the cluster reaches this server", address)
    .option("--service-cluster-ip-range <cidr>", "subnet that cluster IPs are taken from", "10.0.0.0/24")
    .option("--service-node-port-range <range>", "ports that node ports are taken from", "30000-32767")
    .option(
      "--data-dir <directory>",
      "where objects (without etcd), certificates, tokens and the kubeconfig are kept",
      ".evenkeel",
    )
    .option("--release <release>", `Kubernetes release to be: ${RELEASES.join(", ")}`, DEFAULT_RELEASE)
    .option("--strict-release", "serve exactly the release's own defaults, without the APIs Evenkeel adds")
    .option(
      "--runtime-config <pairs>",
      "APIs to switch on or off: api/all, api/beta, group/version, group/version/resource, each =true or =false",
      commaList,
    )
    .option("--feature-gates <pairs>", "gates to switch, Name=true or Name=false", commaList)
    .option(
      "--service-endpoint-override <pairs>",
      "NAME.NAMESPACE=HOST:PORT of services that webhooks and aggregated API servers are reached at",
      commaList,
    )
    .option(
      "--controllers <names>",
      'controllers to run while this server leads: "*" (default) for all, name, -name',
      commaList,
    )
    .option("--etcd-servers <urls>", "keep objects in etcd instead of the data directory", commaList)
    .option("--etcd-cafile <file>", "CA that signed etcd's certificate")
    .option("--etcd-certfile <file>", "client certificate for etcd")
    .option("--etcd-keyfile <file>", "key of the client certificate for etcd")
    .option("--etcd-prefix <path>", "where everything lies in the store", "/registry")
    .addOption(
      new Option("--etcd-compaction-interval <duration>", "how often old history is forgotten; 0 never")
        .argParser(duration)
        .default(300_000, "5m"),
    )
    .option("--tls-cert-file <file>", "serving certificate; without it one is made and kept in the data directory")
    .option("--tls-private-key-file <file>", "key of the serving certificate")
    .option("--root-ca-file <file>", "CA that every namespace is told, by default that of the serving certificate")
    .option(
      "--token-auth-file <file>",
      'CSV of token,user,uid,"groups"; without it an administrator\'s token is made and kept',
    )
    .addOption(
      new Option("--event-ttl <duration>", "how long events are kept").argParser(duration).default(3_600_000, "1h"),
    )
    .addOption(
      new Option("--request-timeout <duration>", "everything but watches is answered within this time")
        .argParser(duration)
        .default(60_000, "1m"),
    )
    .option("--max-requests-inflight <n>", "reads served at the same time", count, 400)
    .option("--max-mutating-requests-inflight <n>", "writes served at the same time", count, 200);
}

/** How it starts, how it leaves, and what it says meanwhile. */
export function withLifeFlags(command: Command): Command {
  return command
    .addOption(
      new Option("--shutdown-delay-duration <duration>", "how long to go on serving, unready, before a shutdown")
        .argParser(duration)
        .default(0, "0"),
    )
    .option(
      "--shutdown-send-retry-after",
      "during a shutdown go on listening until all is done, and tell who comes meanwhile when to come again",
    )
    .addOption(
      new Option(
        "--shutdown-watch-termination-grace-period <duration>",
        "over which time a shutdown ends watches, one after the other",
      )
        .argParser(duration)
        .default(0, "0"),
    )
    .option(
      "--goaway-chance <probability>",
      "how likely an answer by HTTP/2 asks the client to connect anew: 0 to 0.02",
      probability,
      0,
    )
    .option(
      "--startup-send-retry-after-if-not-initialized",
      "honour X-Kubernetes-If-Ready until the server has been ready once",
    )
    .addOption(
      new Option(
        "--startup-if-ready-mode <mode>",
        "what that means: retry (default) refuses with 503 and Retry-After, report answers and says whether the server is ready",
      ).choices(["retry", "report"]),
    )
    .addOption(
      new Option("--log-level <level>", "what to log on standard error")
        .choices(["debug", "info", "warn", "error"])
        .default("warn"),
    );
}

/** Who is known by a certificate, and who may speak for others. */
export function withCallerFlags(command: Command): Command {
  return command
    .option("--client-ca-file <file>", "CA whose client certificates name users: CN the user, O the groups")
    .option("--requestheader-client-ca-file <file>", "CA of front proxies and peers, which may speak for users")
    .option(
      "--requestheader-allowed-names <names>",
      "common names of front proxies; without it all of that CA",
      commaList,
    )
    .option(
      "--requestheader-username-headers <names>",
      "headers with the user's name (default X-Remote-User)",
      commaList,
    )
    .option("--requestheader-uid-headers <names>", "headers with the user's uid (default X-Remote-Uid)", commaList)
    .option(
      "--requestheader-group-headers <names>",
      "headers with the user's groups (default X-Remote-Group)",
      commaList,
    )
    .option(
      "--requestheader-extra-headers-prefix <prefixes>",
      "how headers about the user begin (default X-Remote-Extra-)",
      commaList,
    );
}
