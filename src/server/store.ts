/** The store of a server: the key-value store, its watch cache, and the background tasks of both. */
import type { BackgroundTask } from "../base/background.ts";
import { protobufTables } from "../objects/catalog/protobuf-tables.ts";
import type { HealthCheck } from "../serving/endpoints/health.ts";
import { storedProtobufDecoder } from "../serving/registry/stored-protobuf.ts";
import { compactor } from "../storage/compactor.ts";
import type { Encryption } from "../storage/encryption/encryption.ts";
import { encryptedKv } from "../storage/encryption/encrypted-kv.ts";
import type { Kv } from "../storage/kv.ts";
import { overlaidKv } from "../storage/overlaid-kv.ts";
import { WatchCache } from "../storage/watch-cache/cache.ts";
import { encryptionChecks, openEncryption } from "./encryption.ts";
import type { AddDefaults } from "../storage/watch-cache/entry.ts";
import type { Foundation } from "./foundation.ts";

export interface ServerStore {
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly tasks: readonly BackgroundTask[];
  readonly checks: () => readonly HealthCheck[];
}

/** `addDefaults` completes the stored objects of built-in kinds; undefined if the server has none. */
export async function openServerStore(on: Foundation, addDefaults: AddDefaults | undefined): Promise<ServerStore> {
  const { env, config, history } = on;
  const { clock, log } = env;
  const encryption = await openEncryption(on);
  const opened = await env.openKv(config.storage);
  const kv = encryption === undefined ? opened : encryptedStore(opened, encryption);
  const cache = new WatchCache({
    kv,
    clock,
    root: config.storageRoot,
    reading: { decodeForeign: storedProtobufDecoder(protobufTables), addDefaults },
    onStateChange: (state) => log.info("storage watch state changed", { state }),
    onLoadFailed: (problem) => log.warn("storage not loaded", { problem }),
    epochs: history.epochs,
    nextTurn: env.nextTurn,
  });
  history.recovery.addStep(() => (cache.state === "following" ? undefined : `watch cache is ${cache.state}`));
  return {
    kv,
    cache,
    tasks: [
      { name: "watch-cache", run: (signal) => cache.run(signal) },
      ...(encryption === undefined ? [] : [encryption.task(kv, cache)]),
      compactor({ kv, clock, log, epoch: cache.epoch, intervalMs: config.compactionIntervalMs }),
      history.recovery.task,
    ],
    checks: () => [
      ...storageChecks(cache),
      ...encryptionChecks(encryption),
      { name: "store-history", check: history.recovery.check, endpoints: ["readyz"] },
    ],
  };
}

function encryptedStore(kv: Kv, encryption: Encryption): Kv {
  const encrypted = encryptedKv(kv, encryption);
  return overlaidKv(encrypted, {
    async close() {
      await encrypted.close();
      encryption.close();
    },
  });
}

/** An unreachable store makes the server unready, but does not fail /livez, because the process itself is healthy. */
function storageChecks(cache: WatchCache): HealthCheck[] {
  const because = (): string => (cache.problem === undefined ? "" : `: ${cache.problem}`);
  const storage = (): string | undefined =>
    cache.state === "following" ? undefined : `watch cache is ${cache.state}${because()}`;
  const filled = (): string | undefined =>
    cache.state === "loading" ? `watch cache is loading${because()}` : undefined;
  return [
    { name: "ping", check: () => undefined, endpoints: ["healthz", "livez", "readyz"] },
    { name: "log", check: () => undefined, endpoints: ["healthz", "livez", "readyz"] },
    { name: "etcd", check: storage, endpoints: ["healthz", "readyz"] },
    { name: "etcd-readiness", check: storage, endpoints: ["readyz"] },
    { name: "informer-sync", check: filled, endpoints: ["readyz"] },
  ];
}
