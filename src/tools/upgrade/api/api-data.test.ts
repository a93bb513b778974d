import { describe, expect, test } from "vitest";
import { startServer } from "../../../../test/api/start.ts";
import { apiOf } from "../../../../test/testing/tools/upgrade/api-of-server.ts";
import type { StoredItem } from "../stored-data.ts";
import { openApiData, type ApiData } from "./api-data.ts";

const MARKER = "secret-value-that-must-not-appear";
const REQUEST = { prefix: "/registry/", signal: new AbortController().signal, onProgress: () => {} };

async function itemsOf(data: ApiData): Promise<Map<string, string>> {
  const items = new Map<string, string>();
  await data.walk(REQUEST, ({ key, value }: StoredItem) => void items.set(key, value.toString("utf8")));
  return items;
}

const secret = { metadata: { name: "s" }, stringData: { password: MARKER } };

describe("the objects of an API as stored data", () => {
  test("have the keys under which kube-apiserver stores them, each object once", async () => {
    const server = await startServer({ release: "1.33" });
    await server.create("/api/v1/namespaces/default/configmaps", { metadata: { name: "c" } });
    await server.create("/api/v1/namespaces/default/services", {
      metadata: { name: "s" },
      spec: { ports: [{ port: 80 }] },
    });
    await server.create("/apis/apps/v1/namespaces/default/deployments", {
      metadata: { name: "d" },
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } },
      },
    });
    const items = await itemsOf(await openApiData(apiOf(server)));
    const stored = new Set<string>();
    const { items: kept } = await server.kv.range({ start: "/registry/", end: "/registry0" });
    for (const { key } of kept) stored.add(key);
    for (const name of [
      "configmaps/default/c",
      "deployments/default/d",
      "namespaces/default",
      "services/specs/default/s",
    ])
      expect([...items.keys()]).toContain(`/registry/${name}`);
    expect([...items.keys()].filter((key) => !stored.has(key))).toEqual([]);
    expect(JSON.parse(items.get("/registry/deployments/default/d")!)).toMatchObject({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d", managedFields: [{}] },
    });
  });

  test("include no data of Secrets", async () => {
    const server = await startServer({});
    await server.create("/api/v1/namespaces/default/secrets", secret);
    const items = await itemsOf(await openApiData(apiOf(server)));
    expect([...items.keys()]).toContain("/registry/secrets/default/s");
    expect([...items.values()].join("")).not.toContain(MARKER);
    expect([...items.values()].join("")).not.toContain(Buffer.from(MARKER).toString("base64"));
  });

  test("include CRDs with their specification, and instances under the keys of custom resources", async () => {
    const server = await startServer({});
    await server.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      metadata: { name: "widgets.shop.example" },
      spec: {
        group: "shop.example",
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    });
    await server.world.advance(1_000);
    await server.create("/apis/shop.example/v1/namespaces/default/widgets", {
      apiVersion: "shop.example/v1",
      kind: "Widget",
      metadata: { name: "w" },
    });
    const items = await itemsOf(await openApiData(apiOf(server)));
    expect([...items.keys()]).toContain("/registry/shop.example/widgets/default/w");
    expect(
      JSON.parse(items.get("/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.shop.example")!),
    ).toMatchObject({ spec: { group: "shop.example" } });
  });

  test("are incomplete if the user may not list a resource, and the resource is named", async () => {
    const server = await startServer({});
    const text = JSON.stringify({ kind: "Status", status: "Failure", reason: "Forbidden", code: 403, message: "no" });
    const requests = apiOf(server, ({ target }) =>
      target.startsWith("/api/v1/secrets") ? { status: 403, text } : undefined,
    );
    const data = await openApiData(requests);
    await itemsOf(data);
    expect(data.notRead).toEqual(["secrets (the user may not list them)"]);
  });

  test("are read page by page", async () => {
    const server = await startServer({});
    const pages: string[] = [];
    const names = ["a", "b", "c"].map((name) => ({ metadata: { name, namespace: "default" } }));
    const requests = apiOf(server, ({ target }) => {
      if (!target.startsWith("/api/v1/configmaps")) return undefined;
      pages.push(target);
      const next = pages.length < 3 ? { continue: `token/${pages.length}` } : {};
      return { status: 200, text: JSON.stringify({ metadata: next, items: [names[pages.length - 1]] }) };
    });
    const items = await itemsOf(await openApiData(requests));
    expect(pages).toEqual([
      "/api/v1/configmaps?limit=500",
      "/api/v1/configmaps?limit=500&continue=token%2F1",
      "/api/v1/configmaps?limit=500&continue=token%2F2",
    ]);
    expect([...items.keys()].filter((key) => key.startsWith("/registry/configmaps/default/"))).toHaveLength(3);
  });

  test("cannot be read without valid credentials", async () => {
    const server = await startServer({});
    const requests = apiOf(server, () => ({ status: 401, text: "" }));
    await expect(openApiData(requests)).rejects.toThrow(
      "https://cluster.example could not authenticate the request: use another kubeconfig, or give --token",
    );
  });
});
