import { describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd, startEtcd } from "../../src/storage/kv-etcd/testing/start-etcd.ts";
import { configMap, CONFIG_MAPS, Watch } from "./client.ts";
import { startEvenkeel } from "./start-evenkeel.ts";

const ITERATIONS = 300;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("two servers of different releases on one etcd", { timeout: 60_000 }, () => {
  test("each sees the other's acknowledged writes at once, and its watches see them in order", async () => {
    const etcd = (await startEtcd())!;
    try {
      await using a = await startEvenkeel({ flags: ["--release", "1.34", "--etcd-servers", etcd.endpoint] });
      await using b = await startEvenkeel({ flags: ["--release", "1.36", "--etcd-servers", etcd.endpoint] });
      using watchOnB = new Watch(b, `${CONFIG_MAPS}?watch=true`);
      expect(await watchOnB.opened).toBe(200);
      const versions: number[] = [];
      let stale = 0;
      await a.request("POST", CONFIG_MAPS, configMap("shared", { turn: "0" }));
      for (let turn = 1; turn <= ITERATIONS; turn++) {
        const [writer, reader] = turn % 2 === 0 ? [a, b] : [b, a];
        const read = await reader.request("GET", `${CONFIG_MAPS}/shared`);
        expect(read.status).toBe(200);
        if (read.body.data.turn !== String(turn - 1)) stale++;
        const written = await writer.request("PUT", `${CONFIG_MAPS}/shared`, configMap("shared", { turn: String(turn) }));
        expect(written.status).toBe(200);
        versions.push(Number(written.body.metadata.resourceVersion));
        const list = await reader.request("GET", CONFIG_MAPS);
        if (list.body.items[0].metadata.resourceVersion !== written.body.metadata.resourceVersion) stale++;
      }
      expect(stale).toBe(0);
      await watchOnB.until((events) => events.length === ITERATIONS + 1);
      expect(watchOnB.events.slice(1).map(({ rv }) => rv)).toEqual(versions);
      expect(watchOnB.events.map(({ object }) => object.data.turn)).toEqual(Array.from({ length: ITERATIONS + 1 }, (_, turn) => String(turn)));
    } finally {
      await etcd.stop();
    }
  });
});
