import { describe, expect, test } from "vitest";
import type { IfReadyMode } from "../../src/serving/http/filters/if-ready.ts";
import { apiRequest } from "../testing/serving/http/requests.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { FaultyKv } from "./faulty-kv.ts";
import {
  CONFIG_MAPS,
  configMap,
  header,
  startServer as start,
  type ApiTestResponse,
  type StartOptions,
  type TestServer,
} from "./start.ts";

/** Starts a server with access control, as `evenkeel serve` does. */
const startServer = (options: StartOptions = {}): Promise<TestServer> => start({ access: {}, ...options });

const TOKENS = 'secret-1,admin,uid-1,"system:masters"\nsecret-2,reader,uid-2\n';

function as(api: TestServer, target: string, authorization?: string): Promise<ApiTestResponse> {
  return api.call("GET", target, undefined, {
    asClient: true,
    headers: authorization === undefined ? {} : { authorization },
  });
}

describe("authentication:", () => {
  test("a known token authenticates its user, whatever the case of the Bearer scheme", async () => {
    await using api = await startServer({ tokenFile: TOKENS });
    expect((await as(api, CONFIG_MAPS, "Bearer secret-1")).status).toBe(200);
    expect((await as(api, "/api", "bearer secret-2")).status).toBe(200);
    expect((await as(api, CONFIG_MAPS, "bearer secret-2")).status).toBe(403);
  });

  test.each(["Bearer wrong", "Bearer secret-1x", "Bearer secret-", "Bearer ", "Basic c2VjcmV0LTE=", "secret-1"])(
    "a request with Authorization %s returns 401",
    async (authorization) => {
      await using api = await startServer({ tokenFile: TOKENS });
      const response = await as(api, CONFIG_MAPS, authorization);
      expect(response.status).toBe(401);
      expect(response.body).toEqual({
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

  test("a wrong token returns 401 even for a path that anonymous clients may read", async () => {
    await using api = await startServer({ tokenFile: TOKENS });
    expect((await as(api, "/version", "Bearer wrong")).status).toBe(401);
  });

  test("an anonymous client may not read objects", async () => {
    await using api = await startServer();
    const response = await as(api, CONFIG_MAPS);
    expect(response.status).toBe(403);
    expect(response.body).toMatchObject({
      reason: "Forbidden",
      message:
        'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" in the namespace "default"',
      details: { kind: "configmaps" },
    });
  });

  test("an anonymous client may not create, watch, discover or read metrics", async () => {
    await using api = await startServer();
    expect((await api.call("POST", CONFIG_MAPS, configMap("x"), { asClient: true })).status).toBe(403);
    for (const target of [`${CONFIG_MAPS}?watch=true`, "/api", "/apis", "/metrics"])
      expect((await as(api, target)).status).toBe(403);
    expect((await api.get(`${CONFIG_MAPS}/x`)).status).toBe(404);
  });

  test.each(["/healthz", "/livez", "/readyz", "/version"])("an anonymous client may read %s", async (target) => {
    await using api = await startServer();
    expect((await as(api, target)).status).toBe(200);
  });

  test("an anonymous client gets 403 for every unknown path", async () => {
    await using api = await startServer();
    expect((await as(api, "/apis/nope.example.com/v1/things")).status).toBe(403);
    expect((await as(api, "/nope")).status).toBe(403);
  });
});

/** Tests of KEP-3028's test plan. A server in mode off behaves like a server without the feature. */
describe("X-Kubernetes-If-Ready:", () => {
  const CLIENT = { authorization: "Bearer secret-1" };
  const IF_READY = { ...CLIENT, "x-kubernetes-if-ready": "" };

  type ReadinessResponse = readonly [status: number, ready: string | undefined];

  async function readinessOf(
    api: TestServer,
    target: string,
    headers: Record<string, string>,
  ): Promise<ReadinessResponse> {
    const response = await api.call("GET", target, undefined, { asClient: true, headers });
    return [response.status, header(response, "x-kubernetes-ready")];
  }

  /** Starts a server whose store never responds, so that the server does not become ready however much time passes. */
  async function startStuck(ifReadyMode: IfReadyMode): Promise<AsyncDisposable & { readonly api: TestServer }> {
    let kv: FaultyKv | undefined;
    const wrapKv = (real: Kv): Kv => {
      kv = new FaultyKv(real);
      kv.stall();
      return kv;
    };
    const api = await startServer({ ifReadyMode, tokenFile: TOKENS, skipReady: true, wrapKv });
    return {
      api,
      async [Symbol.asyncDispose]() {
        kv?.resume();
        await api[Symbol.asyncDispose]();
      },
    };
  }

  test.each<[IfReadyMode, ReadinessResponse, ReadinessResponse]>([
    ["retry", [503, "false"], [200, undefined]],
    ["report", [200, "false"], [200, undefined]],
    ["off", [200, undefined], [200, undefined]],
  ])(
    "in mode %s, a server that is not ready returns the status and X-Kubernetes-Ready %j to a request with the header, and %j to one without it",
    async (mode, asked, notAsked) => {
      await using starting = await startStuck(mode);
      expect(await readinessOf(starting.api, "/version", IF_READY)).toEqual(asked);
      expect(await readinessOf(starting.api, "/version", CLIENT)).toEqual(notAsked);
    },
  );

  test.each<[IfReadyMode, string | undefined]>([
    ["retry", "true"],
    ["report", "true"],
    ["off", undefined],
  ])(
    "in mode %s, a ready server returns X-Kubernetes-Ready %s to a request with the header, and no X-Kubernetes-Ready to one without it",
    async (mode, ready) => {
      await using api = await startServer({ ifReadyMode: mode, tokenFile: TOKENS });
      for (const [target, status] of [
        [CONFIG_MAPS, 200],
        [`${CONFIG_MAPS}/nosuch`, 404],
        ["/nosuch", 404],
        [`${CONFIG_MAPS}?timeout=x`, 400],
        [`${CONFIG_MAPS}?watch=1&timeoutSeconds=1`, 200],
      ] as const) {
        expect(await readinessOf(api, target, IF_READY)).toEqual([status, ready]);
        expect(await readinessOf(api, target, CLIENT)).toEqual([status, undefined]);
      }
      expect(await readinessOf(api, CONFIG_MAPS, { "x-kubernetes-if-ready": "" })).toEqual([403, ready]);
      expect(await readinessOf(api, CONFIG_MAPS, { ...IF_READY, authorization: "Bearer wrong" })).toEqual([401, ready]);
    },
  );

  test("in mode retry, a server that has not been ready yet rejects a write with ServiceUnavailable and Retry-After", async () => {
    await using starting = await startStuck("retry");
    const response = await starting.api.call("POST", CONFIG_MAPS, configMap("x"), {
      asClient: true,
      headers: IF_READY,
    });
    expect(response.body).toMatchObject({
      kind: "Status",
      reason: "ServiceUnavailable",
      message: "The APIServer has not fully initialized yet, please try again later.",
      details: { retryAfterSeconds: 1 },
    });
    expect(header(response, "retry-after")).toBe("1");
  });

  test("in mode report, the 503 and 401 responses of a server that is not ready carry X-Kubernetes-Ready false", async () => {
    await using starting = await startStuck("report");
    expect(await readinessOf(starting.api, "/nosuch", IF_READY)).toEqual([503, "false"]);
    expect(await readinessOf(starting.api, CONFIG_MAPS, IF_READY)).toEqual([503, "false"]);
    expect(await readinessOf(starting.api, CONFIG_MAPS, { ...IF_READY, authorization: "Bearer wrong" })).toEqual([
      401,
      "false",
    ]);
  });

  test.each(["retry", "report"] as const)(
    "in mode %s, an internal error carries the readiness header",
    async (ifReadyMode) => {
      await using api = await startServer({ ifReadyMode, tokenFile: TOKENS });
      const request = apiRequest({ method: "POST", url: CONFIG_MAPS, headers: IF_READY });
      const body = { ...request.body, isEmpty: false, read: () => Promise.reject(new Error("bug")) };
      const { status, headers } = await api.world.run(api.server.handle({ ...request, body }));
      expect([status, headers["x-kubernetes-ready"]]).toEqual([500, "true"]);
    },
  );

  test.each(["retry", "report"] as const)(
    "in mode %s, health and metrics are served before the server is ready, with the readiness header",
    async (mode) => {
      await using starting = await startStuck(mode);
      for (const [target, status] of [
        ["/livez", 200],
        ["/livez/ping", 200],
        ["/readyz", 500],
        ["/healthz", 500],
        ["/metrics", 200],
        ["/metrics/slis", 200],
        ["/metrics/nosuch", 404],
      ] as const)
        expect([target, ...(await readinessOf(starting.api, target, IF_READY))]).toEqual([target, status, "false"]);
      expect(await readinessOf(starting.api, "/metricsfoo", IF_READY)).toEqual([503, "false"]);
    },
  );

  test("the loopback client is served before the server is ready", async () => {
    await using starting = await startStuck("retry");
    const response = await starting.api.get("/version", IF_READY);
    expect([response.status, header(response, "x-kubernetes-ready")]).toEqual([200, "false"]);
  });

  test("a server that begins its shutdown after it has been ready still returns X-Kubernetes-Ready true", async () => {
    await using api = await startServer({ ifReadyMode: "retry", tokenFile: TOKENS });
    await api.world.run(api.server.beginShutdown());
    expect((await api.get("/readyz")).status).toBe(500);
    expect((await readinessOf(api, CONFIG_MAPS, IF_READY))[1]).toBe("true");
  });

  test("the request header has no effect unless the operator enables the feature", async () => {
    await using api = await startServer({ tokenFile: TOKENS });
    expect(await readinessOf(api, CONFIG_MAPS, IF_READY)).toEqual([200, undefined]);
  });
});
