import { expect, test } from "vitest";
import { FaultyKv } from "../../../test/api/faulty-kv.ts";
import { World } from "../../tools/simulator/world.ts";
import { WatchCache } from "./cache.ts";
import { watchPrefix } from "./watch-prefix.ts";

const ROOT = "/registry/";

function put(key: string, expectedRevision = 0): { kind: "put"; key: string; value: Buffer; expectedRevision: number } {
  const value = Buffer.from(JSON.stringify({ kind: "X", apiVersion: "v1", metadata: {} }));
  return { kind: "put", key: `${ROOT}${key}`, value, expectedRevision };
}

test("a table waits if the cache starts no watch", async () => {
  const world = new World({ seed: 1 });
  let resets = 0;
  const table = { reset: () => void resets++, put: () => {}, remove: () => {} };
  const refusing: Pick<WatchCache, "state" | "range" | "revision" | "follow"> = {
    ...{ state: "following", revision: 1, range: () => [], follow: () => undefined },
  };
  const stop = new AbortController();
  const task = watchPrefix({
    ...{ cache: refusing as WatchCache, clock: world.clock, prefix: `${ROOT}a/`, table },
  });
  const running = task.run(stop.signal);
  await world.advance(1_000);
  expect(resets).toBeLessThan(20);
  stop.abort();
  await world.run(running);
});

test("a table contains the entries under its prefix, receives the changes of the watch, and is reset after the cache has loaded again", async () => {
  const world = new World({ seed: 1 });
  const kv = new FaultyKv(world.openKv());
  const store = world.openKv();
  const cache = new WatchCache({ kv, clock: world.clock, root: ROOT });
  const keys = new Set<string>();
  let resets = 0;
  const task = watchPrefix({
    cache,
    clock: world.clock,
    prefix: `${ROOT}a/`,
    table: {
      reset(entries) {
        resets++;
        keys.clear();
        for (const { key } of entries) keys.add(key);
      },
      put: ({ key }) => void keys.add(key),
      remove: (key) => void keys.delete(key),
    },
  });
  await store.commit(put("a/1"));
  await store.commit(put("b/1"));
  const stop = new AbortController();
  const running = Promise.all([cache.run(stop.signal), task.run(stop.signal)]);
  await world.advance(100);
  expect([[...keys], resets]).toEqual([["/registry/a/1"], 1]);
  await store.commit(put("a/2"));
  await store.commit(put("b/2"));
  await store.commit({ kind: "delete", key: `${ROOT}a/1`, expectedRevision: 2 });
  await world.advance(100);
  expect([[...keys], resets]).toEqual([["/registry/a/2"], 1]);
  kv.setLagging(true);
  await store.commit(put("a/4"));
  kv.loseHistory();
  kv.setLagging(false);
  await world.advance(10_000);
  expect([[...keys], resets]).toEqual([["/registry/a/2", "/registry/a/4"], 2]);
  stop.abort();
  await world.run(running);
  await store.commit(put("a/3"));
  await world.advance(100);
  expect([...keys]).toEqual(["/registry/a/2", "/registry/a/4"]);
  await expect(world.run(new Promise(() => {}))).rejects.toThrow("no event is left");
});
