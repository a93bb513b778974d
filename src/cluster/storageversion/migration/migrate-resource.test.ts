import { getEventListeners } from "node:events";
import { describe, expect, test } from "vitest";
import { createEngine, migrateResource, type PassJob, type PassOutcome } from "./migrate-resource.ts";
import type { MigrationProgress, Position } from "./progress.ts";
import {
  FakeCluster,
  rejection,
  type Call,
  type Json,
} from "../../../../test/testing/cluster/storageversion/migration/fake-cluster.ts";

const WIDGETS = { group: "example.io", version: "v1", resource: "widgets" } as const;

function widget(index: number): Json {
  return { metadata: { namespace: "default", name: `w${String(index).padStart(5, "0")}` } };
}

function clusterWith(count: number): FakeCluster {
  const cluster = new FakeCluster();
  cluster.encodings.set("widgets", "example.io/v2");
  for (let index = 0; index < count; index++) cluster.put("widgets", widget(index), "example.io/v1");
  return cluster;
}

interface PassSettings extends Partial<PassJob> {
  readonly concurrency?: number;
  readonly objectsPerSecond?: number;
}

function begin(cluster: FakeCluster, settings: PassSettings = {}): Promise<PassOutcome> {
  const { concurrency, objectsPerSecond, ...job } = settings;
  const { clock } = cluster.world;
  const random = cluster.world.randomFor("engine");
  const engine = createEngine({ client: cluster.client, clock, random, concurrency, objectsPerSecond, pageItems: 500 });
  const { signal } = new AbortController();
  return migrateResource(engine, {
    type: WIDGETS,
    checkAgreement: () => Promise.resolve(true),
    lost: signal,
    signal,
    ...job,
  });
}

function pass(cluster: FakeCluster, settings: PassSettings = {}): Promise<PassOutcome> {
  return cluster.world.run(begin(cluster, settings));
}

const isPatchOf = (call: Call, index: number): boolean =>
  call.method === "PATCH" && call.name === widget(index).metadata.name;

describe("a pass", () => {
  test("lists in pages of the given size, and patches each object with only its resourceVersion", async () => {
    const cluster = clusterWith(1_001);
    const outcome = await pass(cluster);
    expect(outcome).toMatchObject({ kind: "done", progress: { migrated: 1_001, failed: 0, total: 1_001 } });
    expect(cluster.storedVersions("widgets")).toEqual({ "example.io/v2": 1_001 });
    const lists = cluster.calls.filter(({ method }) => method === "GET");
    expect(lists.map(({ query }) => query.get("limit"))).toEqual(["500", "500", "500"]);
    const [first] = cluster.patches();
    expect(first?.path).toBe("/apis/example.io/v1/namespaces/default/widgets/w00000");
    expect(first?.query.get("fieldManager")).toBe("storage-version-migrator-controller");
    expect(first?.body).toEqual({ metadata: { resourceVersion: "101" } });
  });

  test("patches cluster-scoped objects at their own path", async () => {
    const cluster = new FakeCluster();
    cluster.put("widgets", { metadata: { name: "lonely" } });
    expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { migrated: 1 } });
    expect(cluster.patches()[0]?.path).toBe("/apis/example.io/v1/widgets/lonely");
  });

  test("counts a conflict and a deleted object as success", async () => {
    const cluster = clusterWith(3);
    cluster.before = (call) => {
      if (isPatchOf(call, 0)) return rejection(409, "Conflict", { name: call.name });
      return isPatchOf(call, 1) ? rejection(404, "NotFound", { name: call.name }) : undefined;
    };
    expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { migrated: 3, failed: 0 } });
  });

  test("is paused, and does not count objects as deleted, if their resource is no longer served", async () => {
    const cluster = clusterWith(3);
    cluster.before = ({ method }) => (method === "PATCH" ? rejection(404, "NotFound") : undefined);
    expect(await pass(cluster)).toMatchObject({ kind: "paused", progress: { migrated: 0 } });
  });

  test("continues after an object was rejected, and records the failure", async () => {
    const cluster = clusterWith(100);
    cluster.before = (call) => (isPatchOf(call, 42) ? rejection(403, "Forbidden") : undefined);
    const { kind, progress } = await pass(cluster);
    expect({ kind, migrated: progress.migrated, failed: progress.failed }).toEqual({
      kind: "done",
      migrated: 99,
      failed: 1,
    });
    expect(progress.failures).toEqual([{ object: "default/w00042", message: "as the test says: Forbidden" }]);
    expect(cluster.storedVersions("widgets")).toEqual({ "example.io/v1": 1, "example.io/v2": 99 });
  });

  test("lists at most a hundred failures and counts the others", async () => {
    const cluster = clusterWith(150);
    const message = "x".repeat(10_000);
    cluster.before = ({ method }) => (method === "PATCH" ? rejection(422, "Invalid", {}, { message }) : undefined);
    const { progress } = await pass(cluster);
    expect(progress.failed).toBe(150);
    expect(progress.failures).toHaveLength(100);
    expect(progress.failures[0]?.message).toHaveLength(512);
  });

  test("skips objects that were written after the checkpoint", async () => {
    const cluster = clusterWith(3);
    const outcome = await pass(cluster, { checkpoint: "102" });
    expect(cluster.patches().map(({ body }) => body.metadata.resourceVersion)).toEqual(["101", "102"]);
    expect(outcome).toMatchObject({ kind: "done", progress: { migrated: 3 } });
  });

  test("counts an object with an invalid resourceVersion as a failure", async () => {
    const cluster = clusterWith(1);
    const items = [{ metadata: { name: "odd", resourceVersion: "abc" } }, { metadata: {} }, 7];
    cluster.before = ({ method }) =>
      method === "GET" ? { status: 200, body: { kind: "WidgetList", metadata: {}, items } } : undefined;
    expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { migrated: 0, failed: 3 } });
    expect(cluster.patches()).toEqual([]);
  });

  test.each([403, 404, 405])("ends as rejected if the list is rejected with %i", async (code) => {
    const cluster = clusterWith(1);
    const reason = { 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed" }[code]!;
    cluster.before = ({ method }) => (method === "GET" ? rejection(code, reason) : undefined);
    expect(await pass(cluster)).toMatchObject({ kind: "refused", why: `as the test says: ${reason}` });
  });
});

