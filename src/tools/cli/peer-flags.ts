/** The flags by which servers of one cluster find and call each other. */
import { hostname } from "node:os";
import { Option, type Command } from "commander";
import { load } from "js-yaml";
import { DEFAULT_PEER_TIMING, type PeerTiming } from "../../cluster/peers/timing.ts";
import type { PeerOptions, RoutingOptions } from "../../cluster/peers/peer-config.ts";
import { count, duration } from "./flags.ts";
import { asUsable, readFile } from "./read-file.ts";

/** How a cluster routes and what it shows: the same for all of its servers, as a rule. */
export interface RoutingFlags {
  readonly peerRouting: string;
  readonly peerRoutingSource: string;
  readonly fieldLoss: string;
  readonly discoveryMode: string;
  readonly discoveryMergeScope: string;
}

export interface PeerFlags extends RoutingFlags {
  readonly serverId?: string;
  readonly peerCaFile?: string;
  readonly proxyClientCertFile?: string;
  readonly proxyClientKeyFile?: string;
  readonly peerAdvertiseIp?: string;
  readonly peerAdvertisePort?: string;
  readonly peerMaxRequestsInflight: number;
  readonly egressSelectorConfigFile?: string;
  readonly peerProbeInterval: number;
  readonly peerProbeMisses: number;
  readonly peerEndpointTtl: number;
  readonly peerEndpointRefresh: number;
  readonly identityLeaseDuration: number;
  readonly identityLeaseRenewInterval: number;
  readonly fenceAfter: number;
  readonly departedGrace: number;
}

export function withPeerFlags(command: Command): Command {
  const { probeIntervalMs, probeMissesMax, endpointTtlSeconds, endpointRefreshMs } = DEFAULT_PEER_TIMING;
  const { leaseDurationSeconds, leaseRenewMs, fenceAfterMs, departedGraceMs } = DEFAULT_PEER_TIMING;
  const peered = command
    .option("--server-id <id>", "this server's identity; without it one is made of the host's name")
    .option("--peer-ca-file <file>", "CA that signed the serving certificates of the other servers")
    .option("--proxy-client-cert-file <file>", "client certificate with which this server speaks for users")
    .option("--proxy-client-key-file <file>", "key of that certificate")
    .option("--peer-advertise-ip <ip>", "address at which the other servers reach this one")
    .option("--peer-advertise-port <port>", "port at which the other servers reach this one")
    .option("--peer-max-requests-inflight <n>", "requests to other servers at the same time", count, 400);
  return withRoutingFlags(peered)
    .option("--egress-selector-config-file <file>", "how other servers are connected to (context peer or controlplane)")
    .addOption(time("--peer-probe-interval", "how often each other server is probed", probeIntervalMs))
    .option("--peer-probe-misses <n>", "probes that may fail before a server is out of routing", count, probeMissesMax)
    .addOption(time("--peer-endpoint-ttl", "life of this server's endpoint record", endpointTtlSeconds * 1000))
    .addOption(time("--peer-endpoint-refresh", "how often it is refreshed", endpointRefreshMs))
    .addOption(time("--identity-lease-duration", "life of this server's identity lease", leaseDurationSeconds * 1000))
    .addOption(time("--identity-lease-renew-interval", "how often it is renewed", leaseRenewMs))
    .addOption(time("--fence-after", "without a renewal for this long, writes are refused", fenceAfterMs))
    .addOption(
      time("--departed-grace", "how long what a departed server served is 503 before it is 404", departedGraceMs),
    );
}

export function withRoutingFlags(command: Command): Command {
  return command
    .addOption(
      new Option("--peer-routing <rules>", "extended also routes what only another release understands")
        .choices(["documents", "extended"])
        .default("extended"),
    )
    .addOption(
      new Option("--peer-routing-source <source>", "what says which server serves what")
        .choices(["discovery", "storageversion"])
        .default("discovery"),
    )
    .addOption(
      new Option("--field-loss <what>", "what to do with a request that names a field only a newer server knows")
        .choices(["warn", "route", "refuse"])
        .default("route"),
    )
    .addOption(
      new Option("--discovery-mode <mode>", "what discovery shows: the whole cluster, its newest server, or this one")
        .choices(["merged", "newest", "local"])
        .default("merged"),
    )
    .addOption(
      new Option("--discovery-merge-scope <scope>", "which forms of discovery are merged")
        .choices(["all", "aggregated"])
        .default("all"),
    );
}

export function routingOptionsOf(flags: RoutingFlags): RoutingOptions {
  return {
    routing: flags.peerRouting,
    routingSource: flags.peerRoutingSource,
    fieldLoss: flags.fieldLoss,
    discoveryMode: flags.discoveryMode,
    discoveryMergeScope: flags.discoveryMergeScope,
  };
}

export function peerOptionsOf(flags: PeerFlags): PeerOptions {
  return {
    hostname: hostname(),
    ...given("serverId", flags.serverId),
    ...given("caFile", readable(flags.peerCaFile, "peer CA")),
    ...given("certFile", readable(flags.proxyClientCertFile, "proxy client certificate")),
    ...given("keyFile", readable(flags.proxyClientKeyFile, "key of the proxy client certificate")),
    ...given("advertiseIp", flags.peerAdvertiseIp),
    ...given("advertisePort", flags.peerAdvertisePort),
    requestsInflightMax: flags.peerMaxRequestsInflight,
    ...routingOptionsOf(flags),
    ...given("egress", egressOf(flags.egressSelectorConfigFile)),
    timing: timingOf(flags),
  };
}

/** The server reads it again and again; that it can at all is found out before anything is made. */
function readable(file: string | undefined, what: string): string | undefined {
  if (file !== undefined) readFile(file, what);
  return file;
}

function timingOf(flags: PeerFlags): Partial<PeerTiming> {
  return {
    probeIntervalMs: flags.peerProbeInterval,
    probeMissesMax: flags.peerProbeMisses,
    endpointTtlSeconds: Math.ceil(flags.peerEndpointTtl / 1000),
    endpointRefreshMs: flags.peerEndpointRefresh,
    leaseDurationSeconds: Math.ceil(flags.identityLeaseDuration / 1000),
    leaseRenewMs: flags.identityLeaseRenewInterval,
    fenceAfterMs: flags.fenceAfter,
    departedGraceMs: flags.departedGrace,
  };
}

function egressOf(file: string | undefined): unknown {
  if (file === undefined) return undefined;
  const text = readFile(file, "egress selector configuration");
  return asUsable(() => load(text), `the egress selector configuration ${file} is not YAML`);
}

function given<Name extends string, Value>(name: Name, value: Value | undefined): { [_ in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { [_ in Name]: Value });
}

function time(flag: string, description: string, defaultMs: number): Option {
  const text =
    defaultMs % 60_000 === 0
      ? `${defaultMs / 60_000}m`
      : defaultMs % 1000 === 0
        ? `${defaultMs / 1000}s`
        : `${defaultMs}ms`;
  return new Option(`${flag} <duration>`, description).argParser(duration).default(defaultMs, text);
}
