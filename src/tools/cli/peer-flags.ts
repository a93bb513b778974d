/** The flags of `serve` by which the servers of a cluster find each other, call each other and route requests. */
import { hostname } from "node:os";
import { Option, type Command } from "commander";
import { load } from "js-yaml";
import { DEFAULT_PEER_TIMING, type PeerTiming } from "../../cluster/peers/timing.ts";
import type { PeerOptions, RoutingOptions } from "../../cluster/peers/peer-config.ts";
import { commaList, count, duration } from "./flags.ts";
import { asUsable, checkKeyPair, readCertificates, readFile } from "./read-file.ts";

/** Routing and discovery options, usually the same for all servers of a cluster. */
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
  readonly peerServer?: readonly string[];
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
    .option("--server-id <id>", "ID of this server (default: derived from the host name)")
    .option("--peer-ca-file <file>", "CA bundle that verifies the serving certificates of peers")
    .option(
      "--proxy-client-cert-file <file>",
      "client certificate for requests that this server proxies on behalf of users",
    )
    .option("--proxy-client-key-file <file>", "key of the proxy client certificate")
    .option("--peer-advertise-ip <ip>", "IP address at which peers reach this server")
    .option("--peer-advertise-port <port>", "port at which peers reach this server")
    .option(
      "--peer-server <pairs>",
      "servers that publish no address, such as kube-apiservers before 1.36, each as ID=IP:PORT",
      commaList,
    )
    .option("--peer-max-requests-inflight <n>", "maximum number of concurrent requests to peers", count, 400);
  return withRoutingFlags(peered)
    .option(
      "--egress-selector-config-file <file>",
      "egress selector configuration for connections to peers (context peer or controlplane)",
    )
    .addOption(time("--peer-probe-interval", "interval between probes of a peer", probeIntervalMs))
    .option(
      "--peer-probe-misses <n>",
      "number of failed probes in a row after which a peer counts as unreachable",
      count,
      probeMissesMax,
    )
    .addOption(time("--peer-endpoint-ttl", "lifetime of the endpoint record of this server", endpointTtlSeconds * 1000))
    .addOption(time("--peer-endpoint-refresh", "refresh interval of the endpoint record", endpointRefreshMs))
    .addOption(
      time("--identity-lease-duration", "duration of the identity lease of this server", leaseDurationSeconds * 1000),
    )
    .addOption(time("--identity-lease-renew-interval", "renew interval of the identity lease", leaseRenewMs))
    .addOption(
      time("--fence-after", "time without a lease renewal after which this server rejects writes", fenceAfterMs),
    )
    .addOption(
      time(
        "--departed-grace",
        "grace period in which resources of a departed server return 503 instead of 404",
        departedGraceMs,
      ),
    );
}

export function withRoutingFlags(command: Command): Command {
  return command
    .addOption(
      new Option(
        "--peer-routing <rules>",
        "routing rules: extended also routes requests that only another release understands",
      )
        .choices(["documents", "extended"])
        .default("extended"),
    )
    .addOption(
      new Option("--peer-routing-source <source>", "source of the resources that each server serves, for routing")
        .choices(["discovery", "storageversion"])
        .default("discovery"),
    )
    .addOption(
      new Option("--field-loss <what>", "action for a request with a field that only a newer server knows")
        .choices(["warn", "route", "refuse"])
        .default("route"),
    )
    .addOption(
      new Option(
        "--discovery-mode <mode>",
        "resources in discovery: of the whole cluster, of its newest server, or of this server",
      )
        .choices(["merged", "newest", "local"])
        .default("merged"),
    )
    .addOption(
      new Option("--discovery-merge-scope <scope>", "discovery formats that are merged")
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
    ...checkedFiles(flags),
    ...given("advertiseIp", flags.peerAdvertiseIp),
    ...given("advertisePort", flags.peerAdvertisePort),
    requestsInflightMax: flags.peerMaxRequestsInflight,
    ...given("servers", flags.peerServer),
    ...routingOptionsOf(flags),
    ...given("egress", egressOf(flags.egressSelectorConfigFile)),
    timing: timingOf(flags),
  };
}

/** The server reloads the files periodically; this checks early, before anything is created, that they can be used. */
function checkedFiles(flags: PeerFlags): Pick<PeerOptions, "caFile" | "certFile" | "keyFile"> {
  const { peerCaFile: caFile, proxyClientCertFile: certFile, proxyClientKeyFile: keyFile } = flags;
  if (caFile !== undefined) readCertificates(caFile, "peer CA (--peer-ca-file)");
  checkKeyPair("proxy client", { "--proxy-client-cert-file": certFile, "--proxy-client-key-file": keyFile });
  return { ...given("caFile", caFile), ...given("certFile", certFile), ...given("keyFile", keyFile) };
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
  const text = readFile(file, "egress selector configuration (--egress-selector-config-file)");
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
