/**
 * Measures the cost that each encryption provider adds to a write and to a read of one value. The store does nothing, so
 * that only the encryption is measured. With "off" the server wraps no store, as without the flag.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { MetricsRegistry } from "../../src/base/metrics.ts";
import type { Random } from "../../src/base/random.ts";
import { createSystemClock } from "../../src/client/system.ts";
import { encryptedKv } from "../../src/storage/encryption/encrypted-kv.ts";
import { parseEncryptionConfig } from "../../src/storage/encryption/encryption-config.ts";
import { createEncryptionMetrics } from "../../src/storage/encryption/encryption-metrics.ts";
import { Encryption } from "../../src/storage/encryption/encryption.ts";
import type { KmsPlugin } from "../../src/storage/encryption/kms/plugin-client.ts";
import { createMemoryKv } from "../../src/storage/kv-memory/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import type { Kv } from "../../src/storage/kv.ts";
import type { EncryptionSamples, Measurement } from "./protocol.ts";

const NS_PER_MS = 1e6;
const KEY = "/registry/secrets/default/bench";
const VALUE_BYTES = 1_024;
const LOCAL = ["aesgcm", "aescbc", "secretbox"] as const;

type Operation = (kv: Kv) => Promise<unknown>;

export async function measureEncryption({
  rounds,
  count,
}: Extract<Measurement, { kind: "encryption" }>): Promise<EncryptionSamples> {
  const plain = Buffer.from(`{"kind":"Secret","apiVersion":"v1","data":{"a":"${"x".repeat(VALUE_BYTES - 52)}"}}`);
  const operations: readonly (readonly [string, Operation])[] = [
    ["write", (kv) => kv.commit({ kind: "put", key: KEY, value: plain, expectedRevision: 0 })],
    ["read", (kv) => kv.range({ start: KEY })],
  ];
  const stores = new Map<string, Kv>([
    ["off", idleKv()],
    ["another resource", await encrypted({ identity: {} }, "configmaps")],
  ]);
  for (const kind of LOCAL) {
    const secret = Buffer.alloc(32, 1).toString("base64");
    stores.set(kind, await encrypted({ [kind]: { keys: [{ name: "bench", secret }] } }));
  }
  stores.set("kms", await encrypted({ kms: { apiVersion: "v2", name: "bench", endpoint: "unix:///bench" } }));
  const floorStore = idleKv();
  const subjects = [...stores].flatMap(([store, kv]) =>
    operations.map(([name, operation]) => ({ name: `${name}, ${store}`, kv, operation, samples: [] as number[] })),
  );
  const time = async (operation: Operation, kv: Kv): Promise<number> => {
    const before = process.cpuUsage();
    for (let index = 0; index < count; index++) await operation(kv);
    const { user, system } = process.cpuUsage(before);
    return ((user + system) / 1000 / count) * NS_PER_MS;
  };
  for (const [, operation] of operations) await operation(floorStore);
  for (let round = -1; round < rounds; round++) {
    for (const { kv, operation, samples } of subjects) {
      const added = (await time(operation, kv)) - (await time(operation, floorStore));
      // The first round only warms up the compiler.
      if (round >= 0) samples.push(added);
    }
  }
  return Object.fromEntries(subjects.map(({ name, samples }) => [name, samples]));
}

/** Keeps the last written value, and accepts every write. */
function idleKv(): Kv {
  let value = Buffer.from("{}");
  return overlaidKv(createMemoryKv({ clock: createSystemClock() }), {
    commit(change) {
      // A copy, because the encryption remembers the buffers that it has written.
      if (change.kind === "put") value = Buffer.from(change.value);
      return Promise.resolve({ committed: true, revision: 1 });
    },
    range() {
      const items = [{ key: KEY, value, createRevision: 1, modRevision: 1 }];
      return Promise.resolve({ items, revision: 1, count: 1 });
    },
  });
}

async function encrypted(provider: object, resource = "secrets"): Promise<Kv> {
  const file = {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      { resources: [resource], providers: [provider, { identity: {} }].slice(0, "identity" in provider ? 1 : 2) },
    ],
  };
  const parsed = parseEncryptionConfig(file);
  if (!parsed.isValid) throw new Error(parsed.problems.join(" "));
  const clock = createSystemClock();
  const random: Random = { float: Math.random, bytes: (length) => randomBytes(length), uuid: () => randomUUID() };
  const silent = (): void => {};
  const encryption = new Encryption({
    clock,
    random,
    log: { debug: silent, info: silent, warn: silent, error: silent },
    metrics: createEncryptionMetrics(new MetricsRegistry(), clock, "bench"),
    initial: { config: parsed.config, hash: "bench" },
    reload: undefined,
    openPlugin: () => PLUGIN,
    resourceOf: () => ({ group: "", resource: "secrets" }),
  });
  await encryption.check();
  return encryptedKv(idleKv(), encryption);
}

/** It is called once, so its own cost does not matter. */
const PLUGIN: KmsPlugin = {
  status: () => Promise.resolve({ version: "v2", healthz: "ok", keyId: "bench" }),
  encrypt: (plaintext) => Promise.resolve({ ciphertext: plaintext, keyId: "bench", annotations: new Map() }),
  decrypt: ({ ciphertext }) => Promise.resolve(ciphertext),
  close: () => {},
};
