import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { endpointDefinition } from "./conversion-webhook-server.ts";
import { startServer, type Json } from "./start.ts";

const STATUS = "/evenkeel/v1/status";

function route(verb: string, path: string, contentType?: string): string {
  const query = new URLSearchParams({ verb, path, ...(contentType === undefined ? {} : { contentType }) });
  return `/evenkeel/v1/route?${query.toString()}`;
}

describe("the status of a cluster", () => {
  test("of a single server lists the server and its versions, and no departed server", async () => {
    await using api = await startServer({ release: "1.36", peers: { serverId: "one" } });
    const { status, body } = await api.get(STATUS);
    expect(status).toBe(200);
    expect(body).toMatchObject({ kind: "ClusterStatus", server: "one", isSynced: true, departed: [] });
    expect(body.fence).toBeUndefined();
    expect(body.servers).toMatchObject([
      { id: "one", isSelf: true, release: "1.36", compatibilityVersion: "1.36", isReachable: true, isDescribed: true },
    ]);
    expect(body.servers[0].onlyServes).toContainEqual(expect.objectContaining({ groupVersion: "apps/v1" }));
  });

  test("names the missing flag if the server cannot call peers, and reports a disabled proxy", async () => {
    await using api = await startServer({ release: "1.36" });
    expect((await api.get(STATUS)).body.proxy).toEqual({ isEnabled: true, missingFlag: "--peer-ca-file" });
    await using off = await startServer({ featureGates: ["UnknownVersionInteroperabilityProxy=false"] });
    expect((await off.get(STATUS)).body.proxy.isEnabled).toBe(false);
  });

  test("is served only to authorized users and only for GET", async () => {
    await using api = await startServer({ access: {}, tokenFile: "secret,ann,ann,system:masters\nother,jane,jane" });
    expect((await api.call("GET", STATUS, undefined, { asClient: true })).status).toBe(403);
    const asJane = { asClient: true, headers: { authorization: "Bearer other" } };
    expect((await api.call("GET", STATUS, undefined, asJane)).status).toBe(403);
    const headers = { authorization: "Bearer secret" };
    expect((await api.call("GET", STATUS, undefined, { asClient: true, headers })).status).toBe(200);
    expect((await api.call("POST", STATUS, {}, { asClient: true, headers })).status).toBe(405);
  });

  test("is served at its exact path only, which the root path lists", async () => {
    await using api = await startServer();
    for (const path of ["/evenkeel", "/evenkeel/v1", "/evenkeel/v2/status", "/evenkeel/v1/status/x"])
      expect((await api.get(path)).status).toBe(404);
    expect((await api.get("/")).body.paths).toContain(STATUS);
  });
});

test("every server names a resource that the garbage collector of the leader cannot watch, until it can", async () => {
  const world = new World({ seed: 1 });
  const controllers = ["garbage-collector-controller"];
  await using leader = await startServer({ world, controllers, peers: { serverId: "one" } });
  await using other = await startServer({ world, controllers: [], peers: { serverId: "two" } });
  const waits = async (): Promise<Json[]> =>
    (await other.get(STATUS)).body.waitingFor.filter(({ kind }: Json) => kind === "resource");
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const definition = endpointDefinition({ url: "https://127.0.0.1:1/convert", caBundle: "" });
  expect((await leader.create(definitions, definition)).status).toBe(201);
  await world.advance(2_000);
  const endpoint = { apiVersion: "net.example.com/v1", kind: "Endpoint", metadata: { name: "a" }, spec: { host: "a" } };
  expect((await leader.create("/apis/net.example.com/v1/namespaces/default/endpoints", endpoint)).status).toBe(201);
  await world.advance(20_000);
  expect(await waits()).toEqual([
    {
      kind: "resource",
      name: "endpoints.net.example.com",
      since: expect.stringMatching(/^20.*Z$/),
      because: expect.stringMatching(/^the garbage collector cannot watch it: HTTP 5\d\d: /),
    },
  ]);
  const fixed = { spec: { conversion: { strategy: "None", webhook: null } } };
  expect((await leader.mergePatch(`${definitions}/endpoints.net.example.com`, fixed)).status).toBe(200);
  await world.advance(60_000);
  expect(await waits()).toEqual([]);
});

describe("an explained route (/evenkeel/v1/route)", () => {
  test.each([
    ["get", "/api/v1/namespaces/default/pods/x", { verb: "get", resource: "pods", name: "x" }, "served-here"],
    ["get", "/apis/batch/v1/namespaces/default/jobs", { verb: "list", resource: "jobs" }, "served-here"],
    ["watch", "/api/v1/pods", { verb: "watch" }, "served-here"],
    ["DELETE", "/api/v1/namespaces/default/pods", { verb: "deletecollection" }, "served-here"],
    ["post", "/apis/nope.io/v1/things", { verb: "create", group: "nope.io" }, "alone"],
    ["create", "/api/v1/componentstatuses", { verb: "create" }, "verb-not-served"],
    ["patch", "/api/v1/namespaces/default/pods/x", { contentType: "application/merge-patch+json" }, "served-here"],
    ["get", "/version", { isResourceRequest: false }, "not-a-resource-request"],
  ])("of %s %s returns the routing decision", async (verb, path, request, rule) => {
    await using api = await startServer({ release: "1.36" });
    const { status, body } = await api.get(route(verb, path));
    expect(status).toBe(200);
    expect(body.request).toMatchObject(request);
    expect(body.route).toMatchObject({ kind: "local", rule });
    expect(body.route.sentence).not.toBe("");
  });

  test("of a request with a field selector or a patch type that no server supports reports this requirement", async () => {
    await using api = await startServer({ release: "1.36" });
    const { body } = await api.get(route("list", "/api/v1/pods?fieldSelector=spec.nonsense%3Dx"));
    expect(body.request.needs).toEqual({ kind: "field-selector", labels: ["spec.nonsense"] });
    expect(body.route).toMatchObject({ kind: "local", rule: "nobody-supports-it" });
    const patch = await api.get(route("patch", "/api/v1/namespaces/default/pods/x", "application/none"));
    expect(patch.body.request.needs).toEqual({ kind: "patch-type", patchType: "application/none" });
  });

  test("names no rule if the proxy is disabled", async () => {
    await using api = await startServer({ featureGates: ["UnknownVersionInteroperabilityProxy=false"] });
    const { body } = await api.get(route("get", "/apis/nope.io/v1/things"));
    expect(body.route).toEqual({ kind: "local", reason: expect.stringContaining("is off") });
  });

  test.each([
    ["/evenkeel/v1/route", "verb and path"],
    [route("dance", "/api/v1/pods"), "dance"],
    [route("get", "api/v1/pods"), "slash"],
    [route("get", "/api/v1/%zz"), "decoded"],
    [route("get", `/${"x".repeat(9_000)}`), "at most"],
  ])("at the invalid path %.60s returns 400 with an explanation", async (target, words) => {
    await using api = await startServer();
    const { status, body } = await api.get(target);
    expect([status, body.message]).toEqual([400, expect.stringContaining(words)]);
  });
});
