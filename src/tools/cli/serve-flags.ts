/** The flags of `serve` for the server itself: address, release, storage, lifecycle, and the users that may call it. */
import { Option, type Command } from "commander";
import { DEFAULT_RELEASE, RELEASES } from "../../objects/catalog/release.ts";
import type { LogLevel } from "../../server/env-node.ts";
import { address, booleanOption, count, countOrZero, duration, commaList, port, probability } from "./flags.ts";
import { withSecureServingFlags, type SecureServingFlags } from "./secure-serving-flags.ts";

export interface ServeFlags extends SecureServingFlags {
  readonly securePort: number;
  readonly bindAddress: string;
  readonly advertiseAddress?: string;
  readonly advertisePort?: number;
  readonly externalHostname?: string;
  readonly endpointReconcilerType: string;
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
  readonly encryptionProviderConfig?: string;
  readonly encryptionProviderConfigAutomaticReload?: boolean;
  readonly etcdCompactionInterval: number;
  readonly tokenAuthFile?: string;
  readonly clientCaFile?: string;
  readonly requestheaderClientCaFile?: string;
  readonly requestheaderAllowedNames?: readonly string[];
  readonly requestheaderUsernameHeaders?: readonly string[];
  readonly requestheaderUidHeaders?: readonly string[];
  readonly requestheaderGroupHeaders?: readonly string[];
  readonly requestheaderExtraHeadersPrefix?: readonly string[];
  readonly strictTransportSecurityDirectives?: readonly string[];
  readonly allowPrivileged: boolean;
  readonly eventTtl: number;
  readonly requestTimeout: number;
  readonly minRequestTimeout: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly shutdownDelayDuration: number;
  readonly shutdownSendRetryAfter?: boolean;
  readonly shutdownWatchTerminationGracePeriod: number;
  readonly goawayChance: number;
  readonly startupSendRetryAfterIfNotInitialized?: boolean;
  readonly startupIfReadyMode?: "retry" | "report";
  /** Undefined if the flag is not set; `v` then decides. */
  readonly logLevel?: LogLevel;
  readonly v: number;
}

/** Adds the flags for address, release and storage. */
export function withServeFlags(command: Command): Command {
  return withSecureServingFlags(command)
    .option("--secure-port <port>", "HTTPS port; 0 selects a free port", port, 6443)
    .option("--bind-address <ip>", "address to listen on", address, "127.0.0.1")
    .option("--advertise-address <ip>", "IP address to advertise to the rest of the cluster", address)
    .option("--advertise-port <port>", "port to advertise to the rest of the cluster (default: the HTTPS port)", port)
    .option(
      "--external-hostname <name>",
      "host name, or name:port, of this server in discovery documents and OpenID discovery",
    )
    .option(
      "--endpoint-reconciler-type <type>",
      "how to keep the endpoints of the kubernetes Service: lease (the addresses of all live servers) or none",
      "lease",
    )
    .option(
      "--service-cluster-ip-range <cidrs>",
      "CIDR range of cluster IPs, or one for each IP family: 10.0.0.0/24,fd00::/108",
      "10.0.0.0/24",
    )
    .option("--service-node-port-range <range>", "port range of node ports", "30000-32767")
    .option(
      "--data-dir <directory>",
      "directory for objects (without etcd), certificates, tokens and the kubeconfig",
      ".evenkeel",
    )
    .option("--release <release>", `Kubernetes release to serve: ${RELEASES.join(", ")}`, DEFAULT_RELEASE)
    .addOption(
      booleanOption(
        "--strict-release",
        "serve exactly the defaults of the release, without the APIs that Evenkeel adds",
      ),
    )
    .option(
      "--runtime-config <pairs>",
      "APIs to enable or disable: api/all, api/beta, group/version or group/version/resource, each =true or =false",
      commaList,
    )
    .option("--feature-gates <pairs>", "feature gates to set, Name=true or Name=false", commaList)
    .option(
      "--service-endpoint-override <pairs>",
      "addresses of Services for webhooks and aggregated API servers, NAME.NAMESPACE=HOST:PORT",
      commaList,
    )
    .option(
      "--controllers <names>",
      'controllers to run while this server is the leader: "*" for all, "auto" for all that kube-controller-manager does not run, name, -name (default: "auto")',
      commaList,
    )
    .option("--etcd-servers <urls>", "etcd URLs; store objects in etcd instead of the data directory", commaList)
    .option("--etcd-cafile <file>", "CA bundle that verifies etcd's certificate")
    .option("--etcd-certfile <file>", "client certificate for etcd")
    .option("--etcd-keyfile <file>", "key of the etcd client certificate")
    .option("--etcd-prefix <path>", "key prefix in etcd", "/registry")
    .option("--encryption-provider-config <file>", "which resources to encrypt in the store, and with which keys")
    .addOption(
      booleanOption(
        "--encryption-provider-config-automatic-reload",
        "reload the file of --encryption-provider-config when it has changed",
      ),
    )
    .addOption(
      new Option("--etcd-compaction-interval <duration>", "interval of store compaction; 0 disables it")
        .argParser(duration)
        .default(300_000, "5m"),
    )
    .option(
      "--root-ca-file <file>",
      "CA bundle published to every namespace as kube-root-ca.crt (default: that of the serving certificate)",
    )
    .option(
      "--token-auth-file <file>",
      'CSV file of token,user,uid,"groups"; without it an administrator token is generated in the data directory',
    )
    .addOption(
      new Option("--event-ttl <duration>", "retention time of events").argParser(duration).default(3_600_000, "1h"),
    )
    .addOption(
      new Option("--request-timeout <duration>", "timeout of all requests except watches")
        .argParser(duration)
        .default(60_000, "1m"),
    )
    .option(
      "--min-request-timeout <seconds>",
      "minimum duration of a watch without timeoutSeconds; it ends after a random time up to twice as long",
      count,
      1800,
    )
    .option("--max-requests-inflight <n>", "maximum number of concurrent non-mutating requests", countOrZero, 400)
    .option("--max-mutating-requests-inflight <n>", "maximum number of concurrent mutating requests", countOrZero, 200)
    .option(
      "--strict-transport-security-directives <directives>",
      "directives of the Strict-Transport-Security header: max-age=SECONDS, includeSubDomains, preload (default: no header)",
      commaList,
    )
    .addOption(
      booleanOption(
        "--allow-privileged",
        "admit privileged containers, as far as admission plugins admit them",
      ).default(true),
    );
}

