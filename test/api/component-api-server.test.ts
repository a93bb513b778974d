/**
 * Tests of the API servers of other components (such as aggregated servers) that register with the main API server:
 * their identity leases, their StorageVersion entries, and the encodings on which they agree.
 */
import { describe, expect, test } from "vitest";
import { createClient, type Client } from "../../src/client/client.ts";
import { TransportError, type Transport } from "../../src/client/transport.ts";
import {
  GADGET,
  GROUP,
  startApiServer,
  WIDGET,
  widget,
  WIDGETS,
  type TestApiServer,
} from "../testing/server/api-server/start-api-server.ts";
import type { ResourceDefinition } from "../../src/extensions/library/resource-definition.ts";
import type { PeerOptions } from "../../src/cluster/peers/peer-config.ts";
import { createMemoryStore, type MemoryStore } from "../../src/storage/kv-memory/kv.ts";
import type { Kv, KvEvent } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { startServer, type Json, type TestServer } from "./start.ts";

const STORAGE_VERSION = `/apis/internal.apiserver.k8s.io/v1alpha1/storageversions/${GROUP}.widgets`;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const V1_WIDGETS = WIDGETS.replace("/v2/", "/v1/");
/** After this time the main API server has deleted an expired lease. */
const MINUTE_MS = 60_000;

/** A server with this resource definition decodes only v1. */
const OLD_WIDGET: ResourceDefinition = { ...WIDGET, versions: WIDGET.versions.filter(({ name }) => name === "v1") };

/** A client of the main API server whose connection the test can cut. */
class CuttableConnection {
  isCut = false;
  readonly client: Client;

  constructor({ world, server }: TestServer) {
    const transport: Transport = {
      send: (request) =>
        this.isCut ? Promise.reject(new TransportError("refused", "cut off")) : server.transport.send(request),
    };
    const { clock, random } = world.env;
    this.client = createClient({ transport, clock, random, defaults: { retriesMax: 0 } });
  }
}

const startMain = (peers: PeerOptions = { hostname: "main" }): Promise<TestServer> =>
  startServer({ strictRelease: false, peers });

async function entries(main: TestServer): Promise<string[]> {
  const { status, body } = await main.get(STORAGE_VERSION);
  if (status === 404) return [];
  return body.status.storageVersions.map((one: Json) => `${one.apiServerID} ${one.encodingVersion}`);
}

async function leaseNames(main: TestServer): Promise<string[]> {
  const { body } = await main.get(`${LEASES}?labelSelector=apiserver.kubernetes.io/identity%3Dthings-apiserver`);
  return body.items.map((lease: Json) => lease.metadata.name);
}

