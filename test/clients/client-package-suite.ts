/**
 * Tests of client-node after `withEvenkeel` was applied to its config; every major version of client-node must pass
 * them.
 */
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import type { EvenkeelOptions } from "../../src/client/client-node/with-evenkeel.ts";
import {
  EARLY,
  ImmediateClock,
  ready,
  Stub,
  type ClientNode,
  type KubeConfig,
  type Reply,
  type WithEvenkeel,
} from "./client-package-stub.ts";

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const CONFIG_MAP = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a", namespace: "default", resourceVersion: "7" },
};
const LIST = { apiVersion: "v1", kind: "ConfigMapList", metadata: { resourceVersion: "7" }, items: [CONFIG_MAP] };
const KEY = { name: "a", namespace: "default" };
const added: Reply = { ...ready(`${JSON.stringify({ type: "ADDED", object: CONFIG_MAP })}\n`), isOpen: true };

export interface Loaded {
  readonly clientNode: ClientNode;
  readonly withEvenkeel: WithEvenkeel;
}

interface Started extends AsyncDisposable {
  readonly stub: Stub;
  readonly config: KubeConfig;
  readonly clock: ImmediateClock;
  readonly evenkeel: ReturnType<WithEvenkeel>;
  readonly core: InstanceType<ClientNode["CoreV1Api"]>;
}

export function describeClientNode(name: string, load: () => Promise<Loaded>): void {
  const start = async (script: (Reply | "reset")[], options: EvenkeelOptions = {}): Promise<Started> => {
    const { clientNode, withEvenkeel } = await load();
    const stub = await Stub.start(...script);
    const config = stub.configFor(clientNode);
    const clock = new ImmediateClock();
    const evenkeel = withEvenkeel(config, { clock, ifReadyHeader: true, ...options });
    const core = config.makeApiClient(clientNode.CoreV1Api);
    return { stub, config, clock, evenkeel, core, [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose]() };
  };
  describe(name, () => {
    describeHeaders(load, start);
    describeApiClients(start);
    describeGivingUp(load, start);
    describeConnections(start);
    describeWatches(load, start);
    describeInformersAndLogs(load, start);
  });
}

type Start = (script: (Reply | "reset")[], options?: EvenkeelOptions) => Promise<Started>;
type Load = () => Promise<Loaded>;

function describeHeaders(load: Load, start: Start): void {
  test("every kind of request has the header X-Kubernetes-If-Ready and the compatibility version of the client", async () => {
    const resources = {
      kind: "APIResourceList",
      resources: [{ kind: "ConfigMap", name: "configmaps", namespaced: true }],
    };
    const script = [
      ready(LIST),
      ready(CONFIG_MAP, 201),
      ready(resources),
      ready(CONFIG_MAP),
      added,
      ready(LIST),
      added,
    ];
    await using started = await start(script, { compatibilityVersion: "1.36" });
    const { stub } = started;
    await askEverything((await load()).clientNode, started);
    expect(stub.lines.map((line) => line.split("?")[0])).toEqual([
      `GET ${CONFIG_MAPS}`,
      `POST ${CONFIG_MAPS}`,
      "GET /api/v1",
      `GET ${CONFIG_MAPS}/a`,
      `GET ${CONFIG_MAPS}`,
      `GET ${CONFIG_MAPS}`,
      `GET ${CONFIG_MAPS}`,
      "GET /api/v1/namespaces/default/pods/pod/log",
      "GET /apis/metrics.k8s.io/v1beta1/nodes",
      "GET /readyz",
      "GET /api/v1/namespaces/default/pods/pod/exec",
    ]);
    for (const { target, headers } of stub.received)
      expect(headers, target).toMatchObject({
        authorization: "Bearer secret",
        "x-kubernetes-if-ready": "true",
        "x-kubernetes-compatibility-version": "1.36",
      });
  });

  test("without ifReadyHeader and compatibilityVersion no header is added, and readiness is unknown", async () => {
    await using started = await start([ready(LIST)], { ifReadyHeader: false });
    const { stub, core, evenkeel } = started;
    await core.listNamespacedConfigMap({ namespace: "default" });
    expect(Object.keys(stub.received[0]!.headers).filter((header) => header.startsWith("x-"))).toEqual([]);
    expect(evenkeel.ready).toBeUndefined();
  });

  test("withEvenkeel rejects a config that it has been applied to before", async () => {
    const { withEvenkeel } = await load();
    await using started = await start([]);
    expect(() => withEvenkeel(started.config)).toThrow("withEvenkeel was called with this config before");
  });
}

