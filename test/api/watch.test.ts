import { describe, expect, test } from "vitest";
import { openWatches } from "./own-records.ts";
import { CONFIG_MAPS, configMap, startServer, type Json, type TestServer } from "./start.ts";

async function currentVersion(api: TestServer): Promise<string> {
  return (await api.get(CONFIG_MAPS)).body.metadata.resourceVersion;
}

describe("watches", () => {
  test("a watch from a version shows every change after it, in order, and nothing before", async () => {
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

  test("changes are shown as they happen", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${await currentVersion(api)}`);
    expect(await watch.events()).toEqual([]);
    await api.create(CONFIG_MAPS, configMap("w"));
    expect(await watch.story()).toEqual(["ADDED w"]);
    await api.delete(`${CONFIG_MAPS}/w`);
    expect(await watch.story()).toEqual(["DELETED w"]);
  });

  test.each(["watch=true", "watch=1&resourceVersion=0", "watch=true&resourceVersion="])(
    "a watch from now (%s) shows what is there, then changes",
    async (query) => {
      await using api = await startServer();
      await api.create(CONFIG_MAPS, configMap("there"));
      const watch = await api.watch(`${CONFIG_MAPS}?${query}`);
      await api.create(CONFIG_MAPS, configMap("later"));
      expect(await watch.story()).toEqual(["ADDED there", "ADDED later"]);
    },
  );

  test("a watch sees its namespace only, a watch on all namespaces sees all", async () => {
    await using api = await startServer();
    const one = await api.watch(`${CONFIG_MAPS}?watch=true`);
    const all = await api.watch("/api/v1/configmaps?watch=true");
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("elsewhere"));
    await api.create(CONFIG_MAPS, configMap("here"));
    expect(await one.story()).toEqual(["ADDED here"]);
    expect(await all.story()).toEqual(["ADDED elsewhere", "ADDED here"]);
  });

  test("the old /watch/ paths work, for a collection and for one object", async () => {
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

  test("watch on a path with a name answers with the object, as kube-apiserver does", async () => {
    await using api = await startServer();
    const { text } = await api.create(CONFIG_MAPS, configMap("one"));
    expect((await api.get(`${CONFIG_MAPS}/one?watch=true`)).text).toBe(text);
  });

  test("a watch on one name by field selector sees that object only", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&fieldSelector=metadata.name%3Dw`);
    await api.create(CONFIG_MAPS, configMap("other"));
    await api.create(CONFIG_MAPS, configMap("w"));
    await api.create(CONFIG_MAPS, configMap("w2"));
    expect(await watch.story()).toEqual(["ADDED w"]);
  });

  test("entering a selector is ADDED, leaving it is DELETED with the last state that matched and the version of the change", async () => {
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

  test("a new object of the same name is ADDED again", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true`);
    await api.create(CONFIG_MAPS, configMap("w"));
    await api.delete(`${CONFIG_MAPS}/w`);
    await api.create(CONFIG_MAPS, configMap("w"));
    expect(await watch.story()).toEqual(["ADDED w", "DELETED w", "ADDED w"]);
  });

  test("a watch ends cleanly when its time is up", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&timeoutSeconds=10`);
    await api.world.advance(9_900);
    expect(watch.isEnded).toBe(false);
    await api.world.advance(200);
    expect(watch.isEnded).toBe(true);
    expect(await watch.events()).toEqual([]);
  });

  test("without a time of its own a watch ends after half an hour to an hour", async () => {
    await using api = await startServer({ compactionIntervalMs: 0 });
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true`);
    await api.world.advance(29.9 * 60_000);
    expect(watch.isEnded).toBe(false);
    await api.world.advance(30.2 * 60_000);
    expect(watch.isEnded).toBe(true);
  });

  test("a watch has no request deadline", async () => {
    await using api = await startServer({ requestTimeoutMs: 1_000 });
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&timeoutSeconds=600&timeout=1s`);
    await api.world.advance(60_000);
    expect(watch.isEnded).toBe(false);
  });

  test("a shutdown ends every watch cleanly", async () => {
    await using api = await startServer();
    const watches = await Promise.all(Array.from({ length: 3 }, () => api.watch(`${CONFIG_MAPS}?watch=true`)));
    expect(await openWatches(api)).toBe(3);
    api.server.endWatches();
    for (const watch of watches) {
      expect(await watch.events()).toEqual([]);
      expect(watch.isEnded).toBe(true);
    }
    // The server's own has begun anew: it runs until the server is closed.
    expect(await openWatches(api)).toBe(0);
  });

  test("an event is encoded once, however many watch", async () => {
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

  test("watches of all namespaces, of one and of one object share an event's encoding", async () => {
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
    "what is there is followed by exactly one bookmark that says so (%s)",
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

  test("an empty collection is told by the bookmark alone", async () => {
    await using api = await startServer();
    const watch = await api.watch(STREAM);
    expect((await watch.events()).map(({ type }) => type)).toEqual(["BOOKMARK"]);
  });

  test("a plain watch from now that allows bookmarks gets it too", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true`);
    const [bookmark] = await watch.events();
    expect(bookmark).toMatchObject({ type: "BOOKMARK", object: { metadata: { annotations: END } } });
  });

  test("without leave for bookmarks there is none", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`);
    expect(await watch.events()).toEqual([]);
  });

  test("sendInitialEvents=false shows changes only", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    const watch = await api.watch(
      `${CONFIG_MAPS}?watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    expect(await watch.events()).toEqual([]);
    await api.create(CONFIG_MAPS, configMap("b"));
    expect(await watch.story()).toEqual(["ADDED b"]);
  });

  test("a state of the future is waited for three seconds, then 504", async () => {
    await using api = await startServer();
    const answer = await api.get(`${STREAM}&resourceVersion=99999999`);
    expect(answer.status).toBe(504);
    expect(answer.body.details.causes[0].reason).toBe("ResourceVersionTooLarge");
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
  ])("the combination %s is invalid", async (query, sentence) => {
    await using api = await startServer();
    const answer = await api.get(`${CONFIG_MAPS}?watch=true&${query}`);
    expect(answer.status).toBe(422);
    expect(answer.body.message).toBe(`ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ${sentence}`);
  });
});

describe("bookmarks", () => {
  test("they come every minute and say how far everything has been shown", async () => {
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

  test("one comes shortly before the watch times out", async () => {
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

  test("nobody gets them without asking", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&timeoutSeconds=300`);
    await api.world.advance(299_000);
    expect(await watch.events()).toEqual([]);
  });

  test("a watch resumed from a bookmark misses nothing and repeats nothing", async () => {
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

describe("watches that cannot start where they want to", () => {
  test("a version older than the history is told by an ERROR event with 410, then the stream ends", async () => {
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

  test("the cache remembers a hundred changes of an idle resource, however old", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    for (let index = 0; index < 100; index++) await api.create(CONFIG_MAPS, configMap(`c${index}`));
    await api.world.advance(60 * 60_000);
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`);
    expect(await watch.events()).toHaveLength(100);
  });

  test("of a busy resource it forgets what is older than five minutes", async () => {
    await using api = await startServer();
    const version = await currentVersion(api);
    for (let index = 0; index < 101; index++) await api.create(CONFIG_MAPS, configMap(`c${index}`));
    await api.world.advance(6 * 60_000);
    await api.create(CONFIG_MAPS, configMap("new"));
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${version}`);
    expect((await watch.events())[0]).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  test("a version of the future shows nothing until it has come, and then only what is after it", async () => {
    await using api = await startServer();
    const future = Number(await currentVersion(api)) + 2;
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${future}`);
    await api.create(CONFIG_MAPS, configMap("one"));
    await api.create(CONFIG_MAPS, configMap("two"));
    expect(await watch.events()).toEqual([]);
    await api.create(CONFIG_MAPS, configMap("three"));
    expect(await watch.story()).toEqual(["ADDED three"]);
  });

  test("a bookmark never says less than the version the watch started after", async () => {
    await using api = await startServer();
    const future = Number(await currentVersion(api)) + 100;
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&resourceVersion=${future}&allowWatchBookmarks=true`);
    await api.world.advance(61_000);
    expect((await watch.events()).map(({ object }) => object.metadata.resourceVersion)).toEqual([String(future)]);
  });

  test("a version that is no number and a selector that cannot be understood are refused before the stream", async () => {
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
