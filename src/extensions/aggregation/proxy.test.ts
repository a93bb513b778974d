import { upstreamResponse, jsonUpstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";

import type { WithUser } from "../../access/auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { createSystemClock } from "../../client/system.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import { bufferedBody } from "../../serving/http/request-body.ts";
import { bodyJson, type RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { World } from "../../tools/simulator/world.ts";
import { decideAggregation } from "./decide.ts";
import { aggregationProxy } from "./proxy.ts";
import type { Resolution } from "../../access/webhook-client/service-resolver.ts";
import {
  failing,
  FakeOutbound,
  remote,
  userRequest,
  type Respond,
} from "../../../test/testing/extensions/aggregation/fake-outbound.ts";

const URL = "/apis/metrics.example.com/v1/namespaces/x/pods/a%20b";
const INFO = { apiPrefix: "apis", group: "metrics.example.com", version: "v1" };
const HERE: ApiResponse = { status: 299, headers: {}, body: { kind: "none" } };
const BODY = Buffer.from("{}");

describe("a request", () => {
  test("is proxied if an available aggregated server serves its group version", () => {
    const apiService = remote();
    expect(decideAggregation(INFO, () => ({ apiService, isAvailable: true }), false)).toEqual({
      kind: "proxy",
      apiService,
    });
  });

  test("is rejected as unavailable if the aggregated server is unavailable, or if it was already proxied once", () => {
    const apiService = remote();
    expect(decideAggregation(INFO, () => ({ apiService, isAvailable: false }), false)).toMatchObject({
      kind: "unavailable",
      message: "service unavailable",
    });
    expect(decideAggregation(INFO, () => ({ apiService, isAvailable: true }), true)).toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("leads back"),
    });
  });

  test.each([
    ["if its group version is not aggregated", INFO],
    ["if it is for a group", { ...INFO, version: "" }],
    ["if it is outside /apis", { ...INFO, apiPrefix: "api" }],
  ])("is passed to the next filter %s", (_rule, info) => {
    const find = (group: string, version: string): undefined => void (group + version);
    expect(decideAggregation(info, find, false)).toEqual({ kind: "pass" });
  });
});

describe("the aggregated server", () => {
  test("receives the authenticated user only in this server's own headers", async () => {
    const headers = {
      authorization: "Bearer secret",
      "x-remote-user": "admin",
      "x-remote-group": "system:masters",
      "x-remote-extra-a": "b",
      "impersonate-user": "root",
      connection: "keep-alive, x-remote-uid",
      "keep-alive": "5",
      "x-forwarded-for": "1.1.1.1",
      accept: "application/json",
    };
    const { outbound } = await proxied(() => jsonUpstreamResponse({}), { url: `${URL}?limit=5`, headers });
    const [sent] = outbound.requests;
    expect(sent).toMatchObject({ method: "GET", target: `${URL}?limit=5`, isUpgrade: false, body: undefined });
    expect(sent!.to).toMatchObject({ serverName: "metrics.system.svc", presentsClientCertificate: true });
    const lines = pairs(sent!.headers);
    expect(lines).toContain("accept: application/json");
    expect(lines.filter((line) => line.toLowerCase().startsWith("x-remote-"))).toEqual([
      "X-Remote-User: jane",
      "X-Remote-Uid: 7",
      "X-Remote-Group: people",
      "X-Remote-Group: admins",
      "X-Remote-Extra-Scopes%2Fa: x",
      "X-Remote-Extra-Scopes%2Fa: y",
    ]);
    expect(lines).toContain("X-Forwarded-For: 1.1.1.1, 10.9.9.9");
    expect(lines).toContain("X-Forwarded-Host: 10.0.0.1:8443");
    expect(lines).toContain(`X-Forwarded-Uri: ${URL}`);
    const all = lines.join("\n").toLowerCase();
    for (const dropped of ["secret", "masters", "root", "connection:", "keep-alive"])
      expect(all).not.toContain(dropped);
  });

  test("receives an upgrade request as an upgrade", async () => {
    const headers = { connection: "Upgrade", upgrade: "SPDY/3.1" };
    const { outbound, answer } = await proxied(() => upstreamResponse(101, ["Upgrade", "SPDY/3.1"]), {
      headers,
      protocol: "http/1.1",
    });
    expect(outbound.requests[0]!.isUpgrade).toBe(true);
    expect(pairs(outbound.requests[0]!.headers)).toEqual(
      expect.arrayContaining(["Connection: Upgrade", "Upgrade: SPDY/3.1"]),
    );
    expect(answer).toMatchObject({ status: 101 });
    const rejected = proxied(() => upstreamResponse(200), { headers, protocol: "http/1.1" });
    await expect(rejected).rejects.toMatchObject({ code: 503, message: "invalid upgrade response: status code 200" });
  });

  test("sends its response to the client, without headers that only servers of this cluster may set", async () => {
    const dropped = ["Transfer-Encoding", "chunked", "X-Evenkeel-Not-Served", "a", "Access-Control-Allow-Origin", "*"];
    const kept = ["Warning", "299 - a", "Warning", "299 - b", "ETag", '"1"'];
    const { answer } = await proxied(() => upstreamResponse(409, [...dropped, ...kept], "no"));
    expect(answer).toMatchObject({ status: 409, headers: { warning: ["299 - a", "299 - b"], etag: '"1"' } });
    expect(Object.keys(answer.headers)).toEqual(["warning", "etag"]);
  });

  test("cannot redirect a client", async () => {
    const { answer } = await proxied(() => upstreamResponse(302, ["Location", "https://elsewhere/"]));
    expect(answer.status).toBe(502);
    expect(bodyJson(answer)).toMatchObject({
      kind: "Status",
      code: 502,
      message: "the backend attempted to redirect this request, which is not permitted",
    });
    expect((await proxied(() => upstreamResponse(304))).answer.status).toBe(304);
  });

  test("also serves a request that a verified peer has proxied", async () => {
    const { outbound } = await proxied(() => jsonUpstreamResponse({}), {}, { isVerifiedPeer: true, isProxied: true });
    expect(outbound.requests).toHaveLength(1);
  });
});

