/**
 * Values that are encrypted and lack defaults of the server's release, as a kube-apiserver with the same encryption
 * configuration stores them: all reads show the object in clear and complete, and it is rewritten once.
 */
import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { prefixEnd } from "../../src/storage/kv.ts";
import { aesGcm } from "../../src/storage/encryption/ciphers.ts";
import { localKey, ResourceProviders } from "../../src/storage/encryption/providers.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { store } from "./corrupt-values.ts";
import { fileOf, IDENTITY, keyed, ONE, TWO, type Provider } from "./encryption-config.ts";
import { names, startServer, type Json, type TestServer } from "./start.ts";

const CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims";
const PREFIX = "/registry/persistentvolumeclaims/default/";
const MINUTE = 60_000;
const [first, second] = [keyed("aesgcm", ["one", ONE]), keyed("aesgcm", ["two", TWO])];

function claim(name: string, status: Json = {}): Json {
  return {
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    metadata: { name, namespace: "default", uid: name, labels: { a: name } },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    status,
  };
}

class ClaimsTest {
  readonly world = new World({ seed: 1 });
  providers: readonly Provider[] = [second, first, IDENTITY];

  server(): Promise<TestServer> {
    const read = (): string => fileOf([{ resources: ["persistentvolumeclaims"], providers: this.providers }]);
    return startServer({ world: this.world, encryption: { read, reloads: true } });
  }
}

/** Stores the claim with the first of the two keys, which is not the one that the server uses for writes. */
async function seal(api: TestServer, object: Json): Promise<number> {
  const random = { float: () => 0, bytes: (length: number) => randomBytes(length) };
  const cipher = aesGcm(Buffer.from(ONE, "base64"), random);
  const providers = new ResourceProviders([[localKey({ kind: "aesgcm", name: "one", fingerprint: "", cipher })]]);
  const key = PREFIX + String(object.metadata.name);
  await store(api, providers.seal(Buffer.from(JSON.stringify(object)), key)!.value, key);
  return (await api.kv.range({ start: key })).items[0]!.modRevision;
}

async function headers(api: TestServer): Promise<string[]> {
  const { items } = await api.kv.range({ start: PREFIX, end: prefixEnd(PREFIX) });
  return items.map(({ value }) => value.toString("latin1", 0, 22));
}

const phases = (items: readonly Json[]): string[] =>
  items.map((item) => `${item.metadata.name} ${item.status.phase} ${item.spec.volumeMode}`);

describe("encrypted values without their defaults", () => {
  test("are complete in lists of every kind, and in watches from an old revision", async () => {
    const t = new ClaimsTest();
    await using api = await t.server();
    const before = Number((await api.get(CLAIMS)).body.metadata.resourceVersion);
    const old = [await seal(api, claim("a")), await seal(api, claim("b")), await seal(api, claim("c"))].at(-1);
    await seal(api, claim("a", { phase: "Bound" }));
    await using other = await t.server();
    for (const server of [api, other]) {
      const list = await server.get(CLAIMS);
      expect(phases(list.body.items)).toEqual(["a Bound Filesystem", "b Pending Filesystem", "c Pending Filesystem"]);
      const exact = await server.get(`${CLAIMS}?resourceVersion=${old}&resourceVersionMatch=Exact`);
      expect(phases(exact.body.items)[0]).toBe("a Pending Filesystem");
      const page = await server.get(`${CLAIMS}?resourceVersion=${old}&resourceVersionMatch=Exact&limit=2`);
      const rest = await server.get(`${CLAIMS}?limit=2&continue=${page.body.metadata.continue}`);
      expect(phases([...page.body.items, ...rest.body.items])).toEqual(phases(exact.body.items));
      expect(names(await server.get(`${CLAIMS}?labelSelector=a%3Db&fieldSelector=metadata.name%3Db`))).toEqual(["b"]);
      const as = (kind: string): Record<string, string> => ({
        accept: `application/json;as=${kind};v=v1;g=meta.k8s.io`,
      });
      const table = await server.get(CLAIMS, as("Table"));
      expect(table.body.rows.map(({ cells }: Json) => cells[1])).toEqual(["Bound", "Pending", "Pending"]);
      const metadata = await server.get(CLAIMS, as("PartialObjectMetadataList"));
      expect(metadata.body.items.map((item: Json) => item.metadata.labels)).toEqual([
        { a: "a" },
        { a: "b" },
        { a: "c" },
      ]);
    }
    const watch = await api.watch(`${CLAIMS}?watch=true&resourceVersion=${before}`);
    const events = await watch.events();
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "ADDED", "ADDED", "MODIFIED"]);
    expect(phases(events.map(({ object }) => object)).slice(0, 1)).toEqual(["a Pending Filesystem"]);
  });

  test("are written by an update without changes once, with the first key and all defaults", async () => {
    const t = new ClaimsTest();
    await using api = await t.server();
    await seal(api, claim("a"));
    const path = `${CLAIMS}/a`;
    const { body: read } = await api.get(path);
    const written = await api.put(path, read);
    expect(written.body.metadata.resourceVersion).not.toBe(read.metadata.resourceVersion);
    expect(await headers(api)).toEqual(["k8s:enc:aesgcm:v1:two:"]);
    await using other = await t.server();
    for (const server of [api, other]) {
      expect((await server.put(path, written.body)).body).toEqual(written.body);
      expect((await server.mergePatch(path, {})).body).toEqual(written.body);
    }
  });

  test("still lack their defaults after the server has read them a second time, because a key was missing", async () => {
    const t = new ClaimsTest();
    await using api = await t.server();
    await seal(api, claim("a"));
    t.providers = [second, IDENTITY];
    await t.world.advance(2 * MINUTE);
    expect((await api.get(`${CLAIMS}/a`)).status).toBe(500);
    // The old key is the first one now, so that the value is up to date except for its defaults.
    t.providers = [first, second, IDENTITY];
    await t.world.advance(2 * MINUTE);
    const { body: read } = await api.get(`${CLAIMS}/a`);
    expect(read.status).toEqual({ phase: "Pending" });
    const written = await api.put(`${CLAIMS}/a`, read);
    expect(written.body.metadata.resourceVersion).not.toBe(read.metadata.resourceVersion);
    expect((await api.put(`${CLAIMS}/a`, written.body)).body).toEqual(written.body);
  });
});
