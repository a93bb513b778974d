import { describe, expect, test } from "vitest";
import { setTimeout as delay } from "node:timers/promises";
import { ETCD_MISSING, hasEtcd, startEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { Tally, type Json } from "./client.ts";
import { History, LOAD_PATH, probeFor, readForLong, ResumingWatcher, untilHealth, writeForLong } from "./etcd-load.ts";
import { startEvenkeel, type Evenkeel } from "./start-evenkeel.ts";

/** Long enough for every lease and record of the server to expire in etcd. */
const OUTAGE_MS = 18_000;
const WRITERS = 4;
const READERS = 2;
const WATCHERS = 2;
/** Number of acknowledged writes in each phase: before, between and after the outages. */
const WRITES_PER_PHASE = 400;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("a server under load whose etcd is down", { timeout: 110_000 }, () => {
  test("returns 503 with Retry-After for a write that was not executed, keeps its watches, and recovers without losing or repeating a write", async () => {
    const etcd = (await startEtcd())!;
    try {
      await using server = await startEvenkeel({ flags: ["--controllers=", "--etcd-servers", etcd.endpoint] });
      const history = new History();
      const watchers = await openWatchers(server);
      const watching = watchers.map((watcher) => watcher.run());
      expect(await Promise.all(watchers.map((watcher) => watcher.opened))).toEqual(watchers.map(() => 200));
      const load = [
        ...Array.from({ length: WRITERS }, (_, writer) => writeForLong(server, history, writer)),
        ...Array.from({ length: READERS }, () => readForLong(server, history)),
      ];
      await moreWrites(history);
      await outage({
        name: "SIGSTOP",
        server,
        history,
        begin: async () => etcd.pause(),
        end: async () => etcd.resume(),
      });
      await outage({ name: "kill -9", server, history, begin: () => etcd.kill(), end: () => etcd.restart() });
      history.isStopped = true;
      await Promise.all(load);
      await settle({ server, history, watchers, watching });
      expect(server.stderr).not.toContain('"level":"error"');
    } finally {
      await etcd.stop();
    }
  });
});

async function openWatchers(server: Evenkeel): Promise<ResumingWatcher[]> {
  const { body } = await server.request("GET", LOAD_PATH);
  return Array.from({ length: WATCHERS }, () => new ResumingWatcher(server, body.metadata.resourceVersion));
}

async function moreWrites(history: History): Promise<void> {
  const enough = history.acknowledged.size + WRITES_PER_PHASE;
  while (history.acknowledged.size < enough && history.unexpected.length === 0) await delay(20);
  expect(history.unexpected).toEqual([]);
}

interface Outage {
  readonly name: string;
  readonly server: Evenkeel;
  readonly history: History;
  begin(): Promise<void>;
  end(): Promise<void>;
}

async function outage({ name, server, history, begin, end }: Outage): Promise<void> {
  const onset = new Tally();
  const during = new Tally();
  const recovery = new Tally();
  const beganAt = performance.now();
  await begin();
  await untilHealth(server, onset, { path: "/readyz", status: 500 });
  await probeFor(server, during, OUTAGE_MS - (performance.now() - beganAt));
  await end();
  await untilHealth(server, recovery, { path: "/readyz", status: 200 });
  await moreWrites(history);
  console.info(
    `${name}: ${JSON.stringify({ onset: onset.counts, during: during.counts, recovery: recovery.counts, writes: history.writes.counts, reads: history.reads.counts })}`,
  );
  expect(Object.keys(during.counts).sort()).toEqual(["/livez 200", "/readyz 500"]);
}

interface Settling {
  readonly server: Evenkeel;
  readonly history: History;
  readonly watchers: readonly ResumingWatcher[];
  readonly watching: readonly Promise<void>[];
}

async function settle({ server, history, watchers, watching }: Settling): Promise<void> {
  const { body: list } = await server.request("GET", LOAD_PATH);
  const last = list.items.reduce(
    (newest: number, item: Json) => Math.max(newest, Number(item.metadata.resourceVersion)),
    0,
  );
  await Promise.all(watchers.map((watcher) => watcher.until(last)));
  for (const watcher of watchers) watcher.stop();
  await Promise.all(watching);
  expect(history.unexpected).toEqual([]);
  expect(history.staleReads).toBe(0);
  expect(Object.keys(history.writes.counts).sort()).toEqual(["200", "201", "503", "504"]);
  expect(Object.keys(history.reads.counts).sort()).toEqual(["200", "503"]);
  for (const watcher of watchers) expectWholeStory({ watcher, history, list });
}

/**
 * Expects that each event occurs once and in order, and that the events contain every acknowledged write and no write
 * that was not requested.
 */
function expectWholeStory({
  watcher,
  history,
  list,
}: {
  watcher: ResumingWatcher;
  history: History;
  list: Json;
}): void {
  expect(watcher.ends).toEqual([]);
  const { events } = watcher;
  expect(events.filter((event, index) => index > 0 && event.rv <= events[index - 1]!.rv)).toEqual([]);
  const reported = new Map(events.map((event) => [`${event.name} ${event.object.data.step}`, event]));
  expect(reported.size).toBe(events.length);
  expect([...history.acknowledged].filter(([key, version]) => reported.get(key)?.rv !== version)).toEqual([]);
  expect([...reported.keys()].filter((key) => !history.acknowledged.has(key) && !history.unknown.has(key))).toEqual([]);
  expect(events.filter((event) => event.type !== (event.object.data.step === "1" ? "ADDED" : "MODIFIED"))).toEqual([]);
  const final = Object.fromEntries(events.map(({ name, rv }) => [name, String(rv)]));
  const listed = list.items.filter((item: Json) => item.metadata.name.startsWith("w"));
  expect(Object.fromEntries(listed.map(({ metadata }: Json) => [metadata.name, metadata.resourceVersion]))).toEqual(
    final,
  );
}