describe("an API server that registers with the main API server", () => {
  test("has an identity lease and StorageVersion entries in the main API server while it is live", async () => {
    await using main = await startMain();
    await using server = await startApiServer(main.world, {
      main: new CuttableConnection(main).client,
      kv: createMemoryStore({ clock: main.world.clock }).open,
    });
    await main.world.advance(5 * MINUTE_MS);
    expect(await leaseNames(main)).toEqual(["things-1"]);
    const { body } = await main.get(STORAGE_VERSION);
    expect(body.status).toMatchObject({
      storageVersions: [
        {
          apiServerID: "things-1",
          encodingVersion: `${GROUP}/v2`,
          decodableVersions: [`${GROUP}/v2`, `${GROUP}/v1`],
          servedVersions: [`${GROUP}/v2`, `${GROUP}/v1`],
        },
      ],
      commonEncodingVersion: `${GROUP}/v2`,
      conditions: [{ type: "AllEncodingVersionsEqual", status: "True" }],
    });
    expect((await server.call("POST", WIDGETS, widget("a"))).status).toBe(201);
    const pods = await main.get("/apis/internal.apiserver.k8s.io/v1alpha1/storageversions/core.pods");
    expect(pods.body.status.conditions).toMatchObject([{ status: "True" }]);
  });

  test.each(["discovery", "storageversion"])(
    "is not a peer of the main API server, also with routing source %s",
    async (routingSource) => {
      await using main = await startMain({ hostname: "main", routingSource });
      await using server = await startApiServer(main.world, {
        main: new CuttableConnection(main).client,
        kv: createMemoryStore({ clock: main.world.clock }).open,
      });
      expect((await server.get(WIDGETS)).status).toBe(200);
      expect(main.server.view().peers).toEqual([]);
      expect((await main.get(WIDGETS)).status).toBe(404);
    },
  );

  test("leaves neither a lease nor StorageVersion entries after it has stopped", async () => {
    await using main = await startMain();
    {
      await using server = await startApiServer(main.world, {
        main: new CuttableConnection(main).client,
        kv: createMemoryStore({ clock: main.world.clock }).open,
      });
      expect(await entries(main)).toEqual([`things-1 ${GROUP}/v2`]);
      expect((await server.get("/readyz")).status).toBe(200);
    }
    expect(await leaseNames(main)).toEqual([]);
    await main.world.advance(MINUTE_MS);
    expect(await entries(main)).toEqual([]);
  });

  test("stops writing when its connection is cut, loses its lease and entries, and writes again after it is reconnected", async () => {
    await using main = await startMain();
    const way = new CuttableConnection(main);
    await using server = await startApiServer(main.world, {
      main: way.client,
      kv: createMemoryStore({ clock: main.world.clock }).open,
    });
    way.isCut = true;
    await main.world.advance(12_000);
    expect(await entries(main)).toEqual([`things-1 ${GROUP}/v2`]);
    const rejected = await server.call("POST", WIDGETS, widget("a"));
    expect(rejected).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect((await server.get(WIDGETS)).status).toBe(200);
    await main.world.advance(MINUTE_MS);
    expect([await leaseNames(main), await entries(main)]).toEqual([[], []]);
    way.isCut = false;
    await main.world.advance(10_000);
    expect(await entries(main)).toEqual([`things-1 ${GROUP}/v2`]);
    expect((await server.call("POST", WIDGETS, widget("a"))).status).toBe(201);
  });

  test("writes nothing before it has published its StorageVersion entries", async () => {
    await using main = await startMain();
    const way = new CuttableConnection(main);
    way.isCut = true;
    await using server = await startApiServer(main.world, {
      main: way.client,
      kv: createMemoryStore({ clock: main.world.clock }).open,
      isAwaited: false,
    });
    await main.world.advance(1_000);
    expect(await server.call("POST", WIDGETS, widget("a"))).toMatchObject({ status: 503 });
    expect((await server.get("/readyz")).status).toBe(500);
    way.isCut = false;
    await main.world.run(server.server.ready);
    expect((await server.call("POST", WIDGETS, widget("a"))).status).toBe(201);
  });
});

test("an API server is not ready and rejects writes until the agreement on encodings is in its own store", async () => {
  await using main = await startMain();
  const held = Promise.withResolvers<void>();
  const store = createMemoryStore({ clock: main.world.clock });
  await using server = await startApiServer(main.world, {
    ...{
      main: new CuttableConnection(main).client,
      kv: () => withHeldAgreement(store.open(), held.promise),
      isAwaited: false,
    },
  });
  await main.world.advance(5_000);
  expect(await entries(main)).toEqual([`things-1 ${GROUP}/v2`]);
  expect((await server.get("/readyz")).status).toBe(500);
  expect((await server.call("POST", WIDGETS, widget("a"))).status).toBe(503);
  held.resolve();
  await main.world.run(server.server.ready);
  expect((await server.call("POST", WIDGETS, widget("a"))).status).toBe(201);
});

function withHeldAgreement(kv: Kv, until: Promise<void>): Kv {
  return overlaidKv(kv, {
    async commit(change) {
      if (change.key.includes("/storage-version-agreement/")) await until;
      return kv.commit(change);
    },
  });
}

