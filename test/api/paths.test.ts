import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, header, startServer } from "./start.ts";

const NOT_FOUND = "the server could not find the requested resource";
const NOT_ALLOWED = "the server does not allow this method on the requested resource";

describe("a request for", () => {
  test.each([
    "/nope",
    "/apis/nope.example.com",
    "/apis/nope.example.com/v1",
    "/apis/nope.example.com/v1/things",
    "/readyz/nonexistent",
    "/version/x",
    "/metrics/x",
    "/metrics/",
    "/healthz/",
    "/livez/ping/",
    "/openapi/v2/",
    "//api",
    "//api/v1/pods",
  ])("the path %s, which is outside every API, returns a plain 404", async (target) => {
    await using api = await startServer();
    const response = await api.get(target);
    expect(response.status).toBe(404);
    expect(response.text).toBe("404 page not found\n");
    expect(header(response, "content-type")).toContain("text/plain");
  });

  test.each([
    "/api/v2",
    "/apis/apps/v9",
    "/api/v1/nothings",
    "/apis/apps/v1/nothings/x",
    "/api/v1/namespaces/default/nothings",
    "/api/v1/namespaces/default/nodes",
    "/api/v1/configmaps/x",
    "/apis/apps/v9/namespaces/default/deployments",
    `${CONFIG_MAPS}/x/bogus`,
    "/api/v1/namespaces/default/status/more",
    "/api/v1//pods",
    "/apis/apps/v1//deployments",
    "/api/v1/bindings",
    "/apis/authorization.k8s.io/v1/localsubjectaccessreviews",
  ])("the unserved resource %s returns a 404 Status", async (target) => {
    await using api = await startServer();
    const response = await api.get(target);
    expect(response.status).toBe(404);
    expect(response.body).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: NOT_FOUND,
      reason: "NotFound",
      details: {},
      code: 404,
    });
  });

  test.each([
    ["PUT", CONFIG_MAPS],
    ["PATCH", CONFIG_MAPS],
    ["POST", `${CONFIG_MAPS}/x`],
    ["OPTIONS", CONFIG_MAPS],
    ["BREW", `${CONFIG_MAPS}/x`],
    ["POST", "/api/v1/configmaps"],
    ["POST", "/api/v1/watch/namespaces/default/configmaps"],
    ["DELETE", "/api/v1/watch/namespaces/default/configmaps/x"],
    ["POST", "/version"],
    ["HEAD", "/version"],
    ["POST", "/api"],
    ["HEAD", "/api/v1"],
    ["DELETE", "/apis/apps/v1"],
    ["HEAD", CONFIG_MAPS],
    ["HEAD", `${CONFIG_MAPS}/x`],
    ["HEAD", "/api/v1/namespaces/default/pods/x/log"],
    ["POST", "/api/v1/namespaces/default/status"],
    ["DELETE", "/api/v1/namespaces/default/finalize"],
  ])("%s %s returns 405", async (method, target) => {
    await using api = await startServer();
    const response = await api.call(method, target, "{}");
    expect(response.status).toBe(405);
    expect(response.body).toMatchObject({ message: NOT_ALLOWED, reason: "MethodNotAllowed" });
  });

  test.each([
    ["POST", "/apis", 200],
    ["POST", "/apis/apps", 200],
    ["HEAD", "/healthz", 200],
    ["GET", "/api/", 200],
    ["GET", "/version/", 200],
    ["GET", "/index.html", 200],
    ["OPTIONS", "/api/v1/nodes/x/proxy", 404],
    ["HEAD", "/api/v1/nodes/x/proxy", 404],
  ])("%s %s returns %i", async (method, target, status) => {
    await using api = await startServer();
    expect((await api.call(method, target, "{}")).status).toBe(status);
  });

  test("any path gets a Cache-Control header", async () => {
    await using api = await startServer();
    for (const target of ["/healthz", "/nope", "/metrics", "/openapi/v3", "/openapi/v3/nope", "/api", "/api/v1/nopes"])
      expect([target, header(await api.get(target), "cache-control")]).toEqual([target, "no-cache, private"]);
  });

  test("a percent-encoded name finds the object", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a.b"));
    expect((await api.get(`${CONFIG_MAPS}/a%2Eb`)).status).toBe(200);
  });

  test.each(["/api/v1/namespaces/%zz", "/api/v1/namespaces/%ff%fe"])(
    "the path %s, which cannot be decoded, returns 400",
    async (target) => {
      await using api = await startServer();
      expect((await api.get(target)).status).toBe(400);
    },
  );

  test.each([
    "/api/v1/namespaces/default/configmaps/..%2Fsecrets%2Fs",
    "/api/v1/namespaces/../secrets",
    "/api/v1/namespaces/default/configmaps/../../../kube-system/configmaps/x",
  ])("the path %s does not reach another namespace or resource", async (target) => {
    await using api = await startServer();
    await api.create("/api/v1/namespaces/default/secrets", { metadata: { name: "s" } });
    await api.create("/api/v1/namespaces/kube-system/configmaps", configMap("x"));
    const response = await api.get(target);
    expect(response.status === 200 ? response.body.items : []).toEqual([]);
  });

  test("an unsupported media type returns 406", async () => {
    await using api = await startServer();
    const response = await api.get(CONFIG_MAPS, { accept: "text/html" });
    expect(response.status).toBe(406);
    expect(response.body.reason).toBe("NotAcceptable");
  });

  test.each(["*/*", "application/*", "text/html,application/json;q=0.1", ""])(
    "a list with Accept %s returns JSON",
    async (accept) => {
      await using api = await startServer();
      const response = await api.get(CONFIG_MAPS, { accept });
      expect(response.status).toBe(200);
      expect(header(response, "content-type")).toBe("application/json");
    },
  );

  test("the root returns the available paths", async () => {
    await using api = await startServer();
    expect((await api.get("/")).body.paths).toEqual(expect.arrayContaining(["/api", "/apis", "/healthz", "/version"]));
  });

  test("the token subresource of a server that issues no tokens returns 405 with an explanation, not 404", async () => {
    await using api = await startServer();
    await api.create("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "s" } });
    const response = await api.create("/api/v1/namespaces/default/serviceaccounts/s/token", {});
    expect(response.status).toBe(405);
    expect(response.body.message).toContain("Evenkeel");
  });
});

