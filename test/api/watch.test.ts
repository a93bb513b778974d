import { describe, expect, test } from "vitest";
import { openWatches } from "./own-records.ts";
import { CONFIG_MAPS, configMap, startServer, type Json, type TestServer } from "./start.ts";

async function currentVersion(api: TestServer): Promise<string> {
  return (await api.get(CONFIG_MAPS)).body.metadata.resourceVersion;
}

describe("a watch", () => {
  test("from a resourceVersion sends every later change in order, and no earlier change", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("before"));
    const version = await currentVersion(api);
    const created = await api.create(CONFIG_MAPS, configMap("w"));
    const changed = await api.mergePatch(`${CONFIG_MAPS}/w`, { data: { a: "2" } });
    await api.delete(`${CONFIG_MAPS}/w`);
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`);
    const events = await watch.events();
    expect(events.map(({ type }) => type)).toEqual(["ADDED", "MODIFIED", "DELETED"]);
    expect(events[0].object).toEqual(created.body);
    expect(events[1].object).toEqual(changed.body);
    const gone = events[2].object;
    expect(Number(gone.metadata.resourceVersion)).toBeGreaterThan(Number(changed.body.metadata.resourceVersion));
    expect({ ...gone, metadata: { ...gone.metadata, resourceVersion: changed.body.metadata.resourceVersion } }).toEqual(
      changed.body,
    );
  });

  test("sends changes as they happen", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${await currentVersion(api)}`);
    expect(await watch.events()).toEqual([]);
    await api.create(CONFIG_MAPS, configMap("w"));
    expect(await watch.story()).toEqual(["ADDED w"]);
    await api.delete(`${CONFIG_MAPS}/w`);
    expect(await watch.story()).toEqual(["DELETED w"]);
  });

  test.each(["watch=true", "watch=1&resourceVersion=0", "watch=true&resourceVersion="])(
    "without a resourceVersion (%s) sends existing objects, then changes",
    async (query) => {
      await using api = await startServer();
      await api.create(CONFIG_MAPS, configMap("there"));
      const watch = await api.watch(`${CONFIG_MAPS}?${query}`);
      await api.create(CONFIG_MAPS, configMap("later"));
      expect(await watch.story()).toEqual(["ADDED there", "ADDED later"]);
    },
  );

  test("of a namespace sends only events of that namespace, and a watch of all namespaces sends all", async () => {
    await using api = await startServer();
    const one = await api.watch(`${CONFIG_MAPS}?watch=true`);
    const all = await api.watch("/api/v1/configmaps?watch=true");
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
    await api.create(CONFIG_MAPS, configMap("here"));
    expect(await one.story()).toEqual(["ADDED here"]);
    expect(await all.story()).toEqual(["ADDED elsewhere", "ADDED here"]);
  });

  test("can use the old /watch/ paths, for a list and for one object", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("one"));
    await api.create(CONFIG_MAPS, configMap("two"));
    const collection = await api.watch("/api/v1/watch/namespaces/default/configmaps");
    const single = await api.watch("/api/v1/watch/namespaces/default/configmaps/two");
    expect(await collection.story()).toEqual(["ADDED one", "ADDED two"]);
    expect(await single.story()).toEqual(["ADDED two"]);
    await api.mergePatch(`${CONFIG_MAPS}/one`, { data: { a: "2" } });
    await api.mergePatch(`${CONFIG_MAPS}/two`, { data: { a: "2" } });
    expect(await single.story()).toEqual(["MODIFIED two"]);
  });

  test("at the path of one object returns the object, as kube-apiserver does", async () => {
    await using api = await startServer();
    const { text } = await api.create(CONFIG_MAPS, configMap("one"));
    expect((await api.get(`${CONFIG_MAPS}/one?watch=true`)).text).toBe(text);
  });

  test("of one object by field selector sends events of that object only", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Dw`);
    await api.create(CONFIG_MAPS, configMap("other"));
    await api.create(CONFIG_MAPS, configMap("w"));
    await api.create(CONFIG_MAPS, configMap("w2"));
    expect(await watch.story()).toEqual(["ADDED w"]);
  });

  test("sends ADDED if an object starts to match, and if it stops, DELETED with its last matching state and the resourceVersion of the change", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&labelSelector=k%3Dyes`);
    await api.create(CONFIG_MAPS, configMap("w", { metadata: { labels: { k: "no" } } }));
    expect(await watch.events()).toEqual([]);
    await api.mergePatch(`${CONFIG_MAPS}/w`, { metadata: { labels: { k: "yes" } } });
    expect(await watch.story()).toEqual(["ADDED w"]);
    await api.mergePatch(`${CONFIG_MAPS}/w`, { data: { a: "3" } });
    expect(await watch.story()).toEqual(["MODIFIED w"]);
    const left = await api.mergePatch(`${CONFIG_MAPS}/w`, { data: { a: "4" }, metadata: { labels: { k: "no" } } });
    const [gone] = await watch.events();
    expect(gone).toMatchObject({
      type: "DELETED",
      object: {
        metadata: { labels: { k: "yes" }, resourceVersion: left.body.metadata.resourceVersion },
        data: { a: "3" },
      },
    });
    await api.delete(`${CONFIG_MAPS}/w`);
    expect(await watch.events()).toEqual([]);
  });

  test("sends ADDED for an object that is deleted and created again with the same name", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true`);
    await api.create(CONFIG_MAPS, configMap("w"));
    await api.delete(`${CONFIG_MAPS}/w`);
    await api.create(CONFIG_MAPS, configMap("w"));
    expect(await watch.story()).toEqual(["ADDED w", "DELETED w", "ADDED w"]);
  });

  test("ends cleanly after its timeout", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&timeoutSeconds=10`);
    await api.world.advance(9_900);
    expect(watch.isEnded).toBe(false);
    await api.world.advance(200);
    expect(watch.isEnded).toBe(true);
    expect(await watch.events()).toEqual([]);
  });

  test("without a timeout ends after half an hour to an hour", async () => {
    await using api = await startServer({ compactionIntervalMs: 0 });
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true`);
    await api.world.advance(29.9 * 60_000);
    expect(watch.isEnded).toBe(false);
    await api.world.advance(30.2 * 60_000);
    expect(watch.isEnded).toBe(true);
  });

  test("does not end after the request timeout", async () => {
    await using api = await startServer({ requestTimeoutMs: 1_000 });
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&timeoutSeconds=600&timeout=1s`);
    await api.world.advance(60_000);
    expect(watch.isEnded).toBe(false);
  });

  test("ends cleanly on shutdown", async () => {
    await using api = await startServer();
    const watches = await Promise.all(Array.from({ length: 3 }, () => api.watch(`${CONFIG_MAPS}?watch=true`)));
    expect(await openWatches(api)).toBe(3);
    api.server.endWatches();
    for (const watch of watches) {
      expect(await watch.events()).toEqual([]);
      expect(watch.isEnded).toBe(true);
    }
    // The server's own watch has started again, because it runs until the server is closed.
    expect(await openWatches(api)).toBe(0);
  });

  test("shares the encoding of an event with all other watches of the same resource", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    const watches = await Promise.all(
      Array.from({ length: 50 }, () => api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`)),
    );
    const before = await api.metric("evenkeel_watch_encodings_total");
    await api.create(CONFIG_MAPS, configMap("w"));
    await api.mergePatch(`${CONFIG_MAPS}/w`, { data: { a: "2" } });
    for (const watch of watches) expect(await watch.story()).toEqual(["ADDED w", "MODIFIED w"]);
    expect((await api.metric("evenkeel_watch_encodings_total")) - before).toBe(2);
  });

  test("sends the events of its own selectors and form, whatever selectors and forms other watches of the resource have", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    const open = (query: string, headers: Record<string, string> = {}): ReturnType<typeof api.watch> =>
      api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}${query}`, headers);
    // Two watches of each kind, because the second one sends what was decided for the first one.
    const pairs = (query: string, headers?: Record<string, string>): Promise<Awaited<ReturnType<typeof open>>[]> =>
      Promise.all([open(query, headers), open(query, headers)]);
    const [all, red, notRed, named, unnamed] = await Promise.all([
      pairs(""),
      pairs("&labelSelector=color%3Dred"),
      pairs("&labelSelector=color!%3Dred"),
      pairs("&fieldSelector=metadata.name%3Dw"),
      pairs("&fieldSelector=metadata.name!%3Dw"),
    ]);
    const metadata = await pairs("", { accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" });
    await api.create(CONFIG_MAPS, configMap("w", { metadata: { labels: { color: "red" } } }));
    await api.mergePatch(`${CONFIG_MAPS}/w`, { metadata: { labels: { color: "blue" } } });
    await api.create(CONFIG_MAPS, configMap("v"));
    for (const watch of all) expect(await watch.story()).toEqual(["ADDED w", "MODIFIED w", "ADDED v"]);
    for (const watch of red) expect(await watch.story()).toEqual(["ADDED w", "DELETED w"]);
    for (const watch of notRed) expect(await watch.story()).toEqual(["ADDED w", "ADDED v"]);
    for (const watch of named) expect(await watch.story()).toEqual(["ADDED w", "MODIFIED w"]);
    for (const watch of unnamed) expect(await watch.story()).toEqual(["ADDED v"]);
    for (const watch of metadata)
      expect((await watch.events()).map(({ object }) => object.kind)).toEqual(
        Array.from({ length: 3 }, () => "PartialObjectMetadata"),
      );
  });

  test("of all namespaces, of one, or of one object shares the encoding of an event", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    const targets = [CONFIG_MAPS, "/api/v1/configmaps"].map((path) => `${path}?watch=true&resourceVersion=${version}`);
    const watches = await Promise.all(
      [...targets, `${targets[0]}&fieldSelector=metadata.name%3Dw`].map((target) => api.watch(target)),
    );
    const before = await api.metric("evenkeel_watch_encodings_total");
    await api.create(CONFIG_MAPS, configMap("w"));
    for (const watch of watches) expect(await watch.story()).toEqual(["ADDED w"]);
    expect((await api.metric("evenkeel_watch_encodings_total")) - before).toBe(1);
  });
});

