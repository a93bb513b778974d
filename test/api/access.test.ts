import { describe, expect, test } from "vitest";
import { CONFIG_MAPS, configMap, header, startServer, type Answer, type TestServer } from "./start.ts";

const TOKENS = 'secret-1,admin,uid-1,"system:masters"\nsecret-2,reader,uid-2\n';

function as(api: TestServer, target: string, authorization?: string): Promise<Answer> {
  return api.call("GET", target, undefined, {
    asClient: true,
    headers: authorization === undefined ? {} : { authorization },
  });
}

describe("who may ask", () => {
  test("a known token is answered", async () => {
    await using api = await startServer({ tokenFile: TOKENS });
    expect((await as(api, CONFIG_MAPS, "Bearer secret-1")).status).toBe(200);
    expect((await as(api, CONFIG_MAPS, "bearer secret-2")).status).toBe(200);
  });

  test.each(["Bearer wrong", "Bearer secret-1x", "Bearer secret-", "Bearer ", "Basic c2VjcmV0LTE=", "secret-1"])(
    "%s is 401",
    async (authorization) => {
      await using api = await startServer({ tokenFile: TOKENS });
      const answer = await as(api, CONFIG_MAPS, authorization);
      expect(answer.status).toBe(401);
      expect(answer.body).toEqual({
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "Unauthorized",
        reason: "Unauthorized",
        code: 401,
      });
    },
  );

  test("a wrong token is 401 also where strangers are welcome", async () => {
    await using api = await startServer({ tokenFile: TOKENS });
    expect((await as(api, "/version", "Bearer wrong")).status).toBe(401);
  });

  test("a stranger may not read objects", async () => {
    await using api = await startServer();
    const answer = await as(api, CONFIG_MAPS);
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({
      reason: "Forbidden",
      message:
        'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"',
      details: { kind: "configmaps" },
    });
  });

  test("a stranger may not create, watch, discover or read metrics", async () => {
    await using api = await startServer();
    expect((await api.call("POST", CONFIG_MAPS, configMap("x"), { asClient: true })).status).toBe(403);
    for (const target of [`${CONFIG_MAPS}?watch=true`, "/api", "/apis", "/metrics"])
      expect((await as(api, target)).status).toBe(403);
    expect((await api.get(`${CONFIG_MAPS}/x`)).status).toBe(404);
  });

  test.each(["/healthz", "/livez", "/readyz", "/version", "/livez/ping"])(
    "a stranger may ask for %s",
    async (target) => {
      await using api = await startServer();
      expect((await as(api, target)).status).toBe(200);
    },
  );

  test("a stranger cannot tell a path that exists from one that does not", async () => {
    await using api = await startServer();
    expect((await as(api, "/apis/nope.example.com/v1/things")).status).toBe(403);
    expect((await as(api, "/nope")).status).toBe(403);
  });
});

describe("X-Kubernetes-If-Ready", () => {
  const IF_READY = { "x-kubernetes-if-ready": "" };

  test("a server that has not been ready answers 503, says when to come back, and that it understood", async () => {
    await using api = await startServer({ ifReadyMode: "retry", skipReady: true });
    const answer = await api.begin("GET", CONFIG_MAPS, undefined, { headers: IF_READY });
    expect(answer.status).toBe(503);
    expect(header(answer, "retry-after")).toBe("5");
    expect(header(answer, "x-kubernetes-ready")).toBe("false");
    await api.world.run(api.server.ready);
  });

  test("it processes requests without the header as ever, and does not mention readiness", async () => {
    await using api = await startServer({ ifReadyMode: "retry", skipReady: true });
    const answer = await api.begin("GET", "/version");
    expect(answer.status).toBe(200);
    expect(header(answer, "x-kubernetes-ready")).toBeUndefined();
    await api.world.run(api.server.ready);
  });

  test("a server that has been ready processes the request and says true", async () => {
    await using api = await startServer({ ifReadyMode: "retry" });
    const answer = await api.get(CONFIG_MAPS, IF_READY);
    expect(answer.status).toBe(200);
    expect(header(answer, "x-kubernetes-ready")).toBe("true");
    expect(header(await api.get(`${CONFIG_MAPS}/nosuch`, IF_READY), "x-kubernetes-ready")).toBe("true");
  });

  test("without the header it says nothing", async () => {
    await using api = await startServer({ ifReadyMode: "retry" });
    expect(header(await api.get(CONFIG_MAPS), "x-kubernetes-ready")).toBeUndefined();
  });

  test("once ready is ready for ever, also while shutting down", async () => {
    await using api = await startServer({ ifReadyMode: "retry" });
    await api.world.run(api.server.beginShutdown());
    expect((await api.get("/readyz")).status).toBe(500);
    expect(header(await api.get(CONFIG_MAPS, IF_READY), "x-kubernetes-ready")).toBe("true");
  });

  test("unless the operator turns it on the header means nothing", async () => {
    await using api = await startServer();
    const answer = await api.get(CONFIG_MAPS, IF_READY);
    expect(answer.status).toBe(200);
    expect(header(answer, "x-kubernetes-ready")).toBeUndefined();
  });
});