describe("limits", () => {
  test("no more patches are in flight than the concurrency allows", async () => {
    const cluster = clusterWith(50);
    cluster.patchMs = 10;
    await pass(cluster, { concurrency: 3 });
    expect(cluster.inFlightMax).toBe(3);
    const other = clusterWith(50);
    other.patchMs = 10;
    await pass(other);
    expect(other.inFlightMax).toBe(4);
  });

  test("no more objects are patched per second than the rate allows", async () => {
    const cluster = clusterWith(100);
    const pending = begin(cluster, { objectsPerSecond: 10 });
    await cluster.world.advance(0);
    const atOnce = cluster.patches().length;
    expect(atOnce).toBeLessThanOrEqual(2);
    for (let second = 1; second <= 3; second++) {
      await cluster.world.advance(1_000);
      expect(cluster.patches().length).toBeLessThanOrEqual(atOnce + second * 10);
    }
    expect(cluster.patches().length).toBeGreaterThanOrEqual(30);
    await cluster.world.run(pending);
  });

  test("the progress reports how many objects are left and how long they will take", async () => {
    const cluster = clusterWith(1_000);
    const reported: MigrationProgress[] = [];
    const onPage = (progress: MigrationProgress): Promise<void> => Promise.resolve(void reported.push(progress));
    await pass(cluster, { objectsPerSecond: 100, onPage });
    expect(reported[0]).toMatchObject({ migrated: 500, failed: 0, total: 1_000 });
    expect(Math.round(reported[0]!.objectsPerSecond)).toBeGreaterThanOrEqual(99);
    expect(reported[0]!.secondsLeft).toBeCloseTo(500 / reported[0]!.objectsPerSecond);
    expect(reported[1]).toMatchObject({ migrated: 1_000, total: 1_000, secondsLeft: 0 });
  });
});