describe("initial events", () => {
  const STREAM = `${CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
  const END = { "k8s.io/initial-events-end": "true" };

  test.each(["", "&resourceVersion=0", "&resourceVersion=1"])(
    "end with exactly one bookmark, which marks the end of the existing objects (%s)",
    async (version) => {
      await using api = await startServer();
      await api.create(CONFIG_MAPS, configMap("a"));
      const { body } = await api.create(CONFIG_MAPS, configMap("b"));
      const watch = await api.watch(STREAM + version);
      const events = await watch.events();
      expect(events.map(({ type, object }) => `${type} ${object.metadata.name ?? ""}`)).toEqual([
        "ADDED a",
        "ADDED b",
        "BOOKMARK ",
      ]);
      const { object } = events[2];
      expect(object).toMatchObject({ kind: "ConfigMap", apiVersion: "v1", metadata: { annotations: END } });
      expect(Number(object.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(body.metadata.resourceVersion));
      await api.create(CONFIG_MAPS, configMap("c"));
      expect(await watch.story()).toEqual(["ADDED c"]);
    },
  );

  test("of an empty list are only the bookmark", async () => {
    await using api = await startServer();
    const watch = await api.watch(STREAM);
    expect((await watch.events()).map(({ type }) => type)).toEqual(["BOOKMARK"]);
  });

  test("of a watch without a resourceVersion and without sendInitialEvents end with the bookmark too, if bookmarks are allowed", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true`);
    const [bookmark] = await watch.events();
    expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { metadata: { annotations: END } } });
  });

  test("end without a bookmark if bookmarks are not allowed", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
    expect(await watch.events()).toEqual([]);
  });

  test("are not sent with sendInitialEvents=false", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const watch = await api.watch(
      `${CONFIG_MAPS}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    expect(await watch.events()).toEqual([]);
    await api.create(CONFIG_MAPS, configMap("b"));
    expect(await watch.story()).toEqual(["ADDED b"]);
  });

  test("at a future resourceVersion return 504", async () => {
    await using api = await startServer();
    const response = await api.get(`${STREAM}&resourceVersion=99999999`);
    expect(response.status).toBe(504);
    expect(response.body.details.causes[0].reason).toBe("ResourceVersionTooLarge");
  });

  test.each([
    ["sendInitialEvents=true", "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
    ["sendInitialEvents=false", "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"],
    [
      "sendInitialEvents=true&resourceVersionMatch=Exact",
      'Unsupported value: "Exact": supported values: "NotOlderThan"',
    ],
    [
      "resourceVersionMatch=NotOlderThan",
      "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
    ],
  ])("are invalid in the combination %s", async (query, sentence) => {
    await using api = await startServer();
    const response = await api.get(`${CONFIG_MAPS}?watch=true&${query}`);
    expect(response.status).toBe(422);
    expect(response.body.message).toBe(`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${sentence}`);
  });
});

describe("bookmarks", () => {
  test("are sent every minute with the resourceVersion up to which all events were sent", async () => {
    await using api = await startServer();
    const watch = await api.watch(
      `${CONFIG_MAPS}?watch=true&resourceVersion=${await currentVersion(api)}&allowWatchBookmarks=true&timeoutSeconds=600`,
    );
    const { body } = await api.create("/api/v1/namespaces/kube-system/secrets", { metadata: { name: "unrelated" } });
    await api.world.advance(59_000);
    expect(await watch.events()).toEqual([]);
    await api.world.advance(2_000);
    const events = await watch.events();
    expect(events).toHaveLength(1);
    expect(events[0]).toEqual({
      type: "BOOKMARK",
      object: {
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { resourceVersion: expect.any(String), creationTimestamp: null },
      },
    });
    expect(Number(events[0].object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(body.metadata.resourceVersion),
    );
    await api.world.advance(120_000);
    expect(await watch.events()).toHaveLength(2);
  });

  test("are sent shortly before the watch times out", async () => {
    await using api = await startServer();
    const watch = await api.watch(
      `${CONFIG_MAPS}?watch=true&resourceVersion=${await currentVersion(api)}&allowWatchBookmarks=true&timeoutSeconds=30`,
    );
    await api.world.advance(27_500);
    expect(await watch.events()).toEqual([]);
    await api.world.advance(1_000);
    expect((await watch.events()).map(({ type }) => type)).toEqual(["BOOKMARK"]);
    expect(watch.isEnded).toBe(false);
    await api.world.advance(2_000);
    expect(watch.isEnded).toBe(true);
  });

  test("are sent only on request", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&timeoutSeconds=300`);
    await api.world.advance(299_000);
    expect(await watch.events()).toEqual([]);
  });

  test("contain a resourceVersion from which a new watch misses and repeats no event", async () => {
    await using api = await startServer();
    const first = await api.watch(`${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=70`);
    await api.create(CONFIG_MAPS, configMap("a"));
    await api.world.advance(65_000);
    const bookmark = (await first.events()).findLast(({ type }: Json) => type === "BOOKMARK");
    await api.create(CONFIG_MAPS, configMap("b"));
    const second = await api.watch(
      `${CONFIG_MAPS}?watch=true&resourceVersion=${bookmark.object.metadata.resourceVersion}`,
    );
    expect(await second.story()).toEqual(["ADDED b"]);
  });
});

