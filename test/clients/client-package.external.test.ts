/** Tests the built client package with both major versions of client-node. */
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ensureBuilt, ROOT } from "../smoke/built.ts";
import { disposableDirectory, startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { describeClientNode, type Loaded } from "./client-package-suite.ts";
import { EARLY, ImmediateClock, ready, Stub, type ClientNode, type KubeConfig } from "./client-package-stub.ts";
import { configMap } from "./manifests.ts";

async function load(majorsModule: string): Promise<Loaded> {
  ensureBuilt();
  const built = (await import(join(ROOT, "dist/client/client-node.js"))) as Pick<Loaded, "withEvenkeel">;
  const clientNode = (await import(majorsModule)) as ClientNode;
  return { clientNode, withEvenkeel: built.withEvenkeel };
}

const MAJORS: [name: string, load: () => Promise<Loaded>][] = [
  ["client-node 1.x", () => load("client-node-1")],
  ["client-node 2.x", () => load("@kubernetes/client-node")],
];

for (const [name, loadMajor] of MAJORS) describeClientNode(name, loadMajor);

test("in 2.x a watch that waits for its server longer than its request timeout ends with a TimeoutError and sends no further request", async () => {
  const { clientNode, withEvenkeel } = await load("@kubernetes/client-node");
  await using stub = await Stub.start(EARLY);
  const config = stub.configFor(clientNode);
  const clock = new ImmediateClock();
  clock.onWait = () => new Promise<never>(() => {});
  withEvenkeel(config, { ifReadyHeader: true, clock });
  const watch = new clientNode.Watch(config);
  Object.assign(watch, { requestTimeoutMs: 500 });
  const ended = await new Promise((resolve) => void watch.watch("/api/v1/pods", {}, () => {}, resolve));
  expect(ended).toMatchObject({ name: "TimeoutError" });
  expect(stub.received.length).toBeLessThan(2);
});

test("in 2.x requests with a config without certificates, whose connections undici opens, are retried, too", async () => {
  const { clientNode, withEvenkeel } = await load("@kubernetes/client-node");
  await using stub = await Stub.start(EARLY, ready({ items: [] }), EARLY, {
    ...ready({ type: "ADDED" }),
    isOpen: true,
  });
  const place = Symbol.for("undici.globalDispatcher.2");
  const before: unknown = Reflect.get(globalThis, place);
  // Makes undici trust the stub, as it would trust a certificate of the system's CAs.
  const context = new clientNode.RequestContext("https://127.0.0.1", clientNode.HttpMethod.GET);
  await stub.configFor(clientNode).applySecurityAuthentication(context);
  Reflect.set(globalThis, place, context.getDispatcher());
  try {
    const config = stub.configFor(clientNode);
    Object.assign(config.getCurrentCluster()!, { caData: undefined });
    const clock = new ImmediateClock();
    withEvenkeel(config, { ifReadyHeader: true, clock });
    await config.makeApiClient(clientNode.CoreV1Api).listPodForAllNamespaces();
    const seen = Promise.withResolvers<unknown>();
    await new clientNode.Watch(config).watch("/api/v1/pods", {}, seen.resolve, seen.resolve);
    expect(clock.waitsMs).toEqual([5_000, 5_000]);
  } finally {
    Reflect.set(globalThis, place, before);
  }
});

describe.each(MAJORS)("a real server with %s", (_name, loadMajor) => {
  const NAMESPACE = "default";
  const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
  const IF_READY = ["--controllers=", "--startup-send-retry-after-if-not-initialized"];

  function configOf({ kubeconfig }: Evenkeel, { KubeConfig: Config }: ClientNode): KubeConfig {
    const config = new Config();
    config.loadFromFile(kubeconfig);
    return config;
  }

  test("reports no readiness without the option, and reports that it is ready with the option", async () => {
    const { clientNode, withEvenkeel } = await loadMajor();
    for (const [flags, expected] of [
      [["--controllers="], "not understood"],
      [IF_READY, true],
    ] as const) {
      await using server = await startEvenkeel({ flags });
      const config = configOf(server, clientNode);
      const evenkeel = withEvenkeel(config, { ifReadyHeader: true });
      const core = config.makeApiClient(clientNode.CoreV1Api);
      await core.listNamespacedConfigMap({ namespace: NAMESPACE });
      expect(evenkeel.ready).toBe(expected);
      await expect(core.readNamespacedConfigMap({ name: "absent", namespace: NAMESPACE })).rejects.toMatchObject({
        code: 404,
      });
      expect(evenkeel.ready).toBe(expected);
    }
  });

  test("serves a write, a list and a watch that were sent before it started", async () => {
    const { clientNode, withEvenkeel } = await loadMajor();
    using directory = disposableDirectory();
    const first = await startEvenkeel({ dataDir: directory.path, flags: IF_READY });
    const config = configOf(first, clientNode);
    await first.stop();
    const evenkeel = withEvenkeel(config, { ifReadyHeader: true });
    const core = config.makeApiClient(clientNode.CoreV1Api);
    const seen = Promise.withResolvers<unknown>();
    const watching = new clientNode.Watch(config).watch(
      CONFIG_MAPS,
      { fieldSelector: "metadata.name=early" },
      seen.resolve,
      seen.reject,
    );
    const listing = core.listNamespacedConfigMap({ namespace: NAMESPACE });
    const making = core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("early") });
    const flags = [...IF_READY, "--secure-port", String(first.port)];
    await using second = await startEvenkeel({ dataDir: directory.path, flags });
    expect(second.port).toBe(first.port);
    expect((await making).metadata?.name).toBe("early");
    await listing;
    expect(await seen.promise).toBe("ADDED");
    expect(evenkeel.ready).toBe(true);
    (await watching).abort();
  });
});