describe("a temporary failure", () => {
  test.each([
    [429, "TooManyRequests"],
    [503, "ServiceUnavailable"],
    [500, "InternalError"],
    [504, "Timeout"],
  ])("(%i) is retried until the request succeeds", async (code, reason) => {
    const cluster = clusterWith(5);
    let left = 3;
    cluster.before = (call) => (isPatchOf(call, 2) && left-- > 0 ? rejection(code, reason) : undefined);
    expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { migrated: 5, failed: 0 } });
    expect(cluster.patches()).toHaveLength(8);
  });

  test.each(["refused", "reset", "timeout", "malformed"] as const)(
    "of a connection (%s) is retried",
    async (failure) => {
      const cluster = clusterWith(5);
      let left = 3;
      cluster.before = () => (left-- > 0 ? { failure } : undefined);
      expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { migrated: 5 } });
    },
  );

  test("is not retried before the Retry-After of the response", async () => {
    const cluster = clusterWith(1);
    let left = 1;
    cluster.before = ({ method }) =>
      method === "PATCH" && left-- > 0 ? rejection(429, "TooManyRequests", { retryAfterSeconds: 17 }) : undefined;
    const pending = begin(cluster);
    await cluster.world.advance(16_999);
    expect(cluster.patches()).toHaveLength(1);
    await cluster.world.advance(1);
    expect(cluster.patches()).toHaveLength(2);
    expect(await pending).toMatchObject({ kind: "done" });
  });

  test("that lasts a minute pauses the pass at its current page", async () => {
    const cluster = clusterWith(700);
    cluster.before = (call) => (isPatchOf(call, 600) ? rejection(503, "ServiceUnavailable") : undefined);
    const outcome = await pass(cluster);
    expect(outcome).toMatchObject({ kind: "paused", why: "as the test says: ServiceUnavailable" });
    expect(cluster.world.clock.monotonic()).toBeLessThan(90_000);
    expect(outcome.progress.position).toMatchObject({ continueToken: "default/w00499", migrated: 500 });
    cluster.before = () => undefined;
    cluster.calls.length = 0;
    const resumed = await pass(cluster, { resumeAt: outcome.progress.position });
    expect(resumed).toMatchObject({ kind: "done", progress: { migrated: 700, total: 700 } });
    expect(cluster.patches()).toHaveLength(200);
  });

  test("with a longer Retry-After pauses the pass for that time, within a limit", async () => {
    const cluster = clusterWith(1);
    const retryAfterSeconds = 300;
    cluster.before = ({ method }) =>
      method === "PATCH" ? rejection(429, "TooManyRequests", { retryAfterSeconds }) : undefined;
    expect(await pass(cluster)).toMatchObject({ kind: "paused", retryAfterMs: 300_000 });
    cluster.before = ({ method }) =>
      method === "PATCH" ? rejection(429, "TooManyRequests", { retryAfterSeconds: 1e9 }) : undefined;
    expect(await pass(cluster)).toMatchObject({ kind: "paused", retryAfterMs: 600_000 });
  });

  test("of one object that always returns 500 does not block the others", async () => {
    const cluster = clusterWith(20);
    cluster.before = (call) => (isPatchOf(call, 3) ? rejection(500, "InternalError") : undefined);
    expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { migrated: 19, failed: 1 } });
  });

  test("of a server that returns only 500 pauses the pass, instead of counting every object as failed", async () => {
    const cluster = clusterWith(1_000);
    cluster.before = ({ method }) => (method === "PATCH" ? rejection(500, "InternalError") : undefined);
    const outcome = await pass(cluster);
    expect(outcome.kind).toBe("paused");
    expect(outcome.progress.failed).toBeLessThan(8);
  });

  test("is assumed if the continue token of a list does not change: the pass is paused", async () => {
    const cluster = clusterWith(1);
    const metadata = { continue: "again" };
    cluster.before = ({ method }) =>
      method === "GET" ? { status: 200, body: { kind: "WidgetList", metadata, items: [] } } : undefined;
    expect(await pass(cluster)).toMatchObject({ kind: "paused", why: "the list makes no progress" });
  });
});

describe("an expired or invalid continue token", () => {
  test("is replaced by the token in the error", async () => {
    const cluster = clusterWith(1_200);
    cluster.before = ({ query }) =>
      query.get("continue") === "default/w00499"
        ? rejection(410, "Expired", {}, { metadata: { continue: "default/w00498" } })
        : undefined;
    expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { failed: 0 } });
    expect(cluster.storedVersions("widgets")).toEqual({ "example.io/v2": 1_200 });
    // One object is listed with both tokens and therefore processed twice.
    expect(cluster.patches()).toHaveLength(1_201);
  });

  test("makes the pass start over if the error has no token", async () => {
    const cluster = clusterWith(700);
    let left = 1;
    cluster.before = ({ query }) => (query.has("continue") && left-- > 0 ? rejection(410, "Expired") : undefined);
    expect(await pass(cluster)).toMatchObject({ kind: "done", progress: { migrated: 700, total: 700 } });
    expect(cluster.patches()).toHaveLength(1_200);
  });

  test("makes the pass start over only a limited number of times", async () => {
    const cluster = clusterWith(700);
    cluster.before = ({ query }) => (query.has("continue") ? rejection(410, "Expired") : undefined);
    expect(await pass(cluster)).toMatchObject({ kind: "paused" });
    expect(cluster.calls.filter(({ method }) => method === "GET").length).toBeLessThan(12);
  });

  test("that comes from an edited state makes the pass start over", async () => {
    const cluster = clusterWith(10);
    cluster.before = ({ query }) => (query.get("continue") === "nonsense" ? rejection(400, "BadRequest") : undefined);
    const resumeAt: Position = { continueToken: "nonsense", migrated: 5, failed: 0, failures: [] };
    expect(await pass(cluster, { resumeAt })).toMatchObject({ kind: "done", progress: { migrated: 10, total: 10 } });
  });
});

