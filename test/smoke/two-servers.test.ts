import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd, startEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { startSlowLink } from "../cluster/storage-versions-slow-link.ts";
import { configMap, CONFIG_MAPS, Tally, Watch } from "./client.ts";
import { startEvenkeel } from "./start-evenkeel.ts";

const ITERATIONS = 300;
/** Delay of the watch events from the store to one server, so that its cache is always behind. */
const LAG_MS = 5;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("two servers of different releases on one etcd", { timeout: 60_000 }, () => {
  test("see each other's acknowledged writes at once, and their watches deliver them in order", async () => {
    const etcd = (await startEtcd())!;
    try {
      await using lagging = await startSlowLink(etcd.endpoint);
      lagging.lagMs = LAG_MS;
      await using a = await startEvenkeel({
        flags: ["--controllers=", "--release", "1.34", "--server-id", "a", "--etcd-servers", etcd.endpoint],
      });
      await using b = await startEvenkeel({
        flags: ["--controllers=", "--release", "1.36", "--server-id", "b", "--etcd-servers", lagging.endpoint],
      });
      using watchOnB = new Watch(b, `${CONFIG_MAPS}?watch=true`);
      expect(await watchOnB.opened).toBe(200);
      const versions: number[] = [];
      const statuses = new Tally();
      let stale = 0;
      await a.request("POST", CONFIG_MAPS, configMap("shared", { turn: "0" }));
      for (let turn = 1; turn <= ITERATIONS; turn++) {
        const [writer, reader] = turn % 2 === 0 ? [a, b] : [b, a];
        const written = await writer.request(
          "PUT",
          `${CONFIG_MAPS}/shared`,
          configMap("shared", { turn: String(turn) }),
        );
        const read = await reader.request("GET", `${CONFIG_MAPS}/shared`);
        const list = await reader.request("GET", CONFIG_MAPS);
        statuses.add(`${written.status} ${read.status} ${list.status}`);
        for (const seen of [read.body, list.body.items[0]]) if (seen.data.turn !== String(turn)) stale++;
        versions.push(Number(written.body.metadata.resourceVersion));
      }
      expect(statuses.counts).toEqual({ "200 200 200": ITERATIONS });
      expect(stale).toBe(0);
      await watchOnB.until((events) => events.length === ITERATIONS + 1);
      expect(watchOnB.events.slice(1).map(({ rv }) => rv)).toEqual(versions);
      expect(watchOnB.events.map(({ object }) => object.data.turn)).toEqual(
        Array.from({ length: ITERATIONS + 1 }, (_, turn) => String(turn)),
      );
    } finally {
      await etcd.stop();
    }
  });
});