/** Adds the flags for startup, shutdown and logging. */
export function withLifecycleFlags(command: Command): Command {
  return command
    .addOption(
      new Option("--shutdown-delay-duration <duration>", "time to keep serving, unready, before a shutdown")
        .argParser(duration)
        .default(0, "0"),
    )
    .addOption(
      booleanOption(
        "--shutdown-send-retry-after",
        "keep listening during shutdown and reject new requests with Retry-After",
      ),
    )
    .addOption(
      new Option(
        "--shutdown-watch-termination-grace-period <duration>",
        "period over which a shutdown ends watches one by one",
      )
        .argParser(duration)
        .default(0, "0"),
    )
    .option(
      "--goaway-chance <probability>",
      "probability that an HTTP/2 response asks the client to reconnect, 0 to 0.02",
      probability,
      0,
    )
    .addOption(
      booleanOption(
        "--startup-send-retry-after-if-not-initialized",
        "honor the X-Kubernetes-If-Ready header until the server has been ready once",
      ),
    )
    .addOption(
      new Option(
        "--startup-if-ready-mode <mode>",
        "effect of the X-Kubernetes-If-Ready header: retry rejects with 503 and Retry-After, report serves the request and reports readiness (default: retry)",
      ).choices(["retry", "report"]),
    )
    .addOption(
      new Option("--log-level <level>", "lowest level to log on standard error (default: warn)").choices([
        "debug",
        "info",
        "warn",
        "error",
      ]),
    )
    .option("-v, --v <level>", "log verbosity: 2 also logs information, 4 everything", countOrZero, 0);
}

/** Adds the flags for client certificates of users, and for front proxies that act for users. */
export function withCallerFlags(command: Command): Command {
  return command
    .option("--client-ca-file <file>", "CA bundle for client certificates of users: CN is the user, O are the groups")
    .option(
      "--requestheader-client-ca-file <file>",
      "CA bundle for client certificates of front proxies and peers, which may act for users",
    )
    .option("--requestheader-allowed-names <names>", "accepted common names of front proxies (default: any)", commaList)
    .option(
      "--requestheader-username-headers <names>",
      "headers with the user name (default: X-Remote-User)",
      commaList,
    )
    .option("--requestheader-uid-headers <names>", "headers with the user UID (default: X-Remote-Uid)", commaList)
    .option(
      "--requestheader-group-headers <names>",
      "headers with the user's groups (default: X-Remote-Group)",
      commaList,
    )
    .option(
      "--requestheader-extra-headers-prefix <prefixes>",
      "prefixes of headers with extra user attributes (default: X-Remote-Extra-)",
      commaList,
    );
}
