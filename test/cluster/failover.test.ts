/** Servers that die, hang or vanish while others are asked for what they serve. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../../src/storage/kv-etcd/testing/start-etcd.ts";
import { Watch, type Json } from "../smoke/client.ts";
import { openBlackHole, openRelay, type BlackHole } from "./black-hole.ts";
import { DEVICE_CLASSES, isRetryable, isSuccess, Load, SHARED, tallied, unexpected, type LoadAnswer } from "./load.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const PER_SECOND = 100;
/** From here on after a fault, a request that does not succeed is a failure of the test. */
const SETTLED_MS = 8_000;
/** How long load goes on after everything should be well again. */
const AFTERWARDS_MS = 1_500;
const EXCLUSIVE = DEVICE_CLASSES.path;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)("1.33, with 1.36 twice behind it", { timeout: 120_000 }, () => {
  let cluster: Cluster;
  let a: Member;
  let b: Member;
  let c: Member;
  beforeAll(async () => {
    cluster = await openCluster();
    [a, b, c] = await Promise.all([
      cluster.start({ id: "a", release: "1.33" }),
      cluster.start({ id: "b", release: "1.36" }),
      cluster.start({ id: "c", release: "1.36" }),
    ]);
    await untilStatus(a, EXCLUSIVE, 200);
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  const restart = async (member: Member, release: string): Promise<Member> =>
    cluster.start({ id: member.id, release, port: member.port });

  const startLoad = (): Load =>
    new Load({ ca: cluster.ca, servers: [a], perSecond: PER_SECOND, resources: [DEVICE_CLASSES, SHARED] });

  test("a server that hangs is gone round: what it cannot answer, the other one does", async () => {
    await using load = startLoad();
    await load.until(isSuccessOf(DEVICE_CLASSES.name, 0));
    const at = Date.now();
    b.command.child.kill("SIGSTOP");
    try {
      await settled(load, { at, name: "SIGSTOP of one of two" });
    } finally {
      b.command.child.kill("SIGCONT");
    }
    await untilStatus(b, EXCLUSIVE, 200);
  });

  test("when it is killed, its watches end, its requests go to the other one, and nobody is told 404", async () => {
    await untilReachable(a, ["b", "c"]);
    const watches = await openWatchesOfBoth(a, b, c);
    await using load = startLoad();
    await load.until(isSuccessOf(DEVICE_CLASSES.name, Date.now()));
    const at = Date.now();
    await b.kill9();
    const ended = await Promise.race(watches.map(async (watch) => ({ watch, how: await watch.ended })));
    expect(ended.how).toBe("cut");
    const again = new Watch(a, `${EXCLUSIVE}?watch=true`);
    expect(await again.opened).toBe(200);
    await settled(load, { at, name: "kill -9 of one of two" });
    for (const watch of [...watches, again]) watch.close();
  });

  test("when the last one is killed too, it is 503 with Retry-After only, then out of discovery, and 503 still", async () => {
    await using load = startLoad();
    await load.until(isSuccessOf(DEVICE_CLASSES.name, Date.now()));
    const at = Date.now();
    await c.kill9();
    const gone = await untilDiscovery(a, "absent");
    console.info(`out of merged discovery ${gone - at} ms after kill -9 of the last server that had it`);
    await delay(AFTERWARDS_MS);
    const after = (await load.stop()).filter(({ sentAt }) => sentAt > at);
    expect(unexpected(after)).toEqual([]);
    const exclusive = after.filter(({ resource }) => resource === DEVICE_CLASSES.name);
    expect(exclusive.filter(isSuccess)).toEqual([]);
    expect(exclusive.length).toBeGreaterThan(0);
    console.info(`until then: ${tallied(exclusive)}`);
    const refusal = await a.request("GET", EXCLUSIVE);
    expect(refusal).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^[1-9]/) } });
    expect(refusal.body).toMatchObject({ kind: "Status", reason: "ServiceUnavailable" });
    expect(refusal.body.message).toMatch(/was last served by [bc] \(1\.36\), which left at /);
  });

  test("when one of them is back, so is what it serves", async () => {
    b = await restart(b, "1.36");
    const readyAt = Date.now();
    await untilStatus(a, EXCLUSIVE, 200);
    console.info(`answered again ${Date.now() - readyAt} ms after the restarted server was ready`);
    await untilDiscovery(a, "present");
    console.info(`in merged discovery again ${Date.now() - readyAt} ms after it`);
  });

  test("the feature can be switched off and on again server by server: 404 while it is off, and proxied again", async () => {
    await a.stop();
    a = await cluster.start({ id: "a", release: "1.33", port: a.port, proxy: "off" });
    expect(await a.request("GET", EXCLUSIVE)).toMatchObject({ status: 404 });
    expect(await groupVersions(a)).not.toContain("resource.k8s.io/v1");
    expect(await b.request("GET", EXCLUSIVE)).toMatchObject({ status: 200 });
    await a.stop();
    a = await restart(a, "1.33");
    expect(await untilStatus(a, EXCLUSIVE, 200)).not.toContain(404);
    await untilDiscovery(a, "present");
    await b.stop();
    b = await cluster.start({ id: "b", release: "1.36", port: b.port, proxy: "off" });
    const refused = await untilSettledAnswer(a);
    expect(refused).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^[1-9]/) } });
    await b.stop();
    b = await restart(b, "1.36");
    expect(await untilStatus(a, EXCLUSIVE, 200)).not.toContain(404);
  });

  test("a server whose advertised address leads to the one that asks, or to a third, is never a reason for 404", async () => {
    c = await restart(c, "1.36");
    await untilReachable(a, ["b", "c"]);
    const path = "/apis/resource.k8s.io/v1beta1/deviceclasses";
    for (const wrong of [a, c]) {
      const d = await cluster.start({
        id: "d",
        release: "1.36",
        flags: [
          ...["--runtime-config", "resource.k8s.io/v1beta1=true"],
          ...["--peer-advertise-ip", "127.0.0.1", "--peer-advertise-port", String(wrong.port)],
        ],
      });
      for (const asked of [a, b]) {
        for (let turn = 0; turn < 10; turn++) {
          const answer = await asked.request("GET", path);
          expect(answer).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^[1-9]/) } });
          expect(answer.body.message).toMatch(/\bd\b/);
        }
        expect(await asked.request("GET", EXCLUSIVE)).toMatchObject({ status: 200 });
      }
      await d.stop();
    }
  });

  test("an upgrade through the proxy is answered with a Status that says what it is about", async () => {
    const e = await cluster.start({ id: "e", release: "1.36", flags: ["--runtime-config", "v1=false"] });
    await untilStatus(e, "/api/v1/namespaces", 200);
    const pods = "/api/v1/namespaces/default/pods";
    for (const [method, path, protocol] of [
      ["GET", "absent/exec?command=ls", "websocket"],
      ["POST", "absent/exec?command=ls", "SPDY/3.1"],
      ["POST", "absent/portforward", "SPDY/3.1"],
      ["GET", "absent/attach", "websocket"],
    ] as const) {
      const headers = { connection: "Upgrade", upgrade: protocol };
      const answer = await e.request(method, `${pods}/${path}`, undefined, headers);
      expect(answer.headers["x-evenkeel-served-by"]).toMatch(/^[abc] \(1\.3[36]\); reason=served-by-peer$/);
      expect({ path, status: answer.status, body: answer.body }).toMatchObject({
        path,
        status: 404,
        body: { kind: "Status", message: 'pods "absent" not found', details: { name: "absent", kind: "pods" } },
      });
    }
    await e.stop();
  });

  test("what a server served that left for good is 503 with its name, whoever is asked", async () => {
    await Promise.all([b.stop(), c.stop()]);
    const answer = await untilSettledAnswer(a);
    expect(answer).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^[1-9]/) } });
    expect(answer.body.message).toMatch(/was last served by [bcde] \(1\.36\)/);
  });
});

