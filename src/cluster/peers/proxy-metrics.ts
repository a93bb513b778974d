/**
 * The metrics of the proxy. Those whose names begin with `evenkeel_` are Evenkeel's own; the others have the names and
 * labels of kube-apiserver's.
 */
import type { Counter, Histogram, MetricsRegistry } from "../../base/metrics.ts";
import type { UpstreamFailure } from "../../serving/http/upstream.ts";
import type { Liveness } from "./live-servers.ts";
import type { ClusterView } from "./view.ts";

export type ProxyErrorType =
  | "endpoint_resolution"
  | "proxy_transport"
  | "overloaded"
  | "not_served"
  | "redirect"
  | UpstreamFailure;

type SyncErrorType = "lease_list" | "hostport_resolution" | "fetch_discovery";

export interface ProxiedResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface ProxyMetrics {
  rerouted(code: number, asked: ProxiedResource): void;
  failed(type: ProxyErrorType, asked: ProxiedResource): void;
  syncFailed(type: SyncErrorType): void;
  latency(peerId: string): Histogram;
  probeFailed(peerId: string): Counter;
}

const LATENCY_BUCKETS: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const GVR_LABELS = ["group", "version", "resource"] as const;

export function createProxyMetrics(metrics: MetricsRegistry): ProxyMetrics {
  const reroutedHelp = "Requests proxied to a peer API server, when finished.";
  const rerouted = ["apiserver_rerouted_request_total", "kubernetes_apiserver_rerouted_request_total"].map((name) =>
    metrics.counter({ name, help: reroutedHelp, labels: ["code", ...GVR_LABELS] }),
  );
  const failures = metrics.counter({
    name: "apiserver_peer_proxy_errors_total",
    help: "Requests that could not be proxied to a peer API server, by what went wrong.",
    labels: ["type", ...GVR_LABELS],
  });
  const syncFailures = metrics.counter({
    name: "apiserver_peer_discovery_sync_errors_total",
    help: "Attempts to learn what a peer serves that failed.",
    labels: ["type"],
  });
  const latency = metrics.histogram({
    name: "evenkeel_peer_request_duration_seconds",
    help: "Time until a peer began its response.",
    labels: ["peer"],
    buckets: LATENCY_BUCKETS,
  });
  const probes = metrics.counter({
    name: "evenkeel_peer_probe_failures_total",
    help: "Probes without a timely response from the peer.",
    labels: ["peer"],
  });
  return {
    rerouted: (code, { group, version, resource }) =>
      rerouted.forEach((family) => family.with(String(code), group, version, resource).inc()),
    failed: (type, { group, version, resource }) => failures.with(type, group, version, resource).inc(),
    syncFailed: (type) => syncFailures.with(type).inc(),
    latency: (peerId) => latency.with(peerId),
    probeFailed: (peerId) => probes.with(peerId),
  };
}

interface ViewMetricsSource {
  readonly view: () => ClusterView;
  readonly liveness: () => Liveness;
  readonly monotonic: () => number;
}

export function registerViewMetrics(metrics: MetricsRegistry, { view, liveness, monotonic }: ViewMetricsSource): void {
  const states = {
    name: "evenkeel_peers",
    help: "Peer API servers that are known, reachable, described.",
    labels: ["state"],
  };
  metrics.gaugesOf(states, () => {
    const { peers } = view();
    return [
      { labelValues: ["known"], value: peers.length },
      { labelValues: ["reachable"], value: peers.filter((peer) => peer.isReachable).length },
      { labelValues: ["described"], value: peers.filter((peer) => peer.document !== undefined).length },
    ];
  });
  const ignored = {
    name: "evenkeel_ignored_identity_leases",
    help: "Identity leases that do not count as servers, because nothing else shows that their servers exist.",
    labels: [],
  };
  metrics.gaugesOf(ignored, () => [{ labelValues: [], value: liveness().ignored.length }]);
  const ages = {
    name: "evenkeel_peer_document_age_seconds",
    help: "Time since a peer last confirmed its discovery document.",
    labels: ["peer"],
  };
  metrics.gaugesOf(ages, () =>
    view().peers.flatMap(({ id, document }) =>
      document === undefined ? [] : [{ labelValues: [id], value: (monotonic() - document.confirmedAtMs) / 1000 }],
    ),
  );
}