/** Sends requests with every class of client-node that sends requests. */
async function askEverything(clientNode: ClientNode, { config, core }: Started): Promise<void> {
  const { KubernetesObjectApi, Watch, makeInformer, Log, Metrics, Health, Exec } = clientNode;
  await core.listNamespacedConfigMap({ namespace: "default" });
  await core.createNamespacedConfigMap({ namespace: "default", body: CONFIG_MAP });
  await KubernetesObjectApi.makeApiClient(config).read(CONFIG_MAP);
  const watch = await new Watch(config).watch(
    CONFIG_MAPS,
    {},
    () => {},
    () => {},
  );
  const informer = makeInformer(config, CONFIG_MAPS, () => core.listNamespacedConfigMap({ namespace: "default" }));
  await informer.start();
  await new Log(config).log("default", "pod", "container", new PassThrough(), {});
  await new Metrics(config).getNodeMetrics();
  await new Health(config).readyz({});
  const exec = new Exec(config).exec("default", "pod", "container", "true", null, null, null, false);
  await expect(exec).rejects.toBeDefined();
  watch.abort();
  await informer.stop();
}

function describeApiClients(start: Start): void {
  test("a 503 with Retry-After is retried after that time, and `ready` reports the readiness in the latest response", async () => {
    await using started = await start([
      EARLY,
      { ...EARLY, headers: { ...EARLY.headers, "retry-after": "2" } },
      ready(CONFIG_MAP),
    ]);
    const { stub, core, clock, evenkeel } = started;
    const seen: unknown[] = [evenkeel.ready];
    clock.onWait = async () => void seen.push(evenkeel.ready);
    const read = await core.readNamespacedConfigMap(KEY);
    expect(read.metadata?.name).toBe("a");
    expect([...seen, evenkeel.ready]).toEqual([undefined, false, false, true]);
    expect(clock.waitsMs).toEqual([5_000, 2_000]);
    expect(stub.received).toHaveLength(3);
    await core.listNamespacedConfigMap({ namespace: "default" });
    expect(evenkeel.ready).toBe("not understood");
  });

  test("a write is retried with the same body and with the credentials that are current at that time", async () => {
    await using started = await start([EARLY, ready(CONFIG_MAP, 201)]);
    const { stub, core, config, clock } = started;
    clock.onWait = async () => void Object.assign(config.getCurrentUser()!, { token: "rotated" });
    await core.createNamespacedConfigMap({ namespace: "default", body: { ...CONFIG_MAP, data: { key: "wert €" } } });
    expect(stub.lines).toEqual([`POST ${CONFIG_MAPS}`, `POST ${CONFIG_MAPS}`]);
    expect(JSON.parse(stub.received[0]!.body)).toMatchObject({ data: { key: "wert €" } });
    expect(stub.received[1]!.body).toBe(stub.received[0]!.body);
    expect(stub.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer secret", "Bearer rotated"]);
  });
}

function describeGivingUp(load: Load, start: Start): void {
  test.each([
    [undefined, 11],
    [2, 3],
    [0, 1],
  ])("with retriesMax %j a request has %i attempts, and the last 503 is thrown", async (retriesMax, count) => {
    const { readyOf } = await import("../../src/client/readiness.ts");
    const { clientNode } = await load();
    await using started = await start(Array<Reply>(20).fill(EARLY), retriesMax === undefined ? {} : { retriesMax });
    const thrown: unknown = await started.core.readNamespacedConfigMap(KEY).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(clientNode.ApiException);
    const { code, body, headers } = thrown as InstanceType<typeof clientNode.ApiException<string>>;
    expect(code).toBe(503);
    expect(body).toContain("The APIServer has not fully initialized yet");
    expect(headers).toMatchObject({ "retry-after": "5", "x-kubernetes-ready": "false" });
    expect(readyOf(headers)).toBe(false);
    expect(started.stub.received).toHaveLength(count);
  });

  test("a response without Retry-After, or with a status other than 429 and 5xx, is not retried", async () => {
    const late: Reply = { status: 404, headers: { "retry-after": "1" } };
    await using started = await start([{ status: 503 }, { status: 429 }, late]);
    for (const code of [503, 429, 404])
      await expect(started.core.readNamespacedConfigMap(KEY)).rejects.toMatchObject({ code });
    expect(started.clock.waitsMs).toEqual([]);
  });

  test("the wait before a retry ends when the signal of the request aborts", async () => {
    const { clientNode } = await load();
    await using started = await start([EARLY]);
    const { stub, core, clock } = started;
    const controller = new AbortController();
    clock.onWait = async () => {
      controller.abort();
      await new Promise<never>(() => {});
    };
    const named = clientNode.setHeaderMiddleware("x-test", "abort");
    const pre: typeof named.pre = (context) => {
      context.setSignal(controller.signal);
      return named.pre(context);
    };
    const reading = core.readNamespacedConfigMap(KEY, { middleware: [{ ...named, pre }] });
    await expect(reading).rejects.toMatchObject({ name: "AbortError" });
    expect(stub.received).toHaveLength(1);
  });

  test("health requests are not retried", async () => {
    const { clientNode } = await load();
    await using started = await start([EARLY]);
    expect(await new clientNode.Health(started.config).readyz({})).toBe(false);
    expect(started.stub.received).toHaveLength(1);
  });
}

function describeConnections(start: Start): void {
  test("a read is retried after a broken connection, but a write is not", async () => {
    await using started = await start(["reset", ready(CONFIG_MAP), "reset"]);
    const { stub, core, clock } = started;
    expect((await core.readNamespacedConfigMap(KEY)).metadata?.name).toBe("a");
    expect(clock.waitsMs).toEqual([1_000]);
    await expect(core.createNamespacedConfigMap({ namespace: "default", body: CONFIG_MAP })).rejects.toBeInstanceOf(
      Error,
    );
    expect(stub.lines).toEqual([`GET ${CONFIG_MAPS}/a`, `GET ${CONFIG_MAPS}/a`, `POST ${CONFIG_MAPS}`]);
  });

  test("a request that is sent before its server listens succeeds when it does, even a write", async () => {
    await using started = await start([EARLY, ready(CONFIG_MAP, 201)]);
    const { stub, core, clock } = started;
    await stub.close();
    clock.onWait = async () => (clock.waitsMs.length === 3 ? stub.listen() : undefined);
    const made = await core.createNamespacedConfigMap({ namespace: "default", body: CONFIG_MAP });
    expect(made.metadata?.name).toBe("a");
    expect(clock.waitsMs).toEqual([500, 500, 500, 5_000]);
  });

  test("a write is retried if the connection breaks before the handshake, because nothing was sent", async () => {
    await using started = await start([ready(CONFIG_MAP, 201)]);
    started.stub.connectionsToBreak = 2;
    await started.core.createNamespacedConfigMap({ namespace: "default", body: CONFIG_MAP });
    expect(started.clock.waitsMs).toEqual([500, 500]);
    expect(started.stub.lines).toEqual([`POST ${CONFIG_MAPS}`]);
  });

  test.each([
    [{ ifReadyHeader: false }, 0],
    [{ waitForServerMs: 0 }, 0],
    [{ waitForServerMs: 1_200 }, 3],
    [{}, 120],
  ])("with %j a client waits %i times for a server that does not listen", async (options, waits) => {
    await using started = await start([], options);
    await started.stub.close();
    const reading = started.core.readNamespacedConfigMap(KEY);
    await expect(reading).rejects.toThrow(/ECONNREFUSED|fetch failed/);
    expect(started.clock.waitsMs).toHaveLength(waits);
  });
}

function describeWatches(load: Load, start: Start): void {
  test("a watch that is rejected with 503 and Retry-After is retried", async () => {
    const { Watch } = (await load()).clientNode;
    await using started = await start([EARLY, EARLY, added]);
    const { stub, config, clock, evenkeel } = started;
    const seen = Promise.withResolvers<string>();
    const ended = Promise.withResolvers<unknown>();
    const watch = await new Watch(config).watch(
      CONFIG_MAPS,
      { resourceVersion: "5" },
      (type) => seen.resolve(type),
      ended.resolve,
    );
    expect(await Promise.race([seen.promise, ended.promise])).toBe("ADDED");
    expect(stub.lines).toEqual(Array(3).fill(`GET ${CONFIG_MAPS}?watch=true&resourceVersion=5`));
    expect(clock.waitsMs).toEqual([5_000, 5_000]);
    expect(evenkeel.ready).toBe(true);
    watch.abort();
    await ended.promise;
  });

  test("a watch that is rejected after all retries ends with the status, and a watch whose connection breaks ends", async () => {
    const { Watch } = (await load()).clientNode;
    await using started = await start([EARLY, EARLY, EARLY, added], { retriesMax: 1 });
    const { stub, config } = started;
    const watchOnce = (onEvent: () => void): Promise<unknown> =>
      new Promise((resolve) => void new Watch(config).watch(CONFIG_MAPS, {}, onEvent, resolve));
    expect(await watchOnce(() => {})).toMatchObject({ statusCode: 503 });
    expect(stub.received).toHaveLength(2);
    await watchOnce(() => void stub.close());
    expect(stub.received).toHaveLength(4);
  });

  test("a watch whose connection breaks before the response is retried", async () => {
    const { Watch } = (await load()).clientNode;
    await using started = await start(["reset", added]);
    const seen = Promise.withResolvers<unknown>();
    const watch = await new Watch(started.config).watch(CONFIG_MAPS, {}, seen.resolve, seen.resolve);
    expect(await seen.promise).toBe("ADDED");
    expect(started.clock.waitsMs).toEqual([1_000]);
    watch.abort();
  });

  test("a watch waits for a server that has not started yet", async () => {
    const { Watch } = (await load()).clientNode;
    await using started = await start([added]);
    const { stub, config, clock } = started;
    await stub.close();
    clock.onWait = async () => (clock.waitsMs.length === 2 ? stub.listen() : undefined);
    const seen = Promise.withResolvers<unknown>();
    const watch = await new Watch(config).watch(CONFIG_MAPS, {}, seen.resolve, seen.resolve);
    expect(await seen.promise).toBe("ADDED");
    expect(clock.waitsMs).toEqual([500, 500]);
    watch.abort();
  });
}

function describeInformersAndLogs(load: Load, start: Start): void {
  test("an informer lists and watches a server that becomes ready later, without an error", async () => {
    const { makeInformer } = (await load()).clientNode;
    await using started = await start([EARLY, ready(LIST), EARLY, { ...added }]);
    const { stub, config, core } = started;
    const reported: string[] = [];
    const informer = makeInformer(config, CONFIG_MAPS, () => core.listNamespacedConfigMap({ namespace: "default" }));
    for (const verb of ["add", "update", "delete"] as const) informer.on(verb, () => void reported.push(verb));
    informer.on("error", () => void reported.push("error"));
    await informer.start();
    await stub.untilRequests(4);
    expect(reported).toEqual(["add"]);
    await informer.stop();
  });

  test("a request for a log is retried, and the log is complete", async () => {
    const { Log } = (await load()).clientNode;
    await using started = await start([
      EARLY,
      { status: 200, headers: { "content-type": "text/plain" }, body: "one\ntwo\n" },
    ]);
    const output = new PassThrough();
    await new Log(started.config).log("default", "pod", "container", output, {});
    expect(await text(output)).toBe("one\ntwo\n");
    expect(started.stub.received).toHaveLength(2);
  });
}