describe.skipIf(isMissing)("a server whose packets are swallowed", { timeout: 120_000 }, () => {
  let hole: BlackHole | undefined;
  let why = "";
  beforeAll(async () => {
    const opened = await openBlackHole();
    if (typeof opened === "string") why = opened;
    else hole = opened;
  });
  afterAll(() => hole?.[Symbol.asyncDispose]());

  test("is gone round, and comes back when they pass again", async (context) => {
    if (hole === undefined) {
      console.warn(why);
      context.skip(why);
      return;
    }
    await using cluster = await openCluster([hole.near, hole.far]);
    await using relay = await openRelay(hole.near, cluster.etcd.endpoint);
    const { near: address } = hole;
    const [a] = await Promise.all([
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
    await untilReachable(a, ["b", "c"]);
  });
});

function isSuccessOf(resource: string, sentAfter: number): (answer: LoadAnswer) => boolean {
  return (answer) => answer.resource === resource && answer.sentAt >= sentAfter && isSuccess(answer);
}

/** Goes on until well after the fault, then judges every answer since. */
async function settled(load: Load, { at, name }: { readonly at: number; readonly name: string }): Promise<void> {
  const first = await load.until(isSuccessOf(DEVICE_CLASSES.name, at));
  await load.until(isSuccessOf(DEVICE_CLASSES.name, at + SETTLED_MS));
  await delay(AFTERWARDS_MS);
  const after = (await load.stop()).filter(({ answeredAt }) => answeredAt >= at);
  const exclusive = after.filter(({ resource }) => resource === DEVICE_CLASSES.name);
  const refused = exclusive.filter(isRetryable);
  const lastRefused = Math.max(0, ...refused.map(({ answeredAt }) => answeredAt - at));
  const slowest = Math.max(...exclusive.map(({ sentAt, answeredAt }) => answeredAt - sentAt));
  console.info(
    `${name}: first success ${first.answeredAt - at} ms after it, last refusal after ${lastRefused} ms, ` +
      `slowest answer ${slowest} ms; ${tallied(exclusive)}`,
  );
  expect(unexpected(after)).toEqual([]);
  expect(after.filter(({ sentAt }) => sentAt >= at + SETTLED_MS).filter((answer) => !isSuccess(answer))).toEqual([]);
  expect(refused.filter(({ operation }) => operation === "list")).toEqual([]);
}

/** Which server a watch is open on is drawn by lot: until each has one. */
async function openWatchesOfBoth(a: Member, b: Member, c: Member): Promise<Watch[]> {
  const watching = async (member: Member): Promise<number> => {
    const { text } = await member.request("GET", "/metrics");
    const lines = text.split("\n").filter((line) => /^apiserver_longrunning_requests\{.*deviceclasses/.test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  const watches: Watch[] = [];
  while (watches.length < 40) {
    const watch = new Watch(a, `${EXCLUSIVE}?watch=true`);
    watches.push(watch);
    expect(await watch.opened).toBe(200);
    if ((await watching(b)) > 0 && (await watching(c)) > 0) break;
  }
  return watches;
}

/** All statuses up to the one that was awaited. */
async function untilStatus(member: Member, path: string, status: number): Promise<number[]> {
  const seen: number[] = [];
  for (;;) {
    const answer = await member.request("GET", path);
    seen.push(answer.status);
    if (answer.status === status) return seen;
    await delay(20);
  }
}

/** The first answer that is not merely about a server which is just coming or going. */
async function untilSettledAnswer(member: Member): Promise<Json> {
  for (;;) {
    const answer = await member.request("GET", EXCLUSIVE);
    const rule = answer.body.details?.causes?.find(({ field }: Json) => field === "rule")?.message;
    if (rule !== "peer-not-described" && rule !== "peer-unreachable" && rule !== "served-by-peer") return answer;
    await delay(20);
  }
}

async function untilReachable(member: Member, ids: readonly string[]): Promise<void> {
  for (;;) {
    const { body } = await member.request("GET", "/evenkeel/v1/status");
    const isWell = (id: string): boolean =>
      body.servers.some((server: Json) => server.id === id && server.isReachable && server.isDescribed);
    if (ids.every(isWell)) return;
    await delay(50);
  }
}

async function groupVersions(member: Member): Promise<string[]> {
  const { body } = await member.request("GET", "/apis", undefined, { accept: AGGREGATED });
  return body.items.flatMap((group: Json) =>
    group.versions.map(({ version }: Json) => `${group.metadata.name}/${version}`),
  );
}

/** When it was first seen. */
async function untilDiscovery(member: Member, wanted: "present" | "absent"): Promise<number> {
  for (;;) {
    const isPresent = (await groupVersions(member)).includes("resource.k8s.io/v1");
    if (isPresent === (wanted === "present")) return Date.now();
    await delay(50);
  }
}
