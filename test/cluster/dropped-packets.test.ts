import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { openBlackHole, openRelay, type BlackHole } from "./packet-drop.ts";
import { DEVICE_CLASSES, Load, SHARED } from "./load.ts";
import { EXCLUSIVE, isSuccessOf, settled, untilReachable, untilStatus } from "./settle.ts";
import { openCluster } from "./start-cluster.ts";

const PER_SECOND = 100;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("a server whose packets are dropped", { timeout: 120_000 }, () => {
  let hole: BlackHole | undefined;
  let why = "";
  beforeAll(async () => {
    const opened = await openBlackHole();
    if (typeof opened === "string") why = opened;
    else hole = opened;
  });
  afterAll(() => hole?.[Symbol.asyncDispose]());

  test("gets no requests, and gets requests again when its packets are delivered", async (context) => {
    if (hole === undefined) {
      console.warn(why);
      context.skip(why);
      return;
    }
    await using cluster = await openCluster([hole.near, hole.far]);
    await using relay = await openRelay(hole.near, cluster.etcd.endpoint);
    const { near: address } = hole;
    const [a, b] = await Promise.all([
      cluster.start({ id: "a", release: "1.33", address }),
      cluster.start({
        id: "b",
        release: "1.36",
        address: hole.far,
        etcd: relay.endpoint,
        wrapper: hole.wrapper,
      }),
      cluster.start({ id: "c", release: "1.36", address }),
    ]);
    await untilStatus(a, EXCLUSIVE, 200);
    await untilReachable(a, ["b", "c"]);
    await using load = new Load({
      ca: cluster.ca,
      servers: [a],
      perSecond: PER_SECOND,
      resources: [DEVICE_CLASSES, SHARED],
    });
    await load.until(isSuccessOf(DEVICE_CLASSES.name, 0));
    const at = Date.now();
    hole.swallow();
    await settled(load, { at, name: "packets of one of two swallowed" });
    hole.pass();
    const passedAt = Date.now();
    await untilReachable(a, ["b", "c"]);
    console.info(`known and reachable again ${Date.now() - passedAt} ms after packets passed`);
    expect(await b.request("GET", "/livez")).toMatchObject({ status: 200 });
  });
});
