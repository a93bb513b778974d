import { upstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";
import type { WithUser } from "../../access/auth/user.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import type { ApiResponse, RequestBody, StreamSink } from "../../serving/http/message.ts";
import type { RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { UpstreamError, type UpstreamFailure, type UpstreamResponse } from "../../serving/http/upstream.ts";
import { StatusError } from "../../meta/status-error.ts";
import { World } from "../../tools/simulator/world.ts";
import { createForward, type Forward } from "./forward.ts";
import type { PeerRoute } from "./route.ts";
import { createProxyMetrics } from "./proxy-metrics.ts";
import { peerOf, viewOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import { FakeUpstream, userRequest, type Respond } from "../../../test/testing/cluster/peers/fake-upstream.ts";
import type { PeerView } from "./view.ts";

const WIDGETS = "/apis/example.com/v1/namespaces/default/widgets";
const LABELS = 'group="example.com",version="v1",resource="widgets"';

function peerAt(port: number): PeerView {
  return peerOf(`peer-${port}`, { address: { host: "127.0.0.1", port } });
}

/** A route whose tiers contain peers at these ports. */
function routeTo(...tiers: number[][]): PeerRoute {
  const candidates = tiers.map((ports) => ports.map(peerAt));
  return { kind: "peer", rule: "served-by-peer", reason: "", candidates };
}

class Scene {
  readonly world = new World({ seed: 1 });
  readonly upstream: FakeUpstream;
  readonly metrics = new MetricsRegistry();
  readonly responded: string[] = [];
  readonly missed: string[] = [];
  readonly forward: Forward;

  constructor(answer: Respond, requestsInflightMax = 10) {
    this.upstream = new FakeUpstream(answer);
    this.forward = createForward({
      upstream: this.upstream,
      clock: this.world.clock,
      random: this.world.randomFor("forward"),
      log: SILENT_LOG,
      metrics: createProxyMetrics(this.metrics),
      requestsInflightMax,
      onResponse: (id) => void this.responded.push(id),
      onMiss: (id) => void this.missed.push(id),
    });
  }

  send(route: PeerRoute, options: RequestOptions = {}, more: Partial<WithUser> = {}): Promise<ApiResponse> {
    return this.forward(userRequest({ url: WIDGETS, ...options }, more), route, viewOf());
  }

  async refusal(route: PeerRoute, options: RequestOptions = {}, more: Partial<WithUser> = {}): Promise<StatusError> {
    const thrown: unknown = await this.send(route, options, more).catch((error: unknown) => error);
    if (!(thrown instanceof StatusError)) throw new Error("it was not rejected", { cause: thrown });
    return thrown;
  }

  counted(series: string): number {
    const line = this.metrics
      .render()
      .split("\n")
      .find((candidate) => candidate.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1) ?? 0);
  }
}

function failing(failure: UpstreamFailure, isSent: boolean): Respond {
  return () => Promise.reject(new UpstreamError(failure, `it failed: ${failure}`, { isSent }));
}

/** The first peer that is called responds as given, every other peer with 200. */
function firstOnly(answer: Respond): Respond {
  let asked = 0;
  return (request) => (asked++ === 0 ? answer(request) : upstreamResponse(200));
}

describe("a proxied request", () => {
  test("arrives with its method, path and query unchanged, and the response names the peer", async () => {
    const scene = new Scene(() => upstreamResponse(201, ["ETag", "e"], "made"));
    const response = await scene.send(routeTo([1]), { method: "POST", url: `${WIDGETS}?dryRun=All&a=%20` });
    expect(scene.upstream.requests[0]).toMatchObject({
      address: { host: "127.0.0.1", port: 1 },
      method: "POST",
      target: `${WIDGETS}?dryRun=All&a=%20`,
      body: undefined,
      isUpgrade: false,
    });
    expect(response).toMatchObject({
      status: 201,
      headers: { etag: "e", "x-evenkeel-served-by": "peer-1 (1.36); reason=served-by-peer" },
    });
    expect(scene.responded).toEqual(["peer-1"]);
  });

  test("keeps the audit ID of the client, or gets one that all attempts share", async () => {
    const scene = new Scene(firstOnly(failing("connect", false)));
    const auditIds = (): (string | undefined)[] =>
      scene.upstream.requests.splice(0).map(({ headers }) => headers[headers.indexOf("Audit-ID") + 1]);
    await scene.send(routeTo([1, 2]), { headers: { "audit-id": "mine" } });
    expect(auditIds()).toEqual(["mine", "mine"]);
    scene.upstream.respond = firstOnly(failing("connect", false));
    await scene.send(routeTo([1, 2]));
    const [first, second] = auditIds();
    expect(first).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).toBe(first);
  });

  test("goes to a later tier only after every peer of the earlier tiers, and to at most four peers", async () => {
    const scene = new Scene(failing("connect", false));
    await scene.refusal(routeTo([1, 2], [3]));
    expect(new Set(scene.upstream.ports.slice(0, 2))).toEqual(new Set([1, 2]));
    expect(scene.upstream.ports.slice(2)).toEqual([3]);
    scene.upstream.requests.length = 0;
    await scene.refusal(routeTo([1, 2, 3, 4, 5, 6]));
    expect(new Set(scene.upstream.ports).size).toBe(4);
  });

  test("is distributed evenly over the peers of a tier", async () => {
    const scene = new Scene(() => upstreamResponse(200));
    for (let round = 0; round < 300; round++) await scene.send(routeTo([1, 2, 3]));
    for (const port of [1, 2, 3])
      expect(scene.upstream.ports.filter((asked) => asked === port).length).toBeGreaterThan(60);
  });
});

describe("another peer is tried", () => {
  const CASES: readonly [method: string, failure: UpstreamFailure, isSent: boolean, isTried: boolean][] = [
    ["GET", "connect", false, true],
    ["GET", "reset", true, true],
    ["GET", "timeout", true, true],
    ["GET", "malformed", true, true],
    ["HEAD", "reset", true, true],
    ["GET", "aborted", false, false],
    ["POST", "connect", false, true],
    ["POST", "tls", false, true],
    ["POST", "reset", false, true],
    ["POST", "reset", true, false],
    ["POST", "timeout", true, false],
    ["PUT", "reset", true, false],
    ["PATCH", "reset", true, false],
    ["DELETE", "reset", true, false],
    ["DELETE", "connect", false, true],
  ];

  test.each(CASES)('after a %s that failed with "%s" (sent: %s): %s', async (method, failure, isSent, isTried) => {
    const scene = new Scene(firstOnly(failing(failure, isSent)));
    if (isTried) expect((await scene.send(routeTo([1, 2]), { method })).status).toBe(200);
    else expect((await scene.refusal(routeTo([1, 2]), { method })).code).toBe(503);
    expect(scene.upstream.requests).toHaveLength(isTried ? 2 : 1);
    expect(scene.counted(`apiserver_peer_proxy_errors_total{type="${failure}",${LABELS}}`)).toBe(1);
  });

  const PAGE = upstreamResponse(404, ["content-type", "text/plain"], "404 page not found\n");
  const NOT_SERVED = upstreamResponse(503, ["X-Evenkeel-Not-Served", "peer-1"]);
  test.each([
    { what: "reports that it does not serve the resource", method: "POST", answer: NOT_SERVED, isTried: true },
    { what: "returns 404 for the path", method: "DELETE", answer: PAGE, isTried: true },
    { what: "rejects the credentials of this server", method: "POST", answer: upstreamResponse(401), isTried: true },
    { what: "redirects a read", method: "GET", answer: upstreamResponse(307, ["Location", "http://x"]), isTried: true },
    {
      what: "redirects a write",
      method: "POST",
      answer: upstreamResponse(303, ["Location", "http://x"]),
      isTried: false,
    },
  ])("after a peer that $what: $isTried", async ({ method, answer, isTried }) => {
    const scene = new Scene(firstOnly(() => answer));
    if (isTried) expect((await scene.send(routeTo([1, 2]), { method })).status).toBe(200);
    else expect((await scene.refusal(routeTo([1, 2]), { method })).code).toBe(503);
  });

  test("after a peer returned 503 to a read; if all peers do, the last response is returned", async () => {
    const scene = new Scene(firstOnly(() => upstreamResponse(503)));
    expect((await scene.send(routeTo([1, 2]))).status).toBe(200);
    scene.upstream.respond = () => upstreamResponse(503, [], "busy");
    expect(await scene.send(routeTo([1, 2]))).toMatchObject({
      status: 503,
      headers: { "x-evenkeel-served-by": expect.stringMatching(/^peer-/) },
    });
  });

  test("not after a peer returned 503 to a write", async () => {
    const scene = new Scene(firstOnly(() => upstreamResponse(503)));
    expect((await scene.send(routeTo([1, 2]), { method: "POST" })).status).toBe(503);
    expect(scene.upstream.requests).toHaveLength(1);
  });

  test("not after a part of a streamed body was read, even if nothing was sent", async () => {
    const isBegun = async ({ body }: { body: AsyncIterable<Buffer> | undefined }): Promise<UpstreamResponse> => {
      for await (const _ of body!) break;
      throw new UpstreamError("reset", "gone", { isSent: false });
    };
    const scene = new Scene(firstOnly(isBegun));
    await scene.refusal(routeTo([1, 2]), { method: "POST" }, { body: streamed("data") });
    expect(scene.upstream.requests).toHaveLength(1);
    const other = new Scene(firstOnly(failing("connect", false)));
    expect((await other.send(routeTo([1, 2]), { method: "POST" }, { body: streamed("data") })).status).toBe(200);
  });

  test("not after an upgrade was sent, although it is a GET", async () => {
    const scene = new Scene(firstOnly(failing("reset", true)));
    const headers = { connection: "Upgrade", upgrade: "websocket" };
    const connection = { protocol: "http/1.1" as const, remoteAddress: "", clientChain: [] };
    await scene.refusal(routeTo([1, 2]), { headers }, { connection });
    expect(scene.upstream.requests.map(({ isUpgrade }) => isUpgrade)).toEqual([true]);
  });

  test("not for a client that has disconnected", async () => {
    const gone = new AbortController();
    const scene = new Scene((request) => {
      gone.abort();
      return failing("connect", false)(request);
    });
    await scene.refusal(routeTo([1, 2]), {}, { signal: gone.signal });
    expect(scene.upstream.requests).toHaveLength(1);
  });
});

describe("a response", () => {
  test.each([200, 304, 400, 403, 404, 405, 409, 422, 429, 500])("%s is returned unchanged", async (status) => {
    const scene = new Scene(() => upstreamResponse(status, ["content-type", "application/json"], "{}"));
    expect((await scene.send(routeTo([1, 2]))).status).toBe(status);
    expect(scene.upstream.requests).toHaveLength(1);
    expect(scene.counted(`apiserver_rerouted_request_total{code="${status}",${LABELS}}`)).toBe(1);
    expect(scene.counted(`kubernetes_apiserver_rerouted_request_total{code="${status}",${LABELS}}`)).toBe(1);
  });

  test.each([401, 302, 404])(
    "with status %s from behind the proxy subresource is returned to the client",
    async (status) => {
      const scene = new Scene(() => upstreamResponse(status, ["content-type", "text/plain"], "404 page not found\n"));
      const url = "/api/v1/namespaces/default/pods/web/proxy/index.html";
      expect((await scene.send(routeTo([1, 2]), { url })).status).toBe(status);
    },
  );

  test("is closed if the proxy does not return it to the client", async () => {
    const opened: string[] = [];
    const held = (name: string): UpstreamResponse => ({
      status: 307,
      headers: [],
      body: { kind: "stream", open: (sink: StreamSink) => sink.onClose(() => void opened.push(name)) },
    });
    const scene = new Scene(({ address }) => held(String(address.port)));
    await scene.refusal(routeTo([1], [2]));
    expect(opened).toEqual(["1", "2"]);
  });
});

describe("when no peer has responded", () => {
  test("the 503 names the peer, the reason in words, the rule and Retry-After", async () => {
    const scene = new Scene(failing("connect", false));
    const rejection = await scene.refusal(routeTo([1], [2]), { url: `${WIDGETS}/w` });
    expect(rejection.toStatus()).toMatchObject({
      code: 503,
      reason: "ServiceUnavailable",
      message: "Error while proxying request to destination apiserver peer-2: no connection",
      details: {
        name: "w",
        group: "example.com",
        kind: "widgets",
        retryAfterSeconds: 1,
        causes: [
          { field: "server", message: "self" },
          { field: "peer", message: "peer-2" },
          { field: "rule", message: "served-by-peer" },
        ],
      },
    });
    expect(scene.missed).toEqual(["peer-1", "peer-2"]);
    expect(scene.counted(`apiserver_peer_proxy_errors_total{type="connect",${LABELS}}`)).toBe(2);
    expect(scene.counted(`apiserver_rerouted_request_total{code="503",${LABELS}}`)).toBe(1);
  });

  test("the 503 has no Retry-After if a peer may have executed the request", async () => {
    const reported = async (reply: ConstructorParameters<typeof Scene>[0], method: string): Promise<unknown> =>
      (await new Scene(reply).refusal(routeTo([1]), { method })).toStatus().details?.retryAfterSeconds;
    expect(await reported(failing("reset", true), "DELETE")).toBeUndefined();
    expect(await reported(failing("reset", false), "DELETE")).toBe(1);
    expect(await reported(failing("reset", true), "GET")).toBe(1);
    expect(await reported(() => upstreamResponse(303), "DELETE")).toBeUndefined();
  });

  test("the 503 reports a peer whose address leads back to the local server", async () => {
    const scene = new Scene(() => upstreamResponse(503, ["X-Evenkeel-Not-Served", "self"]));
    expect((await scene.refusal(routeTo([1]))).message).toMatch(/its address leads to this server itself$/);
    expect(scene.counted(`apiserver_peer_proxy_errors_total{type="not_served",${LABELS}}`)).toBe(1);
    expect(scene.missed).toEqual([]);
  });

  test("a peer without an address is not called", async () => {
    const scene = new Scene(() => upstreamResponse(200));
    const route = { ...routeTo(), candidates: [[peerOf("lost", { address: undefined })]] };
    expect((await scene.refusal(route)).message).toMatch(/its address is unknown$/);
    expect(scene.upstream.requests).toEqual([]);
    expect(scene.counted(`apiserver_peer_proxy_errors_total{type="endpoint_resolution",${LABELS}}`)).toBe(1);
  });

  test("an error of the local server is not reported as an error of the peer", async () => {
    const scene = new Scene(() => Promise.reject(new TypeError("a mistake")));
    await expect(scene.send(routeTo([1, 2]))).rejects.toThrow(TypeError);
  });
});

describe("proxied requests in flight", () => {
  test("are limited except watches, and a slot is freed however the request ends", async () => {
    const held: PromiseWithResolvers<UpstreamResponse>[] = [];
    const scene = new Scene(() => {
      held.push(Promise.withResolvers());
      return held.at(-1)!.promise;
    }, 2);
    const first = scene.send(routeTo([1]));
    const second = scene.refusal(routeTo([1]));
    const rejected = await scene.refusal(routeTo([1]));
    expect([rejected.code, rejected.details?.retryAfterSeconds]).toEqual([429, 1]);
    expect(scene.counted(`apiserver_peer_proxy_errors_total{type="overloaded",${LABELS}}`)).toBe(1);
    const watch = scene.send(routeTo([1]), { url: `${WIDGETS}?watch=true` });
    held[0]!.resolve(upstreamResponse(200));
    held[1]!.reject(new UpstreamError("reset", "gone", { isSent: true }));
    await Promise.all([first, second]);
    scene.upstream.respond = () => upstreamResponse(200);
    await Promise.all([scene.send(routeTo([1])), scene.send(routeTo([1]))]);
    held[2]!.resolve(upstreamResponse(200));
    await watch;
  });
});

function streamed(text: string): RequestBody {
  return {
    isEmpty: false,
    read: () => Promise.resolve(Buffer.from(text)),
    async *stream() {
      yield Buffer.from(text);
    },
  };
}