describe("two API servers of one component with one store", () => {
  test("write a version that both can decode while both are live, and the preferred version after one has departed", async () => {
    await using main = await startMain();
    const { world } = main;
    const store = createMemoryStore({ clock: world.clock });
    const seen: KvEvent[] = [];
    const kv = store.open();
    const sink = { events: (batch: readonly KvEvent[]) => void seen.push(...batch), ...IGNORED };
    const watching = kv.watch({ prefix: "/things/", fromRevision: 1 }, sink);
    await using newer = await startApiServer(world, { main: new CuttableConnection(main).client, kv: store.open });
    const starting = startOlder(main, store);
    await createUntil(newer, starting);
    {
      await using older = await starting;
      expect((await older.get("/readyz")).status).toBe(200);
      expect(await entries(main)).toEqual([`things-1 ${GROUP}/v1`, `things-2 ${GROUP}/v1`]);
      await newer.call("POST", WIDGETS, widget("after", { color: "blue" }));
      expect(versionOf(lastOf(seen, "after"))).toBe(`${GROUP}/v1`);
    }
    expect(unreadable(seen)).toEqual([]);
    await world.advance(MINUTE_MS);
    expect(await entries(main)).toEqual([`things-1 ${GROUP}/v2`]);
    await newer.call("POST", WIDGETS, widget("alone"));
    expect(versionOf(lastOf(seen, "alone"))).toBe(`${GROUP}/v2`);
    expect((await newer.get(`${WIDGETS}/after`)).body.spec).toEqual({ color: "blue", size: 3 });
    watching.close();
    await kv.close();
  });

  test("return an error for writes to the server that cannot decode the stored version, until the other server has rewritten the objects", async () => {
    await using main = await startMain();
    const store = createMemoryStore({ clock: main.world.clock });
    await using newer = await startApiServer(main.world, { main: new CuttableConnection(main).client, kv: store.open });
    await newer.call("POST", WIDGETS, widget("a", { color: "blue" }));
    await using older = await startOlder(main, store);
    const rejected = await older.call("POST", V1_WIDGETS, widget("b", {}, "v1"));
    expect(rejected).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    expect(rejected.body.message).toContain(`this server cannot read ${GROUP}/v2, in which shop/a are stored`);
    const { body } = await newer.get(`${WIDGETS}/a`);
    await newer.call("PUT", `${WIDGETS}/a`, { ...body, metadata: { ...body.metadata, labels: { touched: "yes" } } });
    await main.world.advance(2_000);
    expect((await older.get(`${V1_WIDGETS}/a`)).body.spec).toEqual({ hue: "blue", size: 3 });
    expect((await older.call("POST", V1_WIDGETS, widget("b", { hue: "red" }, "v1"))).status).toBe(201);
    expect((await newer.get(`${WIDGETS}/b`)).body.spec).toEqual({ color: "red", size: 1 });
  });
});

function startOlder(main: TestServer, store: MemoryStore): Promise<TestApiServer> {
  return startApiServer(main.world, {
    ...{
      main: new CuttableConnection(main).client,
      kv: store.open,
      serverId: "things-2",
      resources: [OLD_WIDGET, GADGET],
    },
  });
}

const IGNORED = { progress: () => {}, interrupted: () => {}, closed: () => {} };

async function createUntil(server: TestApiServer, moment: Promise<unknown>): Promise<void> {
  let isOver = false;
  void moment.then(() => (isOver = true));
  for (let index = 0; !isOver; index++) {
    const { status } = await server.call("POST", WIDGETS, widget(`while-${index}`));
    expect([201, 503]).toContain(status);
    await server.world.advance(1);
  }
}

function objectIn(event: KvEvent | undefined): Json {
  return event?.kind === "put" ? JSON.parse(event.value.toString()) : {};
}

function lastOf(events: readonly KvEvent[], name: string): KvEvent | undefined {
  return events.findLast(({ key }) => key.endsWith(`/widgets/shop/${name}`));
}

function versionOf(event: KvEvent | undefined): string {
  return objectIn(event).apiVersion;
}

/**
 * Keys of objects that were written in v2 after the agreement in the store contained things-2, which cannot decode v2.
 */
function unreadable(events: readonly KvEvent[]): string[] {
  const agreedAt = events.findIndex(
    (event) => event.key.endsWith(`agreement/${GROUP}.widgets`) && JSON.stringify(objectIn(event)).includes("things-2"),
  );
  expect(agreedAt).toBeGreaterThan(0);
  const written = events.slice(agreedAt).filter(({ key }) => key.includes("/widgets/"));
  expect(written.length).toBeGreaterThan(0);
  return written.filter((event) => versionOf(event) === `${GROUP}/v2`).map(({ key }) => key);
}
