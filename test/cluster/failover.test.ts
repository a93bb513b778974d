/** Tests of servers that crash, hang or disappear while clients request their resources through other servers. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { Watch } from "../smoke/client.ts";
import { DEVICE_CLASSES, isSuccess, isUndecided, Load, SHARED, tallied, unexpected } from "./load.ts";
import {
  AFTERWARDS_MS,
  EXCLUSIVE,
  groupVersions,
  isSuccessOf,
  settled,
  untilDiscovery,
  untilReachable,
  untilSettledAnswer,
  untilStatus,
} from "./settle.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

const PER_SECOND = 100;
const WATCHES_MAX = 40;
const AGAIN_MS = 50;

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

describe.skipIf(isMissing)(
  "with a server of 1.33 and two servers of 1.36 to which it proxies,",
  { timeout: 120_000 },
  () => {
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

    test("a server of 1.36 that hangs is skipped, and the other server of 1.36 serves its requests", async () => {
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

    test("the watches of a killed server end, the other server of 1.36 serves its requests, and no client gets 404", async () => {
      await untilReachable(a, ["b", "c"]);
      const watches = await openWatchesOfBoth(a, b, c);
      await using load = startLoad();
      await load.until(isSuccessOf(DEVICE_CLASSES.name, Date.now()));
      const at = Date.now();
      await b.kill9();
      const ended = await Promise.race(watches.map(async (watch) => ({ watch, how: await watch.ended })));
      expect(ended.how).toBe("cut");
      const again = await watchAgain(a);
      await settled(load, { at, name: "kill -9 of one of two" });
      for (const watch of [...watches, again]) watch.close();
    });

    test("after the last server of 1.36 is killed, requests return 503 with Retry-After, and the resource leaves discovery", async () => {
      await using load = startLoad();
      await load.until(isSuccessOf(DEVICE_CLASSES.name, Date.now()));
      const at = Date.now();
      await c.kill9();
      const deadAt = Date.now();
      const gone = await untilDiscovery(a, "absent");
      console.info(`out of merged discovery ${gone - at} ms after kill -9 of the last server that had it`);
      await delay(AFTERWARDS_MS);
      const after = (await load.stop()).filter(({ sentAt }) => sentAt > at);
      // A request that was in progress when the server was killed may have been executed. A request that was sent later
      // was not executed.
      const undecided = after.filter((response) => isUndecided(response) && response.sentAt <= deadAt);
      expect(unexpected(after).filter((answer) => !undecided.includes(answer))).toEqual([]);
      const exclusive = after.filter(({ resource }) => resource === DEVICE_CLASSES.name);
      expect(exclusive.filter(({ sentAt }) => sentAt > deadAt).filter(isSuccess)).toEqual([]);
      expect(exclusive.length).toBeGreaterThan(0);
      console.info(`until then: ${tallied(exclusive)}`);
      const rejection = await a.request("GET", EXCLUSIVE);
      expect(rejection).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^[1-9]/) } });
      expect(rejection.body).toMatchObject({ kind: "Status", reason: "ServiceUnavailable" });
      expect(rejection.body.message).toMatch(/was last served by [bc] \(1\.36\), which departed at /);
    });

    test("after a server of 1.36 has restarted, its resources are served again", async () => {
      b = await restart(b, "1.36");
      const readyAt = Date.now();
      await untilStatus(a, EXCLUSIVE, 200);
      console.info(`served again ${Date.now() - readyAt} ms after the restarted server was ready`);
      await untilDiscovery(a, "present");
      console.info(`in merged discovery again ${Date.now() - readyAt} ms after it`);
    });

    test("the mixed version proxy can be turned off and on again on one server at a time: the server returns 404 while it is off, and proxies requests afterwards", async () => {
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
      // Server b does not proxy requests itself now, but other servers still proxy requests to it.
      expect(await untilStatus(a, EXCLUSIVE, 200)).not.toContain(404);
      await b.stop();
      b = await restart(b, "1.36");
      expect(await untilStatus(a, EXCLUSIVE, 200)).not.toContain(404);
    });

    test("an advertised address that leads to the local server or to a third server never causes a 404", async () => {
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
            const response = await asked.request("GET", path);
            expect(response).toMatchObject({
              status: 503,
              headers: { "retry-after": expect.stringMatching(/^[1-9]/) },
            });
            expect(response.body.message).toMatch(/\bd\b/);
          }
          expect(await asked.request("GET", EXCLUSIVE)).toMatchObject({ status: 200 });
        }
        await d.stop();
      }
    });

    test("a proxied upgrade request that fails returns a Status about the requested object", async () => {
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
        const response = await e.request(method, `${pods}/${path}`, undefined, headers);
        expect(response.headers["x-evenkeel-served-by"]).toMatch(/^[abc] \(1\.3[36]\); reason=served-by-peer$/);
        expect({ path, status: response.status, body: response.body }).toMatchObject({
          path,
          status: 404,
          body: { kind: "Status", message: 'pods "absent" not found', details: { name: "absent", kind: "pods" } },
        });
      }
      const containers = [{ name: "main", image: "nginx:1" }];
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "unscheduled" }, spec: { containers } };
      expect((await e.request("POST", pods, pod)).status).toBe(201);
      const headers = { connection: "Upgrade", upgrade: "SPDY/3.1" };
      const rejected = await e.request("POST", `${pods}/unscheduled/exec?command=ls`, undefined, headers);
      expect(rejected.body).toMatchObject({ kind: "Status", status: "Failure", code: rejected.status });
      console.info(`exec through the proxy, of a pod on no node: ${rejected.status} ${rejected.body.message}`);
      await e.stop();
    });

    test("a request for a resource whose servers have departed returns 503 with the ID of the last server", async () => {
      await Promise.all([b.stop(), c.stop()]);
      const response = await untilSettledAnswer(a);
      expect(response).toMatchObject({ status: 503, headers: { "retry-after": expect.stringMatching(/^[1-9]/) } });
      expect(response.body.message).toMatch(/was last served by [bcde] \(1\.36\)/);
    });
  },
);

/**
 * Opens a watch as clients do after a watch has ended: again after a 503, which the server returns if the other server
 * of the resource has missed its probes on a busy machine.
 */
async function watchAgain(a: Member): Promise<Watch> {
  for (;;) {
    const watch = new Watch(a, `${EXCLUSIVE}?watch=true`);
    const status = await watch.opened;
    if (status === 200) return watch;
    expect(status).toBe(503);
    watch.close();
    await delay(AGAIN_MS);
  }
}

/** Opens watches until both b and c serve at least one, because the proxy chooses the server of a watch at random. */
async function openWatchesOfBoth(a: Member, b: Member, c: Member): Promise<Watch[]> {
  const watching = async (member: Member): Promise<number> => {
    const { text } = await member.request("GET", "/metrics");
    const lines = text.split("\n").filter((line) => /^apiserver_longrunning_requests\{.*deviceclasses/.test(line));
    return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  };
  const watches: Watch[] = [];
  while (watches.length < WATCHES_MAX) {
    const watch = new Watch(a, `${EXCLUSIVE}?watch=true`);
    watches.push(watch);
    expect(await watch.opened).toBe(200);
    if ((await watching(b)) > 0 && (await watching(c)) > 0) break;
  }
  return watches;
}
