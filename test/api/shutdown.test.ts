import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../src/base/log.ts";
import type { ConnectionInfo } from "../../src/serving/http/message.ts";
import { createServingCertificate } from "../../src/serving/http/node/serving-certificate.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { createNodeEnv } from "../../src/server/env-node.ts";
import { startListening } from "../../src/server/listener.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { FaultyKv } from "./faulty-kv.ts";
import {
  CONFIG_MAPS,
  configMap,
  header,
  startServer,
  TestWatch,
  type ApiTestResponse,
  type TestServer,
} from "./start.ts";

const TOKEN_FILE = "client-token,client,client,system:masters";
const AS_CLIENT = { asClient: true, headers: { authorization: "Bearer client-token" } };
const DELAY_MS = 70_000;
const LIMIT_MS = 60_000;

function asClient(api: TestServer, target: string): Promise<ApiTestResponse> {
  return api.call("GET", target, undefined, AS_CLIENT);
}

async function clientWatch(api: TestServer, target: string): Promise<TestWatch> {
  const request = { method: "GET", target, headers: AS_CLIENT.headers };
  const watch = new TestWatch(api.world, await api.world.run(api.send(request, true)));
  await api.world.advance(0);
  return watch;
}

describe("the events of a shutdown", () => {
  const COMMON = ["ShutdownInitiated", "AfterShutdownDelayDuration", "PreShutdownHooksStopped"];

  test.each([
    { delayMs: 0, sendRetryAfter: false, last: ["HTTPServerStoppedListening", "InFlightRequestsDrained"] },
    { delayMs: 50, sendRetryAfter: false, last: ["HTTPServerStoppedListening", "InFlightRequestsDrained"] },
    { delayMs: 0, sendRetryAfter: true, last: ["InFlightRequestsDrained", "HTTPServerStoppedListening"] },
    { delayMs: 50, sendRetryAfter: true, last: ["InFlightRequestsDrained", "HTTPServerStoppedListening"] },
  ])(
    "occur once and in order with a delay of $delayMs ms and sendRetryAfter $sendRetryAfter",
    async ({ last, ...shutdown }) => {
      const events: string[] = [];
      const env = {
        ...createNodeEnv({ logLevel: "error" }),
        log: {
          ...SILENT_LOG,
          info: (message: string, fields: Readonly<Record<string, unknown>> = {}) =>
            void (message === "shutdown event" && events.push(String(fields["name"]))),
        },
      };
      const { certPem: cert, keyPem: key } = createServingCertificate({
        ...{ hosts: ["127.0.0.1"], commonName: "shutdown-test", nowMs: env.clock.now() },
      });
      const config = resolveOptions({ storage: { kind: "memory" }, strictRelease: true, shutdown });
      const running = await startListening(env, config, { host: "127.0.0.1", port: 0, cert, key });
      await running.server.ready;
      await Promise.all([running.stop(), running.stop()]);
      // The delay and the pre-shutdown hooks can end in either order.
      expect(events.slice(0, 3).toSorted()).toEqual(COMMON.toSorted());
      expect([events[0], ...events.slice(3)]).toEqual(["ShutdownInitiated", "NotAcceptingNewRequest", ...last]);
    },
  );
});