describe("the text of a response", () => {
  test.each([
    ["an object", "/api/v1/namespaces/default"],
    ["a list", "/api/v1/namespaces"],
    ["a Status", "/api/v1/namespaces/none"],
    ["discovery", "/apis"],
    ["resource discovery", "/api/v1"],
  ])("is one line for %s; with the parameter pretty, it is indented and has no final newline", async (_, target) => {
    await using api = await startServer();
    const [compact, indented] = [await api.get(target), await api.get(`${target}?pretty=true`)];
    expect(compact.text).toBe(`${JSON.stringify(compact.body)}\n`);
    expect(indented.text).toBe(JSON.stringify(indented.body, undefined, 2));
  });

  test.each(["/version", "/", "/version?pretty=false"])("is always indented for %s", async (target) => {
    await using api = await startServer();
    const { text, body } = await api.get(target, { "user-agent": "kubectl" });
    expect(text).toBe(JSON.stringify(body, undefined, 2));
  });

  test.each<readonly [target: string, status: number]>([
    ["/api/v1/namespaces", 406],
    ["/api/v1/nothings", 404],
    ["/version", 406],
  ])(
    "is always indented for an error at %s if the client accepts no format of the server",
    async (target, expected) => {
      await using api = await startServer();
      const { status, text, body } = await api.get(target, { accept: "image/png" });
      expect(status).toBe(expected);
      expect(text).toBe(JSON.stringify(body, undefined, 2));
      const accepted = await api.get(target, { accept: "image/png,application/json" });
      const spaces = target === "/version" ? 2 : undefined;
      expect(accepted.text.trimEnd()).toBe(JSON.stringify(accepted.body, undefined, spaces));
    },
  );
});
