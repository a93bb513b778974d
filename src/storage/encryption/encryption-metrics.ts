/** The metrics about encryption, with kube-apiserver's names. Key IDs are hashed, as there. */
import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { LruMap } from "../../base/lru-map.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";

type Transformation = "from_storage" | "to_storage";

export interface EncryptionMetrics {
  /** A value was encrypted or decrypted; `seconds` is undefined if that failed. */
  transformed(
    resource: string,
    transformation: Transformation,
    by: { prefix: string; seconds: number | undefined },
  ): void;
  dataKeyMissed(): void;
  /** The number of data keys in memory of each provider, which is read at each scrape. */
  showDataKeys(read: () => readonly (readonly [provider: string, count: number])[]): void;
  keyUsed(transformation: Transformation, provider: string, keyId: string): void;
  keyReported(provider: string, keyId: string): void;
  invalidKeyId(provider: string, problem: string): void;
  pluginCalled(provider: string, method: string, call: { seconds: number; status: string }): void;
  /** The file was reloaded, or could not be; `configHash` is that of the applied file. */
  reloaded(result: "success" | "failure"): void;
  configApplied(configHash: string): void;
}

const KEY_HASHES_MAX = 100;

export function createEncryptionMetrics(registry: MetricsRegistry, clock: Clock, serverId: string): EncryptionMetrics {
  const hashes = new LruMap<string>(KEY_HASHES_MAX);
  const hashOf = (text: string): string => {
    const known = hashes.get(text);
    if (known !== undefined) return known;
    const hash = sha256(text);
    hashes.set(text, hash);
    return hash;
  };
  const server = sha256(serverId);
  const seconds = (): number => clock.now() / 1000;
  const durations = registry.histogram({
    name: "apiserver_storage_transformation_duration_seconds",
    help: "Latencies in seconds of value transformation operations.",
    labels: ["transformation_type", "transformer_prefix"],
    buckets: exponential(5e-6, 25),
  });
  const transformations = registry.counter({
    name: "apiserver_storage_transformation_operations_total",
    help: "Total number of transformations, by resource, type, prefix and status.",
    labels: ["resource", "transformation_type", "transformer_prefix", "status"],
  });
  const misses = registry
    .counter({
      name: "apiserver_storage_envelope_transformation_cache_misses_total",
      help: "Total number of data keys that a KMS plugin had to decrypt.",
    })
    .with();
  let dataKeys: () => readonly (readonly [string, number])[] = () => [];
  registry.gaugesOf(
    {
      name: "apiserver_envelope_encryption_dek_source_cache_size",
      help: "Number of decrypted data keys in memory.",
      labels: ["provider_name"],
    },
    () => dataKeys().map(([provider, value]) => ({ labelValues: [provider], value })),
  );
  const keyLabels = ["transformation_type", "provider_name", "key_id_hash", "apiserver_id_hash"];
  const keyUses = registry.counter({
    name: "apiserver_envelope_encryption_key_id_hash_total",
    help: "Number of times a key ID is used, by transformation type, provider and server.",
    labels: keyLabels,
  });
  const keyUseTimes = registry.gauge({
    name: "apiserver_envelope_encryption_key_id_hash_last_timestamp_seconds",
    help: "The last time in seconds when a key ID was used.",
    labels: keyLabels,
  });
  const reports = registry.gauge({
    name: "apiserver_envelope_encryption_key_id_hash_status_last_timestamp_seconds",
    help: "The last time in seconds when a KMS plugin reported a key ID.",
    labels: keyLabels.slice(1),
  });
  const invalidIds = registry.counter({
    name: "apiserver_envelope_encryption_invalid_key_id_from_status_total",
    help: "Number of times a KMS plugin reported an invalid key ID.",
    labels: ["provider_name", "error"],
  });
  const calls = registry.histogram({
    name: "apiserver_envelope_encryption_kms_operations_latency_seconds",
    help: "Durations of calls to KMS plugins, by gRPC status.",
    labels: ["provider_name", "method_name", "grpc_status_code"],
    buckets: exponential(1e-4, 20),
  });
  const reloads = registry.counter({
    name: "apiserver_encryption_config_controller_automatic_reloads_total",
    help: "Total number of reload successes and failures of the encryption configuration.",
    labels: ["status", "apiserver_id_hash"],
  });
  const reloadTimes = registry.gauge({
    name: "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
    help: "Timestamp of the last successful or failed reload of the encryption configuration.",
    labels: ["status", "apiserver_id_hash"],
  });
  let applied: string | undefined;
  registry.gaugesOf(
    {
      name: "apiserver_encryption_config_controller_last_config_info",
      help: "The hash of the encryption configuration that was applied last.",
      labels: ["apiserver_id_hash", "hash"],
    },
    () => (applied === undefined ? [] : [{ labelValues: [server, applied], value: 1 }]),
  );
  return {
    transformed(resource, transformation, by) {
      transformations.with(resource, transformation, by.prefix, by.seconds === undefined ? "Unknown" : "OK").inc();
      if (by.seconds !== undefined) durations.with(transformation, by.prefix).observe(by.seconds);
    },
    dataKeyMissed: () => misses.inc(),
    showDataKeys(read) {
      dataKeys = read;
    },
    keyUsed(transformation, provider, keyId) {
      const labels = [transformation, provider, hashOf(keyId), server];
      keyUses.with(...labels).inc();
      keyUseTimes.with(...labels).set(seconds());
    },
    keyReported: (provider, keyId) => reports.with(provider, hashOf(keyId), server).set(seconds()),
    invalidKeyId: (provider, problem) => invalidIds.with(provider, problem).inc(),
    pluginCalled: (provider, method, call) => calls.with(provider, method, call.status).observe(call.seconds),
    reloaded(result) {
      reloads.with(result, server).inc();
      reloadTimes.with(result, server).set(seconds());
    },
    configApplied(hash) {
      applied = hash;
    },
  };
}

export function sha256(text: string): string {
  return text === "" ? "" : `sha256:${createHash("sha256").update(text).digest("hex")}`;
}

function exponential(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first * 2 ** index);
}
