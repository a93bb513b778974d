/**
 * Tests the local server as the last candidate. It serves a read after all peers have failed, and a write only if no
 * peer can have executed it.
 */
import { upstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { NO_BODY, type ApiResponse, type RequestBody } from "../../serving/http/message.ts";
import { bufferedBody, EMPTY_BODY } from "../../serving/http/request-body.ts";
import { textResponse } from "../../serving/http/respond.ts";
import type { RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { UpstreamError, type UpstreamFailure } from "../../serving/http/upstream.ts";
import { StatusError } from "../../meta/status-error.ts";
import { World } from "../../tools/simulator/world.ts";
import { createForward } from "./forward.ts";
import type { PeerRoute } from "./route.ts";
import { createProxyMetrics } from "./proxy-metrics.ts";
import { peerOf, viewOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import { FakeUpstream, userRequest, type Respond } from "../../../test/testing/cluster/peers/fake-upstream.ts";

const ROUTE: PeerRoute = {
  kind: "peer",
  rule: "peer-fits-client",
  reason: "",
  candidates: [[peerOf("b")], [peerOf("c")]],
  fallback: "local",
};

interface Outcome {
  /** "here: <body>" if the request was served locally, otherwise the status. */
  readonly by: string;
  readonly requests: number;
  readonly metrics: string;
}

interface Sent extends RequestOptions {
  readonly text?: string;
  readonly inFlightMax?: number;
}

async function send(answer: Respond, { text = "", inFlightMax = 10, ...options }: Sent): Promise<Outcome> {
  const world = new World({ seed: 1 });
  const upstream = new FakeUpstream(answer);
  const metrics = new MetricsRegistry();
  const forward = createForward({
    upstream,
    clock: world.clock,
    random: world.randomFor("forward"),
    log: SILENT_LOG,
    metrics: createProxyMetrics(metrics),
    requestsInflightMax: inFlightMax,
    onResponse: () => {},
    onMiss: () => {},
  });
  const here = async (body: RequestBody): Promise<ApiResponse> =>
    textResponse(200, `here: ${String(await body.read(1024 * 1024))}`);
  const headers = text === "" ? {} : { "content-length": String(text.length) };
  const body = text === "" ? EMPTY_BODY : bufferedBody(Buffer.from(text));
  const request = userRequest({ url: "/apis/example.com/v1/widgets", headers, ...options }, { body });
  const response = await forward(request, ROUTE, viewOf(), here).catch((thrown: unknown) =>
    textResponse(StatusError.from(thrown).code, ""),
  );
  const by = response.body.kind === "bytes" ? String(response.body.chunks[0]) : "";
  return {
    by: by.startsWith("here") ? by : String(response.status),
    requests: upstream.requests.length,
    metrics: metrics.render(),
  };
}

function failing(failure: UpstreamFailure, isSent: boolean): Respond {
  return () => Promise.reject(new UpstreamError(failure, failure, { isSent }));
}

const POST = { method: "POST", text: "made" };
const NOT_SERVED = ["x-evenkeel-not-served", "b"];

test.each([
  ["a read without a response from any peer", { method: "GET" }, failing("reset", true), "here: "],
  ["a read that every peer is too busy for", { method: "GET" }, () => upstreamResponse(503), "here: "],
  ["a write of which nothing was sent", POST, failing("connect", false), "here: made"],
  ["a write that the peers report as not served", POST, () => upstreamResponse(503, NOT_SERVED), "here: made"],
])("%s is served locally after both candidates have failed", async (_what, request, answer, by) => {
  expect(await send(answer, request)).toMatchObject({ by, requests: 2 });
});

test.each([
  ["a write of which something was sent", POST, failing("reset", true), "503"],
  ["a write for which the peer returns 503", POST, () => upstreamResponse(503), "503"],
  ["a request aborted by its client", { method: "GET" }, failing("aborted", false), "503"],
  [
    "a request for which the peer returns a response, such as 404 for an object",
    { method: "GET" },
    () => upstreamResponse(404),
    "404",
  ],
])("%s is neither sent to another peer nor served locally", async (_what, request, answer, by) => {
  expect(await send(answer, request)).toMatchObject({ by, requests: 1 });
});

test("a request whose body is too large to be buffered is served locally only if none of the body was read", async () => {
  const large = { method: "POST", text: "x".repeat(70_000) };
  const { by } = await send(failing("connect", false), large);
  expect(by.length).toBe(`here: ${large.text}`.length);
  const taking: Respond = async ({ body }) => {
    for await (const _ of body ?? []) break;
    throw new UpstreamError("reset", "reset", { isSent: false });
  };
  expect(await send(taking, large)).toMatchObject({ by: "503", requests: 1 });
});

test("with too many proxied requests in flight a request is served locally, and does not count as proxied", async () => {
  const { by, requests: asked, metrics } = await send(() => upstreamResponse(200), { ...POST, inFlightMax: 0 });
  expect([by, asked]).toEqual(["here: made", 0]);
  expect(metrics).toContain('apiserver_peer_proxy_errors_total{type="overloaded"');
  expect(metrics).not.toContain("rerouted_request_total{");
});

test("the response of the first peer is returned, and no other peer receives the request", async () => {
  expect(await send(() => ({ status: 201, headers: [], body: NO_BODY }), POST)).toMatchObject({
    by: "201",
    requests: 1,
  });
});
