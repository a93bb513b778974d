import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  Watch,
  type KubernetesObject,
  type V1ConfigMap,
  type V1Deployment,
  type V1ListMeta,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { disposableDirectory, startEvenkeel, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { configMap } from "./manifests.ts";

const NAMESPACE = "default";
const CONFIG_MAPS = `/api/v1/namespaces/${NAMESPACE}/configmaps`;

let server: Evenkeel;
let config: KubeConfig;
beforeAll(async () => {
  server = await startEvenkeel();
  config = configOf(server);
});
afterAll(() => server[Symbol.asyncDispose]());

function configOf({ kubeconfig }: Evenkeel): KubeConfig {
  const loaded = new KubeConfig();
  loaded.loadFromFile(kubeconfig);
  return loaded;
}

function inDefault(name: string, data: Record<string, string> = {}): V1ConfigMap & { metadata: { name: string } } {
  return { ...configMap(name, data), metadata: { name, namespace: NAMESPACE } };
}

describe("the object API of client-node", () => {
  test("creates, reads, replaces, lists and deletes objects of kinds that it discovers", async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const made = await objects.create(inDefault("whole", { a: "1" }));
    expect(made.metadata.resourceVersion).toMatch(/^\d+$/);
    const read = await objects.read<V1ConfigMap>(inDefault("whole"));
    expect(read.data).toEqual({ a: "1" });
    expect(read.metadata!.creationTimestamp).toBeInstanceOf(Date);
    const replaced = await objects.replace<V1ConfigMap>({ ...read, data: { a: "2" } });
    expect(replaced.data).toEqual({ a: "2" });
    await expect(objects.replace<V1ConfigMap>({ ...read, data: { a: "3" } })).rejects.toMatchObject({ code: 409 });
    const list = await objects.list(
      "v1",
      "ConfigMap",
      NAMESPACE,
      undefined,
      undefined,
      undefined,
      "metadata.name=whole",
    );
    expect(list.items.map((item) => item.metadata?.name)).toEqual(["whole"]);
    expect(await objects.delete(inDefault("whole"))).toMatchObject({ status: "Success", details: { name: "whole" } });
    await expect(objects.read(inDefault("whole"))).rejects.toMatchObject({ code: 404 });
  });

  test("patches by JSON patch and by merge patch", async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    await objects.create(inDefault("patched", { a: "1" }));
    const patch = (spec: KubernetesObject, strategy: PatchStrategy): Promise<V1ConfigMap> =>
      objects.patch<V1ConfigMap>(spec, undefined, undefined, undefined, undefined, strategy);
    const merged = await patch(inDefault("patched", { b: "2" }), PatchStrategy.MergePatch);
    expect(merged.data).toEqual({ a: "1", b: "2" });
    const core = config.makeApiClient(CoreV1Api);
    // This API sends a list as a JSON patch by default.
    const body = [{ op: "remove", path: "/data/a" }];
    const patched = await core.patchNamespacedConfigMap({ name: "patched", namespace: NAMESPACE, body });
    expect(patched.data).toEqual({ b: "2" });
    await objects.delete(inDefault("patched"));
  });
});

describe("the typed APIs of client-node", () => {
  test("create objects, page through a list and delete the collection", async () => {
    const core = config.makeApiClient(CoreV1Api);
    for (const name of ["page-a", "page-b", "page-c"])
      await core.createNamespacedConfigMap({
        namespace: NAMESPACE,
        body: { metadata: { name, labels: { paged: "yes" } } },
      });
    const names: string[] = [];
    let next = {};
    do {
      const page = await core.listNamespacedConfigMap({
        namespace: NAMESPACE,
        labelSelector: "paged",
        limit: 2,
        ...next,
      });
      names.push(...page.items.map((item) => item.metadata!.name!));
      next = tokenOf(page.metadata);
    } while (Object.keys(next).length > 0);
    expect(names).toEqual(["page-a", "page-b", "page-c"]);
    await core.deleteCollectionNamespacedConfigMap({ namespace: NAMESPACE, labelSelector: "paged" });
    const left = await core.listConfigMapForAllNamespaces({ labelSelector: "paged" });
    expect(left.items).toEqual([]);
  });

  test("create and read a Deployment, and write its status and scale", async () => {
    const apps = config.makeApiClient(AppsV1Api);
    const target = { name: "typed", namespace: NAMESPACE };
    const body: V1Deployment = {
      metadata: { name: "typed" },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: "typed" } },
        template: {
          metadata: { labels: { app: "typed" } },
          spec: { containers: [{ name: "main", image: "nginx:1" }] },
        },
      },
    };
    const made = await apps.createNamespacedDeployment({ namespace: NAMESPACE, body });
    expect(made.metadata?.generation).toBe(1);
    const reported = await apps.replaceNamespacedDeploymentStatus({
      ...target,
      body: { ...made, status: { observedGeneration: 1, replicas: 2 } },
    });
    expect(reported.status).toMatchObject({ observedGeneration: 1, replicas: 2 });
    const scale = await apps.readNamespacedDeploymentScale(target);
    expect({ spec: scale.spec?.replicas, status: scale.status?.replicas }).toEqual({ spec: 2, status: 2 });
    await apps.replaceNamespacedDeploymentScale({ ...target, body: { ...scale, spec: { replicas: 5 } } });
    const read = await apps.readNamespacedDeployment(target);
    expect(read.spec?.replicas).toBe(5);
    expect(read.spec?.template.spec?.containers[0]?.image).toBe("nginx:1");
    await apps.deleteNamespacedDeployment({ ...target, propagationPolicy: "Background" });
    await expect(apps.readNamespacedDeployment(target)).rejects.toMatchObject({ code: 404 });
  });
});

