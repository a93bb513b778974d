/** What /metrics says about the server as a whole, under kube-apiserver's names where they exist. */
import type { Counter, MetricsRegistry } from "../base/metrics.ts";
import type { ServedResource } from "../serving/registry/resource.ts";
import { releaseInfo } from "../objects/catalogue/release.ts";
import type { EffectiveVersion } from "../objects/catalogue/effective-version.ts";
import type { Resources } from "./assembly.ts";
import type { Foundation } from "./foundation.ts";
import type { Store } from "./store.ts";

export function watchCounters(metrics: MetricsRegistry): {
  encodings: Counter;
  deliveries: (served: ServedResource) => Counter;
} {
  const encodings = metrics.counter({
    name: "evenkeel_watch_encodings_total",
    help: "Watch events serialised; independent of how many watch.",
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

export function registerServerMetrics(
  { env, config, metrics, open }: Foundation,
  { cache }: Store,
  { table }: Resources,
): void {
  metrics.gaugesOf(
    { name: "apiserver_resource_objects", help: "Objects stored, by resource.", labels: ["group", "resource"] },
    () =>
      table.stored.map(({ group, resource, keyPrefix }) => ({
        labelValues: [group, resource],
        value: cache.count(keyPrefix),
      })),
  );
  registerVersions(metrics, config.version);
  metrics.gaugeOf(
    { name: "apiserver_watch_cache_resource_version", help: "The newest resource version the cache has seen." },
    () => cache.revision,
  );
  metrics.gaugeOf({ name: "evenkeel_open_watches", help: "Watches open right now." }, () => open.watches.size);
  metrics.gaugeOf(
    { name: "process_resident_memory_bytes", help: "Resident memory in bytes." },
    () => env.processUsage().residentBytes,
  );
  metrics.gaugeOf(
    { name: "process_cpu_seconds_total", help: "CPU time used, in seconds." },
    () => env.processUsage().cpuSeconds,
  );
}

function registerVersions(metrics: MetricsRegistry, { binary, release, minCompatibility }: EffectiveVersion): void {
  const { major, minor, gitVersion } = releaseInfo(binary);
  const build = metrics.gauge({
    name: "kubernetes_build_info",
    help: "The release this server is.",
    labels: ["major", "minor", "git_version"],
  });
  build.with(major, minor, gitVersion).set(1);
  const versions = metrics.gauge({
    name: "version_info",
    help: "The release this server is, the one it behaves as, and the oldest it stays compatible with.",
    labels: ["component", "binary", "emulation", "min_compat"],
  });
  versions.with("kube", gitVersion.replace(/^v/, ""), release, minCompatibility).set(1);
}