describe("a server that shuts down", () => {
  test("is unready immediately, but serves all requests until the shutdown delay has passed", async () => {
    await using api = await startServer({ tokenFile: TOKEN_FILE, shutdown: { delayMs: DELAY_MS } });
    const rejecting = api.server.beginShutdown();
    expect((await asClient(api, "/readyz")).status).toBe(500);
    await api.world.advance(DELAY_MS - 1);
    expect((await asClient(api, CONFIG_MAPS)).status).toBe(200);
    await api.world.advance(1);
    await rejecting;
    const rejected = await asClient(api, CONFIG_MAPS);
    expect([rejected.status, header(rejected, "retry-after"), rejected.body.message]).toEqual([
      503,
      "1",
      "apiserver is shutting down",
    ]);
  });

  test.each([
    { sendRetryAfter: false, status: 503, retryAfter: "1" },
    { sendRetryAfter: true, status: 429, retryAfter: "5" },
  ])("rejects new requests with $status, except health and metrics", async (expected) => {
    const { sendRetryAfter, status, retryAfter } = expected;
    await using api = await startServer({ tokenFile: TOKEN_FILE, shutdown: { sendRetryAfter } });
    await api.world.run(api.server.beginShutdown());
    for (const target of [CONFIG_MAPS, `${CONFIG_MAPS}?watch=true`, "/apis", "/version", "/livezzz", "/nosuch"]) {
      const rejected = await asClient(api, target);
      expect([target, rejected.status, header(rejected, "retry-after")]).toEqual([target, status, retryAfter]);
    }
    expect((await api.call("POST", CONFIG_MAPS, configMap("late"), AS_CLIENT)).status).toBe(status);
    for (const target of ["/livez", "/healthz", "/livez/ping", "/metrics"])
      expect([target, (await asClient(api, target)).status]).toEqual([target, 200]);
    expect((await asClient(api, "/readyz")).status).toBe(500);
    expect((await api.get(`${CONFIG_MAPS}/late`)).status).toBe(404);
  });

  test("completes requests that it received before the shutdown, and only then is drained", async () => {
    let store: FaultyKv | undefined;
    await using api = await startServer({
      tokenFile: TOKEN_FILE,
      wrapKv: (kv) => (store = new FaultyKv(kv)),
    });
    store!.stall();
    const created = api.begin("POST", CONFIG_MAPS, configMap("kept"), AS_CLIENT);
    await api.world.advance(0);
    await api.world.run(api.server.beginShutdown());
    let isDrained = false;
    const drained = api.server.drain(LIMIT_MS).then(() => (isDrained = true));
    await api.world.advance(5_000);
    expect(isDrained).toBe(false);
    store!.resume();
    expect((await api.world.run(created)).status).toBe(201);
    await api.world.run(drained);
    expect((await api.get(`${CONFIG_MAPS}/kept`)).status).toBe(200);
  });

  test("does not wait longer than the drain limit for a request that does not end", async () => {
    let store: FaultyKv | undefined;
    await using api = await startServer({ tokenFile: TOKEN_FILE, wrapKv: (kv) => (store = new FaultyKv(kv)) });
    store!.stall();
    const created = api.begin("POST", CONFIG_MAPS, configMap("stuck"), AS_CLIENT);
    await api.world.advance(0);
    await api.world.run(api.server.beginShutdown());
    await api.world.run(api.server.drain(1_000));
    store!.resume();
    await api.world.run(created);
  });

  test("ends the watches of clients cleanly, with a bookmark if requested, and keeps the watches of its loopback client", async () => {
    await using api = await startServer({ tokenFile: TOKEN_FILE });
    const plain = await clientWatch(api, `${CONFIG_MAPS}?watch=true`);
    const marked = await clientWatch(api, `${CONFIG_MAPS}?watch=true&allowWatchBookmarks=true`);
    const own = await api.watch(`${CONFIG_MAPS}?watch=true`);
    const made = await api.create("/api/v1/namespaces/default/secrets", { metadata: { name: "elsewhere" } });
    await Promise.all([plain.events(), marked.events()]);
    await api.world.run(api.server.beginShutdown());
    expect([plain.isEnded, marked.isEnded]).toEqual([false, false]);
    await api.world.run(api.server.drain(LIMIT_MS));
    const [bookmark, ...more] = await marked.events();
    expect([plain.isEnded, marked.isEnded, own.isEnded]).toEqual([true, true, false]);
    expect([bookmark.type, more, await plain.events()]).toEqual(["BOOKMARK", [], []]);
    expect(Number(bookmark.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(made.body.metadata.resourceVersion),
    );
  });

  test("ends 200 watches per second, so that all watches end early in the grace period", async () => {
    const shutdown = { watchGraceMs: 10_000 };
    await using api = await startServer({ tokenFile: TOKEN_FILE, shutdown });
    const watches: TestWatch[] = [];
    for (let count = 0; count < 100; count++) watches.push(await clientWatch(api, `${CONFIG_MAPS}?watch=true`));
    await api.world.run(api.server.beginShutdown());
    const drained = api.server.drain(LIMIT_MS);
    const ended = async (afterMs: number): Promise<number> => {
      await api.world.advance(afterMs);
      return watches.filter(({ isEnded }) => isEnded).length;
    };
    // 200 watches per second, of which the first ends at once.
    expect([await ended(0), await ended(250), await ended(250)]).toEqual([1, 51, 100]);
    await api.world.run(drained);
  });
});

test("--goaway-chance applies to every HTTP/2 response, including errors", async () => {
  const world = new World({ seed: 1 });
  const random = { ...world.env.random, float: () => 0.0199 };
  await using api = await startServer({ world, random, access: {}, goawayChance: 0.02 });
  const asked = async (protocol: ConnectionInfo["protocol"], target: string): Promise<unknown[]> => {
    const connection: ConnectionInfo = { protocol, remoteAddress: "", clientChain: [] };
    const { status, headers } = await world.run(api.send({ method: "GET", target, connection }, true));
    return [status, headers["connection"]];
  };
  expect(await asked("h2", "/livez")).toEqual([200, "close"]);
  expect(await asked("h2", CONFIG_MAPS)).toEqual([403, "close"]);
  expect(await asked("http/1.1", "/livez")).toEqual([200, undefined]);
});

describe("a server that shuts down in a cluster", () => {
  const LEADER = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel-controllers";
  const IDENTITIES =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io/identity=kube-apiserver";

  test("releases the leadership immediately, and keeps its identity lease until it is closed", async () => {
    const world = new World({ seed: 1 });
    const shutdown = { delayMs: DELAY_MS };
    await using one = await startServer({ world, shutdown, controllers: ["*"], tokenFile: TOKEN_FILE });
    const leader = async (api: TestServer): Promise<string> => (await api.get(LEADER)).body.spec.holderIdentity;
    const identities = async (api: TestServer): Promise<number> => (await api.get(IDENTITIES)).body.items.length;
    await world.advance(5_000);
    const first = await leader(one);
    await using two = await startServer({ world, controllers: ["*"] });
    await world.advance(5_000);
    expect([first === "", await leader(two)]).toEqual([false, first]);

    const rejecting = one.server.beginShutdown();
    // Less than the 15 seconds after which the lease of a leader that does not renew it expires.
    await world.advance(5_000);
    expect(["", first]).not.toContain(await leader(two));
    expect((await asClient(one, CONFIG_MAPS)).status).toBe(200);
    await world.run(rejecting);
    await world.run(one.server.drain(LIMIT_MS));
    expect(await identities(two)).toBe(2);
    await world.run(one.server.close());
    expect(await identities(two)).toBe(1);
  });
});
