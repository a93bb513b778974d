/**
 * Tests the collector with a real server: as a separate collector with the members of the test, and as part of a server
 * with its own members.
 */
import { describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../../../test/api/start.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { createClient } from "../../client/client.ts";
import type { Transport } from "../../client/transport.ts";
import { ControllerRun } from "../controller-runtime/controller-run.ts";
import { createCollector } from "./stale-entry-collector.ts";
import type { StorageVersionStatus } from "./objects.ts";
import {
  CONDITION_FALSE,
  CONDITION_TRUE,
  entry,
  FOREIGN_CONDITION,
  statusOf,
} from "../../../test/testing/cluster/storageversion/entries.ts";
import { FakeMembers } from "../../../test/testing/cluster/storageversion/fake-members.ts";

const API = "internal.apiserver.k8s.io/v1alpha1";
const OBJECTS = `/apis/${API}/storageversions`;
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const FOOS = "storageversion.integration.test.foos";
const id1 = entry("id-1", "v1");
const id2 = entry("id-2", "v2");

async function publish(api: TestServer, status: StorageVersionStatus): Promise<void> {
  const known = await api.get(`${OBJECTS}/${FOOS}`);
  const created =
    known.status === 200
      ? known
      : await api.create(OBJECTS, { apiVersion: API, kind: "StorageVersion", metadata: { name: FOOS }, spec: {} });
  const response = await api.put(`${OBJECTS}/${FOOS}/status`, { ...created.body, status });
  expect(response.body).toMatchObject({ status });
}

/** The status of the object; undefined if there is no object. */
async function statusIn(api: TestServer, name: string): Promise<StorageVersionStatus | undefined> {
  const response = await api.get(`${OBJECTS}/${name}`);
  return response.status === 404 ? undefined : response.body.status;
}

describe("a collector that calls the API:", () => {
  /** A server that serves StorageVersion objects but publishes no entries itself. */
  const startBare = (): Promise<TestServer> => startServer({ runtimeConfig: [`${API}=true`] });

  function collect(api: TestServer, members: FakeMembers): () => Promise<unknown> {
    const { world, server } = api;
    const { clock } = world;
    const client = createClient({ transport: server.transport, clock, random: world.randomFor("client") });
    const collector = createCollector({ client, members, clock, log: SILENT_LOG, metrics: new MetricsRegistry() });
    return () => world.run(collector.reconcile(FOOS, new AbortController().signal));
  }

  test("an object loses the entries of departed servers one by one, and is deleted with the last one", async () => {
    await using api = await startBare();
    const members = new FakeMembers("id-1", "id-2");
    const reconcile = collect(api, members);
    await publish(api, statusOf([entry("gone", "v1"), id1, id2], undefined, FOREIGN_CONDITION, CONDITION_FALSE));
    await reconcile();
    expect(await statusIn(api, FOOS)).toEqual(statusOf([id1, id2], undefined, FOREIGN_CONDITION, CONDITION_FALSE));
    members.leave("id-1");
    await reconcile();
    expect(await statusIn(api, FOOS)).toMatchObject({
      storageVersions: [id2],
      commonEncodingVersion: "v2",
      conditions: [{ type: "example.com/Reviewed" }, { status: "True" }],
    });
    members.leave("id-2");
    await reconcile();
    expect(await statusIn(api, FOOS)).toBeUndefined();
  });

  test("the condition of an object may be Unknown although its entries agree", async () => {
    await using api = await startBare();
    const members = new FakeMembers("id-1", "-id-2");
    const reconcile = collect(api, members);
    await publish(api, statusOf([id1], "v1", CONDITION_TRUE));
    expect(await reconcile()).toEqual({ requeueAfterMs: 2_000 });
    await api.world.advance(2_000);
    await reconcile();
    const status = await statusIn(api, FOOS);
    expect(status?.conditions).toMatchObject([{ status: "Unknown" }]);
    expect(status).not.toHaveProperty("commonEncodingVersion");
  });

  test("a change of the live servers causes requests only for objects that must change", async () => {
    await using api = await startBare();
    const { world } = api;
    const { clock } = world;
    const members = new FakeMembers("id-1", "id-2", "id-3");
    const requests: string[] = [];
    const transport: Transport = {
      send: (request) => {
        requests.push(`${request.method} ${request.target.split("?")[0]}`);
        return api.server.transport.send(request);
      },
    };
    const random = world.randomFor("client");
    const client = createClient({ transport, clock, random });
    const common = { clock, log: SILENT_LOG };
    const collector = createCollector({ ...common, client, members, metrics: new MetricsRegistry() });
    await publish(api, statusOf([id1, id2], undefined, CONDITION_FALSE));
    const run = { ...common, random, mayWork: () => true, queueHooks: {}, onReconciled: () => {} };
    const stop = new AbortController();
    const running = new ControllerRun(collector, run).run(stop.signal);
    await world.advance(1_000);
    requests.length = 0;
    members.leave("id-3");
    await world.advance(1_000);
    expect([requests, members.catchUps]).toEqual([[], 0]);
    members.leave("id-1");
    await world.advance(1_000);
    expect(requests).toEqual([`GET ${OBJECTS}/${FOOS}`, `PUT ${OBJECTS}/${FOOS}/status`]);
    expect(await statusIn(api, FOOS)).toMatchObject({ storageVersions: [id2], commonEncodingVersion: "v2" });
    stop.abort();
    await world.run(running);
  });

  test("an object that is written meanwhile is neither deleted nor overwritten", async () => {
    await using api = await startBare();
    for (const entries of [[entry("gone", "v1")], [entry("gone", "v1"), id1]]) {
      const members = new FakeMembers("id-1");
      await publish(api, statusOf(entries, "v1", CONDITION_TRUE));
      members.catchUp = async () => {
        await publish(api, statusOf([id1, id2], undefined, CONDITION_FALSE));
        return true;
      };
      expect(await collect(api, members)()).toEqual({ requeueAfterMs: 100 });
      expect(await statusIn(api, FOOS)).toMatchObject({ storageVersions: [id1, id2] });
    }
  });
});

describe("in a leading server", () => {
  const start = (): Promise<TestServer> => startServer({ strictRelease: false });

  /**
   * Creates an identity lease like that of a kube-apiserver: without an endpoint record, so that the server never
   * reports that it has published everything.
   */
  async function join(api: TestServer, name: string): Promise<void> {
    const labels = { "apiserver.kubernetes.io/identity": "kube-apiserver" };
    const renewTime = new Date(api.world.clock.now()).toISOString().replace("Z", "000Z");
    const spec = { holderIdentity: `${name}_1`, leaseDurationSeconds: 3600, renewTime };
    const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, labels }, spec };
    expect((await api.create(LEASES, lease)).status).toBe(201);
  }

  test("an object of a server that does not exist is deleted within ten seconds", async () => {
    await using api = await start();
    await publish(api, statusOf([entry("id-non-exist", "v1")], "v1", CONDITION_TRUE));
    await api.world.advance(10_000);
    expect(await statusIn(api, FOOS)).toBeUndefined();
  });

  test("entries last as long as the leases of their servers, and a server that has not published is pending", async () => {
    await using api = await start();
    await join(api, "id-1");
    await join(api, "id-2");
    await publish(api, statusOf([id1, id2], undefined, CONDITION_FALSE));
    await api.world.advance(10_000);
    expect(await statusIn(api, FOOS)).toEqual(statusOf([id1, id2], undefined, CONDITION_FALSE));
    expect(await statusIn(api, "core.pods")).toMatchObject({
      conditions: [{ status: "Unknown", message: "Waiting for the storage versions of id-1, id-2" }],
    });
    await api.delete(`${LEASES}/id-1`);
    await api.world.advance(10_000);
    expect(await statusIn(api, FOOS)).toMatchObject({ storageVersions: [id2], commonEncodingVersion: "v2" });
    await api.delete(`${LEASES}/id-2`);
    await api.world.advance(10_000);
    expect(await statusIn(api, FOOS)).toBeUndefined();
    expect(await statusIn(api, "core.pods")).toMatchObject({
      commonEncodingVersion: "v1",
      conditions: [{ status: "True" }],
    });
  });
});