describe("a watch that starts", () => {
  test("before the watch history gets an ERROR event with 410, then the stream ends", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    await api.create(CONFIG_MAPS, configMap("a"));
    await api.kv.compact(await api.kv.currentRevision());
    await using late = await startServer({ world: api.world });
    const watch = await late.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`);
    expect(watch.status).toBe(200);
    const events = await watch.events();
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({ type: "ERROR", object: { kind: "Status", code: 410, reason: "Expired" } });
    expect(watch.isEnded).toBe(true);
  });

  test("within the last hundred changes of an idle resource is served, however old the changes are", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    for (let index = 0; index < 100; index++) await api.create(CONFIG_MAPS, configMap(`c${index}`));
    await api.world.advance(60 * 60_000);
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`);
    expect(await watch.events()).toHaveLength(100);
  });

  test("at a resourceVersion that is more than five minutes old on a busy resource gets 410", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    for (let index = 0; index < 101; index++) await api.create(CONFIG_MAPS, configMap(`c${index}`));
    await api.world.advance(6 * 60_000);
    await api.create(CONFIG_MAPS, configMap("new"));
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`);
    expect((await watch.events())[0]).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  test("at a future resourceVersion sends no event until the store reaches it, and then only later events", async () => {
    await using api = await startServer();
    const future = Number(await currentVersion(api)) + 2;
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${future}`);
    await api.create(CONFIG_MAPS, configMap("one"));
    await api.create(CONFIG_MAPS, configMap("two"));
    expect(await watch.events()).toEqual([]);
    await api.create(CONFIG_MAPS, configMap("three"));
    expect(await watch.story()).toEqual(["ADDED three"]);
  });

  test("at a future resourceVersion gets no bookmark with a lower resourceVersion", async () => {
    await using api = await startServer();
    const future = Number(await currentVersion(api)) + 100;
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${future}&allowWatchBookmarks=true`);
    await api.world.advance(61_000);
    expect((await watch.events()).map(({ object }) => object.metadata.resourceVersion)).toEqual([String(future)]);
  });

  test("with a malformed resourceVersion or selector is rejected before the stream starts", async () => {
    await using api = await startServer();
    const version = await api.get(`${CONFIG_MAPS}?watch=true&resourceVersion=abc`);
    expect(version.status).toBe(500);
    expect(version.body.message).toBe(
      'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    );
    expect((await api.get(`${CONFIG_MAPS}?watch=true&labelSelector=(`)).status).toBe(400);
    expect((await api.get(`${CONFIG_MAPS}?watch=true&timeoutSeconds=soon`)).status).toBe(400);
  });
});
