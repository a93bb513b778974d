/** Metrics of the server as a whole. They have kube-apiserver's names where kube-apiserver has the same metric. */
import type { Counter, MetricsRegistry } from "../../base/metrics.ts";
import type { ServedResource } from "../registry/resource.ts";
import { releaseInfo } from "../../objects/catalog/release.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { ResourceTable } from "./built-in-table.ts";
import type { EffectiveVersion } from "../../objects/catalog/effective-version.ts";

export function watchCounters(metrics: MetricsRegistry): {
  encodings: Counter;
  deliveries: (served: ServedResource) => Counter;
} {
  const encodings = metrics.counter({
    name: "evenkeel_watch_encodings_total",
    help: "Watch events serialized, independent of the number of watchers.",
  });
  const events = metrics.counter({
    name: "apiserver_watch_events_total",
    help: "Watch events sent to clients.",
    labels: ["group", "version", "resource"],
  });
  return {
    encodings: encodings.with(),
    deliveries: ({ groupResource, groupVersion }) =>
      events.with(groupResource.group, groupVersion.version, groupResource.resource),
  };
}

interface ServerMetricsSources {
  readonly cache: WatchCache;
  readonly table: Pick<ResourceTable, "stored">;
  readonly openWatches: { readonly size: number };
  readonly version: EffectiveVersion;
  readonly processUsage: () => { readonly residentBytes: number; readonly cpuSeconds: number };
}

export function registerServerMetrics(metrics: MetricsRegistry, sources: ServerMetricsSources): void {
  const { cache, table, openWatches, processUsage } = sources;
  metrics.gaugesOf(
    { name: "apiserver_resource_objects", help: "Objects stored, by resource.", labels: ["group", "resource"] },
    () =>
      table.stored.map(({ group, resource, keyPrefix }) => ({
        labelValues: [group, resource],
        value: cache.count(keyPrefix),
      })),
  );
  registerVersions(metrics, sources.version);
  metrics.gaugeOf(
    { name: "apiserver_watch_cache_resource_version", help: "The newest resource version the cache has seen." },
    () => cache.revision,
  );
  metrics.gaugeOf({ name: "evenkeel_open_watches", help: "Open watches." }, () => openWatches.size);
  metrics.gaugeOf(
    { name: "process_resident_memory_bytes", help: "Resident memory in bytes." },
    () => processUsage().residentBytes,
  );
  metrics.gaugeOf(
    { name: "process_cpu_seconds_total", help: "CPU time used, in seconds." },
    () => processUsage().cpuSeconds,
  );
}

function registerVersions(metrics: MetricsRegistry, { binary, release, minCompatibility }: EffectiveVersion): void {
  const { major, minor, gitVersion } = releaseInfo(binary);
  const build = metrics.gauge({
    name: "kubernetes_build_info",
    help: "Release of the binary.",
    labels: ["major", "minor", "git_version"],
  });
  build.with(major, minor, gitVersion).set(1);
  const versions = metrics.gauge({
    name: "version_info",
    help: "Release of the binary, emulated release, and minimum compatible release.",
    labels: ["component", "binary", "emulation", "min_compat"],
  });
  versions.with("kube", gitVersion.replace(/^v/, ""), release, minCompatibility).set(1);
}