describe("a request whose proxying fails", () => {
  test("returns 503 with Retry-After, and triggers an availability check", async () => {
    const reported: string[] = [];
    const failed = proxied(failing("connect"), {}, {}, { onUnreachable: (name) => void reported.push(name) });
    await expect(failed).rejects.toMatchObject({ code: 503, details: { retryAfterSeconds: 1 } });
    expect(reported).toEqual(["v1.metrics.example.com"]);
    const gone = { kind: "unresolved", message: "x" } as const;
    await expect(proxied(() => jsonUpstreamResponse({}), {}, {}, { resolution: gone })).rejects.toMatchObject({
      code: 503,
      message: "service unavailable",
      details: { retryAfterSeconds: 1 },
    });
  });

  test("is sent to another endpoint if no byte of it was sent", async () => {
    let calls = 0;
    const second: Respond = (request) => (++calls === 1 ? failing("connect")(request) : jsonUpstreamResponse({}));
    const { outbound, answer } = await proxied(second, { method: "POST" }, { body: bufferedBody(BODY) });
    expect(answer.status).toBe(200);
    expect(outbound.requests.map(({ to }) => to.address.host)).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  test.each<[rule: string, method: string, attempts: number, details: object | undefined]>([
    ["a write is not repeated, and the response has no Retry-After", "POST", 1, undefined],
    ["a read is repeated at another endpoint", "GET", 2, { retryAfterSeconds: 1 }],
  ])("that was already sent: %s", async (_rule, method, attempts, details) => {
    const outbound = new FakeOutbound(failing("reset", true));
    await expect(proxied(outbound, { method })).rejects.toMatchObject({ code: 503, details });
    expect(outbound.requests).toHaveLength(attempts);
  });

  test("is not sent to another endpoint once its body has been read", async () => {
    const outbound = new FakeOutbound(async ({ body }) => {
      await body![Symbol.asyncIterator]().next();
      return failing("tls")(undefined!);
    });
    const failed = proxied(outbound, { method: "POST" }, { body: bufferedBody(BODY) });
    await expect(failed).rejects.toMatchObject({ code: 503 });
    expect(outbound.requests).toHaveLength(1);
  });

  test("triggers no availability check if its client has disconnected", async () => {
    const reported: string[] = [];
    const gone = { signal: AbortSignal.abort() };
    const failed = proxied(failing("aborted", true), {}, gone, { onUnreachable: (name) => void reported.push(name) });
    await expect(failed).rejects.toMatchObject({ code: 503 });
    expect(reported).toEqual([]);
  });
});

test("discovery of a group version times out after five seconds and triggers an availability check", async () => {
  const world = new World({ seed: 1 });
  const reported: string[] = [];
  const hanging: Respond = (request) =>
    new Promise((_resolve, reject) => {
      const giveUp = (): void => void Promise.resolve(failing("aborted", true)(request)).catch(reject);
      request.signal.addEventListener("abort", giveUp);
    });
  const more = { clock: world.clock, onUnreachable: (name: string): void => void reported.push(name) };
  const failed = proxied(hanging, { url: "/apis/metrics.example.com/v1" }, {}, more);
  const rejected = expect(failed).rejects.toMatchObject({ code: 503, details: { retryAfterSeconds: 1 } });
  await world.advance(4_999);
  expect(reported).toEqual([]);
  await world.advance(1);
  await rejected;
  expect(reported).toEqual(["v1.metrics.example.com"]);
});

interface More {
  readonly resolution?: Resolution;
  readonly onUnreachable?: (name: string) => void;
  readonly clock?: Clock;
}

async function proxied(
  answering: Respond | FakeOutbound,
  { protocol = "h2", ...asked }: RequestOptions & { protocol?: "h2" | "http/1.1" } = {},
  changes: Partial<WithUser> = {},
  more: More = {},
): Promise<{ readonly outbound: FakeOutbound; readonly answer: ApiResponse }> {
  const outbound = answering instanceof FakeOutbound ? answering : new FakeOutbound(answering);
  const addresses = ["10.0.0.1", "10.0.0.2"].map((host) => ({ host, port: 8443 }));
  const filter = aggregationProxy({
    find: () => ({ apiService: remote(), isAvailable: true }),
    resolve: () => more.resolution ?? { kind: "resolved", addresses },
    outbound,
    clock: more.clock ?? createSystemClock(),
    random: { float: () => 0, bytes: (length) => Buffer.alloc(length) },
    log: SILENT_LOG,
    onUnreachable: more.onUnreachable ?? (() => undefined),
  });
  const connection = { protocol, remoteAddress: "10.9.9.9", clientChain: [] };
  const request = userRequest({ url: URL, ...asked }, { connection, ...changes });
  return { outbound, answer: await filter(() => Promise.resolve(HERE))(request) };
}

function pairs(headers: readonly string[]): string[] {
  const lines: string[] = [];
  for (let index = 0; index < headers.length; index += 2) lines.push(`${headers[index]}: ${headers[index + 1]}`);
  return lines;
}
