/**
 * Encryption at rest beside a real kube-apiserver on one etcd: Secrets that one kind of server encrypts with each
 * provider and the other reads, rotates to another key, and reads without the old key. The KMS plugin is a process of
 * the test.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openEtcdKv } from "../../src/storage/kv-etcd/kv.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { fileOf, IDENTITY, keyed, ONE, TWO, type Provider } from "../api/encryption-config.ts";
import { realClock } from "../testing/real-clock.ts";
import { spawnKmsPlugin, type KmsPluginProcess } from "../smoke/spawn-kms-plugin.ts";
import { BINARIES, whySkipped } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer } from "./real-cluster.ts";

const SECRETS = "/api/v1/namespaces/default/secrets";
const PREFIX = "/registry/secrets/default/";
const LOCAL = ["aesgcm", "aescbc", "secretbox"] as const;
const why = whySkipped(BINARIES[0], "1.31 or newer");

/** A step of a rotation: the providers in order, and the header of values that are written in this step. */
interface Step {
  readonly providers: readonly Provider[];
  readonly header: string;
}

function steps(kind: string, plugins: readonly Provider[]): readonly Step[] {
  if (kind === "kms") {
    const [first, second] = plugins;
    return [
      { providers: [first!, IDENTITY], header: "k8s:enc:kms:v2:first:" },
      { providers: [second!, first!, IDENTITY], header: "k8s:enc:kms:v2:second:" },
      { providers: [second!], header: "k8s:enc:kms:v2:second:" },
    ];
  }
  const [one, two] = [["one", ONE] as const, ["two", TWO] as const];
  return [
    { providers: [keyed(kind, one), IDENTITY], header: `k8s:enc:${kind}:v1:one:` },
    { providers: [keyed(kind, two, one), IDENTITY], header: `k8s:enc:${kind}:v1:two:` },
    { providers: [keyed(kind, two)], header: `k8s:enc:${kind}:v1:two:` },
  ];
}