/** The continue token of a list. client-node adds an underscore, because `continue` is a reserved word. */
function tokenOf({ _continue }: V1ListMeta = {}): { _continue?: string } {
  return _continue === undefined || _continue === "" ? {} : { _continue };
}

/** Events in the order in which they arrive; a test can wait until certain events have arrived. */
class Seen {
  readonly #events: string[] = [];
  readonly #waiting = new Set<() => void>();

  add(event: string): void {
    this.#events.push(event);
    for (const wake of this.#waiting) wake();
  }

  async until(...expected: string[]): Promise<void> {
    while (!expected.every((event) => this.#events.includes(event)))
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  get events(): readonly string[] {
    return this.#events;
  }
}

describe("client-node", () => {
  test("watches each change after a resource version until the watch is aborted", async () => {
    const core = config.makeApiClient(CoreV1Api);
    const { metadata } = await core.listNamespacedConfigMap({ namespace: NAMESPACE });
    const seen = new Seen();
    const ended = Promise.withResolvers<unknown>();
    const watch = await new Watch(config).watch(
      CONFIG_MAPS,
      { resourceVersion: metadata?.resourceVersion, allowWatchBookmarks: true, fieldSelector: "metadata.name=watched" },
      (phase, object: V1ConfigMap) => seen.add(`${phase} ${object.metadata?.name} ${object.data?.["a"]}`),
      ended.resolve,
    );
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("unwatched") });
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("watched", { a: "1" }) });
    await core.replaceNamespacedConfigMap({
      name: "watched",
      namespace: NAMESPACE,
      body: configMap("watched", { a: "2" }),
    });
    await core.deleteNamespacedConfigMap({ name: "watched", namespace: NAMESPACE });
    await seen.until("DELETED watched 2");
    expect(seen.events).toEqual(["ADDED watched 1", "MODIFIED watched 2", "DELETED watched 2"]);
    watch.abort();
    await ended.promise;
  });

  test("ends a rejected watch with the status code of the response", async () => {
    const rejected = async (path: string): Promise<unknown> => {
      const ended = Promise.withResolvers<unknown>();
      await new Watch(config).watch(path, {}, () => {}, ended.resolve);
      return ended.promise;
    };
    expect(await rejected("/api/v1/nonsense")).toMatchObject({ statusCode: 404 });
    expect(await rejected(`${CONFIG_MAPS}?fieldSelector=nonsense%3D1`)).toMatchObject({ statusCode: 400 });
  });

  test("has an informer that watches its objects, reports an error when the server is down, and catches up when it is started again", async () => {
    using directory = disposableDirectory();
    await using first = await startEvenkeel({ dataDir: directory.path, flags: ["--controllers="] });
    const before = configOf(first);
    const core = before.makeApiClient(CoreV1Api);
    const seen = new Seen();
    const list = (): ReturnType<CoreV1Api["listNamespacedConfigMap"]> =>
      core.listNamespacedConfigMap({ namespace: NAMESPACE });
    const informer = makeInformer<V1ConfigMap>(before, CONFIG_MAPS, list);
    for (const verb of ["add", "update", "delete"] as const)
      informer.on(verb, (object) => seen.add(`${verb} ${object.metadata?.name}`));
    informer.on("error", () => seen.add("error"));
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("early") });
    await informer.start();
    await core.createNamespacedConfigMap({ namespace: NAMESPACE, body: configMap("late") });
    await core.replaceNamespacedConfigMap({
      name: "late",
      namespace: NAMESPACE,
      body: configMap("late", { a: "2" }),
    });
    await core.deleteNamespacedConfigMap({ name: "early", namespace: NAMESPACE });
    await seen.until("delete early");
    expect(seen.events).toEqual(["add early", "add late", "update late", "delete early"]);

    expect(await first.kill9()).toEqual({ code: null, signal: "SIGKILL" });
    await seen.until("error");
    const flags = ["--controllers=", "--secure-port", String(first.port)];
    await using second = await startEvenkeel({ dataDir: directory.path, flags });
    await second.request("POST", CONFIG_MAPS, configMap("afterwards"));
    await informer.start();
    await seen.until("add afterwards");
    const known = informer.list(NAMESPACE).map((object) => object.metadata?.name);
    expect(new Set(known)).toEqual(new Set(["afterwards", "late"]));
    await informer.stop();
  });
});