describe("the agreement", () => {
  test("is checked before the first page, between pages and before success", async () => {
    const cluster = clusterWith(1_200);
    let asked = 0;
    await pass(cluster, { checkAgreement: () => Promise.resolve(++asked > 0) });
    expect(asked).toBe(4);
  });

  test("that ends during a page aborts the pass before the next page", async () => {
    const cluster = clusterWith(1_200);
    let asked = 0;
    const outcome = await pass(cluster, { checkAgreement: () => Promise.resolve(++asked < 2) });
    expect(outcome.kind).toBe("aborted");
    expect(cluster.patches()).toHaveLength(500);
  });

  test("that ends after the last page aborts the pass, too", async () => {
    const cluster = clusterWith(10);
    let asked = 0;
    expect((await pass(cluster, { checkAgreement: () => Promise.resolve(++asked < 2) })).kind).toBe("aborted");
    expect(cluster.patches()).toHaveLength(10);
  });

  test("that is seen to end aborts the pass at once, including requests in flight", async () => {
    const cluster = clusterWith(400);
    cluster.patchMs = 10;
    const lost = new AbortController();
    const pending = begin(cluster, { lost: lost.signal });
    await cluster.world.advance(105);
    const asked = cluster.patches().length;
    lost.abort();
    await cluster.world.advance(0);
    expect(await pending).toMatchObject({ kind: "aborted" });
    expect(cluster.patches()).toHaveLength(asked);
    expect(asked).toBeLessThan(400);
    expect(cluster.inFlight).toBe(0);
  });

  test("that cannot be read is requested repeatedly, and after a while the pass is paused", async () => {
    const cluster = clusterWith(10);
    const checkAgreement = async (): Promise<boolean> => {
      await cluster.client.request({ method: "GET", target: "/apis/example.io/v1/nothing/here" });
      return true;
    };
    cluster.before = ({ resource }) => (resource === "nothing" ? rejection(503, "ServiceUnavailable") : undefined);
    expect(await pass(cluster, { checkAgreement })).toMatchObject({ kind: "paused" });
  });
});

test("a pass that is resumed after its last page counts nothing twice", async () => {
  const cluster = clusterWith(700);
  cluster.before = ({ resource }) =>
    resource === "nothing" && cluster.patches().length === 700 ? rejection(503, "ServiceUnavailable") : undefined;
  cluster.put("nothing", { metadata: { name: "here" } });
  const checkAgreement = async (): Promise<boolean> => {
    await cluster.client.request({ method: "GET", target: "/apis/example.io/v1/nothing/here" });
    return true;
  };
  const paused = await pass(cluster, { checkAgreement });
  expect(paused).toMatchObject({ kind: "paused", progress: { migrated: 700 } });
  const resumed = await pass(cluster, { resumeAt: paused.progress.position });
  expect(resumed).toMatchObject({ kind: "done", progress: { migrated: 700, total: 700 } });
  expect(cluster.patches()).toHaveLength(900);
});

test("a pass that is stopped reports its position", async () => {
  const cluster = clusterWith(1_200);
  cluster.patchMs = 10;
  const stop = new AbortController();
  const pending = begin(cluster, { signal: stop.signal });
  while (cluster.patches().length < 700) await cluster.world.advance(10);
  stop.abort();
  await cluster.world.advance(0);
  expect(await pending).toMatchObject({ kind: "stopped", progress: { position: { migrated: 500 } } });
});

test("a pass leaves no listeners on the signals that it was given", async () => {
  const [stop, lost] = [new AbortController(), new AbortController()];
  await pass(clusterWith(3), { signal: stop.signal, lost: lost.signal });
  expect([stop, lost].map(({ signal }) => getEventListeners(signal, "abort").length)).toEqual([0, 0]);
});
