import type { HealthCheck } from "../serving/endpoints/health.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";

/** The store may be out of reach while this process is well: that makes it unready, not dead. */
export function storageChecks(cache: WatchCache): HealthCheck[] {
  const storage = (): string | undefined => (cache.state === "following" ? undefined : `the storage is ${cache.state}`);
  const filled = (): string | undefined => (cache.state === "loading" ? "the cache is being filled" : undefined);
  return [
    { name: "ping", check: () => undefined, endpoints: ["healthz", "livez", "readyz"] },
    { name: "log", check: () => undefined, endpoints: ["healthz", "livez", "readyz"] },
    { name: "etcd", check: storage, endpoints: ["healthz", "readyz"] },
    { name: "etcd-readiness", check: storage, endpoints: ["readyz"] },
    { name: "informer-sync", check: filled, endpoints: ["readyz"] },
  ];
}

export function isReady(checks: readonly HealthCheck[]): boolean {
  return checks.every(({ endpoints, check }) => !endpoints.includes("readyz") || check() === undefined);
}