describe.skipIf(why !== undefined).each(BINARIES)(
  "encryption beside kube-apiserver $release",
  { timeout: 400_000 },
  (binary) => {
    const directory = mkdtempSync(join(tmpdir(), "evenkeel-encryption-"));
    const plugins: KmsPluginProcess[] = [];
    let cluster: RealCluster;
    const pluginConfig = (name: string): Provider => ({
      kms: { apiVersion: "v2", name, endpoint: `unix://${join(directory, name)}.sock` },
    });
    beforeAll(async () => {
      cluster = await openRealCluster(2);
      for (const name of ["first", "second"])
        plugins.push(await spawnKmsPlugin(join(directory, `${name}.sock`), `key of ${name}`));
    }, 200_000);
    afterAll(async () => {
      await cluster?.[Symbol.asyncDispose]();
      for (const plugin of plugins) await plugin[Symbol.asyncDispose]();
      rmSync(directory, { recursive: true });
    });

    /** Runs both servers with the same providers. */
    const withServers = async (
      providers: readonly Provider[],
      work: (servers: readonly RunningServer[]) => Promise<void>,
      resource = "secrets",
    ): Promise<void> => {
      const file = join(directory, "config.yaml");
      writeFileSync(file, fileOf([{ resources: [resource], providers }]));
      const flags = [`--encryption-provider-config=${file}`];
      const servers = await Promise.all([
        cluster.startKube({ at: 0, binary, flags }),
        cluster.startEvenkeel({ at: 1, release: binary.release, flags }),
      ]);
      try {
        await work(servers);
      } finally {
        await Promise.all(servers.map((server) => server.stop()));
      }
    };

    test.each([...LOCAL, "kms"])(
      "%s: a Secret of either server is read, rotated and kept by the other",
      async (kind) => {
        const [first, rotated, retired] = steps(kind, [pluginConfig("first"), pluginConfig("second")]);
        const nameOf = ({ kind: creator }: RunningServer): string => `${kind}-by-${creator}`;
        await withServers(first!.providers, async (servers) => {
          for (const server of servers) expect((await create(server, nameOf(server))).status).toBe(201);
          expect(await headers(cluster, kind)).toEqual([first!.header, first!.header]);
          for (const server of servers) await expectSecrets(server, servers.map(nameOf));
        });
        await withServers(rotated!.providers, async (servers) => {
          for (const server of servers) await expectSecrets(server, servers.map(nameOf));
          // Each server rotates the Secret that the other has created, by an update that changes nothing.
          for (const [index, server] of servers.entries()) {
            const path = `${SECRETS}/${nameOf(servers[1 - index]!)}`;
            const { body } = await server.request("GET", path);
            expect((await server.request("PUT", path, body)).status).toBe(200);
          }
          expect(await headers(cluster, kind)).toEqual([rotated!.header, rotated!.header]);
        });
        await withServers(retired!.providers, async (servers) => {
          for (const server of servers) await expectSecrets(server, servers.map(nameOf));
          for (const server of servers)
            expect((await server.request("DELETE", `${SECRETS}/${nameOf(server)}`)).status).toBe(200);
        });
      },
    );

    test("*.*: both servers encrypt every object, and leave the records of servers in clear", async () => {
      const onlyKey = [keyed("secretbox", ["one", ONE])];
      await erase(cluster);
      await withServers(
        onlyKey,
        async (servers) => {
          for (const server of servers) expect((await create(server, `all-by-${server.kind}`)).status).toBe(201);
          for (const server of servers)
            await expectSecrets(
              server,
              servers.map(({ kind }) => `all-by-${kind}`),
            );
          const [inClear, encrypted] = await partition(cluster);
          expect(inClear.filter((prefix) => !SERVER_RECORDS.includes(prefix))).toEqual([]);
          expect(encrypted.filter((prefix) => SERVER_RECORDS.includes(prefix))).toEqual([]);
          expect(inClear).toContain("masterleases");
          expect(inClear).toContain("ranges");
          expect(encrypted).toContain("clusterroles");
          expect(encrypted).toContain("apiregistration.k8s.io");
          const metrics = await servers[1]!.request("GET", "/metrics");
          expect(metrics.text).not.toMatch(/^evenkeel_storage_corrupt_objects\{/m);
        },
        "*.*",
      );
    });
  },
);

function create(server: RunningServer, name: string): ReturnType<RunningServer["request"]> {
  const object = { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { password: `of ${name}` } };
  return server.request("POST", SECRETS, object);
}

async function expectSecrets(server: RunningServer, names: readonly string[]): Promise<void> {
  const { status, body } = await server.request("GET", SECRETS);
  expect([server.kind, status]).toEqual([server.kind, 200]);
  for (const name of names) {
    const got = await server.request("GET", `${SECRETS}/${name}`);
    expect([server.kind, got.status, got.body.data]).toEqual([
      server.kind,
      200,
      { password: Buffer.from(`of ${name}`).toString("base64") },
    ]);
    expect(body.items.map((item: typeof body) => item.metadata.name)).toContain(name);
  }
}

/** The first parts of keys that only servers read. */
const SERVER_RECORDS: readonly string[] = ["evenkeel", "masterleases", "peerserverleases", "ranges"];

/** The first parts of the keys in etcd: those with values in clear, and those with encrypted values. */
async function partition(cluster: RealCluster): Promise<readonly [inClear: string[], encrypted: string[]]> {
  const found = [new Set<string>(), new Set<string>()] as const;
  await withStore(cluster, async (kv) => {
    const { items } = await kv.range({ start: "/registry/", end: "/registry0" });
    for (const { key, value } of items)
      found[value.toString("latin1", 0, 8) === "k8s:enc:" ? 1 : 0].add(key.split("/")[2]!);
  });
  return [[...found[0]], [...found[1]]];
}

/** Removes all objects, because those that were stored in clear cannot be read any more. */
async function erase(cluster: RealCluster): Promise<void> {
  await withStore(cluster, async (kv) => {
    const { items } = await kv.range({ start: "/registry/", end: "/registry0" });
    for (const { key, modRevision } of items) await kv.commit({ kind: "delete", key, expectedRevision: modRevision });
  });
}

async function withStore<T>(cluster: RealCluster, work: (kv: Kv) => Promise<T>): Promise<T> {
  const kv = await openEtcdKv({ endpoints: [cluster.etcd], clock: realClock() });
  try {
    return await work(kv);
  } finally {
    await kv.close();
  }
}

/** The headers of the stored Secrets whose names begin with the provider. */
function headers(cluster: RealCluster, kind: string): Promise<string[]> {
  return withStore(cluster, async (kv) => {
    const { items } = await kv.range({ start: `${PREFIX}${kind}-by-`, end: `${PREFIX}${kind}-by.` });
    return items.map(({ value }) => /^k8s:enc:\w+:v\d:\w+:/.exec(value.toString("latin1", 0, 128))?.[0] ?? "in clear");
  });
}
