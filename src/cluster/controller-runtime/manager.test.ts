import { describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../../../test/api/start.ts";
import { sleep } from "../../base/clock.ts";
import { SILENT_LOG, type Log } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { createClient } from "../../client/client.ts";
import { createControllerMetrics } from "./controller-metrics.ts";
import { informerSource, type ControllerSpec, type Reconcile } from "./controller.ts";
import { createControllerManager, type ControllerManager } from "./manager.ts";
import { ManualSource } from "../../../test/testing/cluster/controller-runtime/manual-source.ts";
import { Host } from "../../../test/testing/cluster/controller-runtime/host.ts";

class Process {
  readonly host: Host;
  readonly manager: ControllerManager;
  readonly registry = new MetricsRegistry();
  readonly errors: string[] = [];
  readonly #server: TestServer;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(
    server: TestServer,
    controllers: readonly ControllerSpec[],
    options: { readonly identity?: string; readonly enabled?: readonly string[] } = {},
  ) {
    const { identity = "one", enabled = controllers.map(({ name }) => name) } = options;
    const { world } = server;
    this.#server = server;
    this.host = new Host({ clock: world.clock, server: server.server.transport });
    const { clock, transport } = this.host;
    const random = world.randomFor(identity);
    const log: Log = { ...SILENT_LOG, error: (message) => void this.errors.push(message) };
    this.manager = createControllerManager({
      controllers,
      enabled: new Set(enabled),
      client: createClient({ transport, clock, random, defaults: { retriesMax: 0 } }),
      clock,
      random,
      log,
      metrics: createControllerMetrics(this.registry),
      identity,
      leaseName: "test-manager",
    });
    this.#running = this.manager.run(this.#stop.signal);
  }

  /** The problem that the health check of the only controller reports. */
  get problem(): string | undefined {
    return this.manager.checks()[0]!.check();
  }

  metric(series: string): number | undefined {
    const line = this.registry
      .render()
      .split("\n")
      .find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#server.world.run(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function controller(
  name: string,
  reconcile: Reconcile,
  source = (): ManualSource => new ManualSource("a"),
): ControllerSpec {
  return { name, reconcile, sources: () => [source()] };
}

function noted(into: string[], name: string): ControllerSpec {
  return controller(name, async (key) => void into.push(`${name} ${key}`));
}

describe("controllers", () => {
  test("run on the server that holds the lease, and start again on the next holder", async () => {
    await using server = await startServer();
    const [seenByOne, seenByTwo]: [string[], string[]] = [[], []];
    const one = new Process(server, [noted(seenByOne, "x"), noted(seenByOne, "y")]);
    await server.world.advance(0);
    await using two = new Process(server, [noted(seenByTwo, "x"), noted(seenByTwo, "y")], { identity: "two" });
    await server.world.advance(10_000);
    expect([one.manager.isLeading(), two.manager.isLeading()]).toEqual([true, false]);
    expect([seenByOne, seenByTwo]).toEqual([["x a", "y a"], []]);
    await one.stop();
    expect(one.manager.states().map(({ isRunning }) => isRunning)).toEqual([false, false]);
    await server.world.advance(10_000);
    expect([one.manager.isLeading(), two.manager.isLeading()]).toEqual([false, true]);
    expect(seenByTwo).toEqual(["x a", "y a"]);
    expect(two.metric('leader_election_master_status{name="test-manager"}')).toBe(1);
    expect(one.metric('leader_election_master_status{name="test-manager"}')).toBe(0);
  });

  test("read the API through informers that are created for each term", async () => {
    await using server = await startServer();
    const { clock } = server.world;
    const client = createClient({
      transport: server.server.transport,
      clock,
      random: server.world.randomFor("client"),
    });
    const seen: string[] = [];
    const type = { group: "", version: "v1", resource: "configmaps", namespaced: true };
    const spec: ControllerSpec = {
      name: "x",
      reconcile: async (key) => void seen.push(key),
      sources: () => [informerSource(client.informer(type, { namespace: "default" }))],
    };
    const path = "/api/v1/namespaces/default/configmaps";
    await server.create(path, { metadata: { name: "before" } });
    await using process = new Process(server, [spec]);
    await server.world.advance(1_000);
    expect(seen.splice(0)).toContain("default/before");
    await server.create(path, { metadata: { name: "during" } });
    await server.world.advance(0);
    expect(seen.splice(0)).toEqual(["default/during"]);
    process.host.pause();
    await server.world.advance(20_000);
    process.host.resume();
    await server.world.advance(20_000);
    expect(process.manager.isLeading()).toBe(true);
    expect(seen.filter((key) => key === "default/during")).toHaveLength(1);
  });

  test("that are not enabled do not run, and if none is enabled the server does not compete for the lease", async () => {
    await using server = await startServer();
    const seen: string[] = [];
    await using process = new Process(server, [noted(seen, "x"), noted(seen, "y")], { enabled: ["y"] });
    await server.world.advance(0);
    expect(seen).toEqual(["y a"]);
    expect(process.manager.states()).toMatchObject([
      { name: "x", isEnabled: false, isRunning: false },
      { name: "y", isEnabled: true, isRunning: true, hasSynced: true, queueLength: 0 },
    ]);
    expect(process.manager.checks().map(({ name, endpoints }) => [name, endpoints])).toEqual([
      ["controller/y", ["healthz"]],
    ]);
    await process.stop();
    await using none = new Process(server, [noted(seen, "x")], { enabled: [] });
    await server.world.advance(60_000);
    expect(none.manager.isLeading()).toBe(false);
  });

  test("reconcile nothing after a pause in which leadership was lost, even before any timer has run", async () => {
    await using server = await startServer();
    const seen: string[] = [];
    const source = new ManualSource("a");
    await using process = new Process(server, [
      controller(
        "x",
        async (key) => void seen.push(key),
        () => source,
      ),
    ]);
    await server.world.advance(0);
    process.host.pause();
    await server.world.advance(10_000);
    expect(process.manager.isLeading()).toBe(false);
    source.enqueue!("b");
    await server.world.advance(0);
    expect(seen).toEqual(["a"]);
    process.host.resume();
    await server.world.advance(0);
    expect(source.enqueue).toBeUndefined();
  });

  test("whose sources fail are restarted, and other controllers are not affected", async () => {
    await using server = await startServer();
    const seen: string[] = [];
    const sources: ManualSource[] = [];
    const failing = controller(
      "x",
      async (key) => void seen.push(key),
      () => {
        if (sources.length === 1) {
          sources.push(new ManualSource());
          throw new Error("no sources");
        }
        const source = new ManualSource("a");
        sources.push(source);
        return source;
      },
    );
    await using process = new Process(server, [failing, noted(seen, "y")]);
    await server.world.advance(100);
    expect(seen.splice(0)).toEqual(["a", "y a"]);
    sources[0]!.fail("broken");
    await server.world.advance(9_999);
    expect(seen).toEqual([]);
    await server.world.advance(1);
    expect(seen).toEqual(["a"]);
    expect(process.errors).toHaveLength(2);
    expect(process.manager.isLeading()).toBe(true);
  });
});

describe("a controller is not healthy", () => {
  test("if its sources have not synced for two minutes, however often it was restarted", async () => {
    await using server = await startServer();
    const spec = controller(
      "x",
      async () => {},
      () => {
        throw new Error("no sources");
      },
    );
    await using process = new Process(server, [spec]);
    await server.world.advance(120_000);
    expect(process.problem).toBeUndefined();
    await server.world.advance(1);
    expect(process.problem).toBe("it has waited 120 s for its sources to sync");
    process.host.passage = () => ({ thereMs: 0, backMs: 0, isLost: "there" });
    await server.world.advance(10_000);
    expect(process.manager.isLeading()).toBe(false);
    expect(process.problem).toBeUndefined();
  });

  test("if its last 20 reconciles failed, and is healthy after the next success", async () => {
    await using server = await startServer();
    let source = new ManualSource();
    const reconcile: Reconcile = async (key) => {
      if (key !== "good") throw new Error(`${key} is broken`);
    };
    await using process = new Process(server, [controller("x", reconcile, () => (source = new ManualSource()))]);
    await server.world.advance(0);
    for (let number = 1; number <= 10; number++) source.enqueue!(`bad-${number}`);
    await server.world.advance(0);
    expect(process.problem).toBeUndefined();
    await server.world.advance(5);
    expect(process.problem).toMatch(/^its last 20 reconciles failed, the last one with: bad-\d+ is broken$/);
    expect(process.manager.states()[0]).toMatchObject({ failuresInRow: 20, lastError: expect.any(String) });
    source.enqueue!("good");
    await server.world.advance(0);
    expect(process.problem).toBeUndefined();
  });

  test("if it is still running a minute after leadership was lost; until it has stopped, this server cannot lead", async () => {
    await using server = await startServer();
    const reconcile: Reconcile = () => sleep(server.world.clock, 200_000).then(() => undefined);
    await using process = new Process(server, [controller("x", reconcile)]);
    await server.world.advance(1_000);
    process.host.passage = () => ({ thereMs: 0, backMs: 0, isLost: "there" });
    await server.world.advance(4_000);
    process.host.passage = () => ({ thereMs: 0, backMs: 0, isLost: "nowhere" });
    await server.world.advance(60_000);
    expect(process.problem).toBeUndefined();
    await server.world.advance(10_000);
    expect(process.problem).toBe("it was stopped 70 s ago and is still running");
    await server.world.advance(140_000);
    expect(process.manager.isLeading()).toBe(true);
    expect(process.problem).toBeUndefined();
  });
});

test("the work of controllers is counted under Kubernetes' metric names", async () => {
  await using server = await startServer();
  const results = ["fail", "again", "wait"];
  const reconcile: Reconcile = async () => {
    const result = results.shift();
    if (result === "fail") throw new Error("broken");
    if (result === "again") return { requeueAfterMs: 1_000 };
    if (result === "wait") await sleep(server.world.clock, 5_000);
    return undefined;
  };
  let source = new ManualSource();
  await using process = new Process(server, [controller("x", reconcile, () => (source = new ManualSource("a")))]);
  await server.world.advance(3_000);
  source.enqueue!("b");
  source.enqueue!("c");
  expect(process.metric('workqueue_depth{name="x"}')).toBe(2);
  await server.world.advance(10_000);
  expect(process.metric('workqueue_depth{name="x"}')).toBe(0);
  expect(process.metric('workqueue_adds_total{name="x"}')).toBe(5);
  expect(process.metric('workqueue_retries_total{name="x"}')).toBe(1);
  expect(process.metric('workqueue_work_duration_seconds_count{name="x"}')).toBe(5);
  expect(process.metric('workqueue_work_duration_seconds_sum{name="x"}')).toBeCloseTo(5);
  expect(process.metric('workqueue_work_duration_seconds_bucket{name="x",le="1"}')).toBe(4);
  const reconciles = "evenkeel_controller_reconciles_total";
  expect(process.metric(`${reconciles}{controller="x",result="error"}`)).toBe(1);
  expect(process.metric(`${reconciles}{controller="x",result="requeue"}`)).toBe(1);
  expect(process.metric(`${reconciles}{controller="x",result="success"}`)).toBe(3);
});
