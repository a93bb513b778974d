import { describe, expect, test } from "vitest";
import { type ApiRequest, type ApiResponse, NO_BODY } from "../message.ts";
import { OpenRequests } from "../open-requests.ts";
import {
  apiRequest,
  bodyJson,
  infoRequest,
  type RequestOptions,
} from "../../../../test/testing/serving/http/requests.ts";
import { goaway } from "./goaway.ts";
import { shuttingDown } from "./shutting-down.ts";

const OK: ApiResponse = { status: 200, headers: { a: "b" }, body: NO_BODY };
const response = (): Promise<ApiResponse> => Promise.resolve(OK);

describe("the shuttingDown filter", () => {
  function filter(options: { isRefusing: boolean; sendsRetryAfter?: boolean; isExempt?: boolean }): {
    ask: (request: RequestOptions & { claims?: ReadonlyMap<string, readonly string[]> }) => Promise<ApiResponse>;
    open: OpenRequests;
  } {
    const open = new OpenRequests();
    const { isRefusing, sendsRetryAfter = false, isExempt = false } = options;
    const handler = shuttingDown({
      isRejecting: () => isRefusing,
      sendsRetryAfter,
      isExempt: () => isExempt,
      open,
    })(response);
    return { ask: ({ claims, ...asked }) => handler({ ...infoRequest(asked), ...(claims && { claims }) }), open };
  }

  test("passes requests before the shutdown, and exempt requests also during the shutdown", async () => {
    expect(await filter({ isRefusing: false }).ask({ url: "/api/v1/pods" })).toBe(OK);
    expect(await filter({ isRefusing: true, isExempt: true }).ask({ url: "/readyz" })).toBe(OK);
  });

  test.each([
    ["GET", "/api/v1/pods"],
    ["GET", "/api/v1/pods?watch=true"],
    ["POST", "/api/v1/namespaces/default/pods"],
    ["GET", "/apis"],
  ])("rejects %s %s with 503 and Retry-After", async (method, url) => {
    const rejection = await filter({ isRefusing: true }).ask({ method, url });
    expect(rejection.status).toBe(503);
    expect(rejection.headers).toEqual({
      "content-type": "application/json",
      "cache-control": "no-cache, private",
      "retry-after": "1",
      "x-content-type-options": "nosniff",
    });
    expect(bodyJson(rejection)).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "apiserver is shutting down",
      reason: "ServiceUnavailable",
      code: 503,
    });
  });

  test("returns 429 and closes the connection if sendsRetryAfter is set", async () => {
    const { status, headers, body } = await filter({ isRefusing: true, sendsRetryAfter: true }).ask({ url: "/apis" });
    expect(status).toBe(429);
    expect(headers).toEqual({
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-cache, private",
      "x-content-type-options": "nosniff",
      "retry-after": "5",
      connection: "close",
    });
    expect(body.kind === "bytes" && Buffer.concat(body.chunks).toString()).toBe(
      "The apiserver is shutting down, please try again later.\n",
    );
  });

  test("returns 503 to a peer that proxied the request, so that the peer can try another server", async () => {
    const { ask } = filter({ isRefusing: true, sendsRetryAfter: true });
    const claims = new Map([["x-kubernetes-peer-proxied", ["true"]]]);
    const rejection = await ask({ url: "/api/v1/pods", claims });
    expect(rejection).toMatchObject({ status: 503, headers: { "retry-after": "1", connection: "close" } });
  });

  test("rejects a client with the user agent of kube-apiserver too", async () => {
    const headers = { "user-agent": "kube-apiserver/v1.36.4" };
    expect((await filter({ isRefusing: true }).ask({ url: "/apis", headers })).status).toBe(503);
  });
});

describe("the goaway filter", () => {
  const asked = (protocol: ApiRequest["connection"]["protocol"]): ApiRequest => {
    const request = apiRequest();
    return { ...request, connection: { ...request.connection, protocol } };
  };
  const handler = (chance: number, drawn: number): ReturnType<ReturnType<typeof goaway>> =>
    goaway({ chance, random: { float: () => drawn, bytes: () => new Uint8Array() } })(response);

  test("closes the connection of an HTTP/2 response with the given probability", async () => {
    expect((await handler(0.02, 0.0199)(asked("h2"))).headers).toEqual({ a: "b", connection: "close" });
    expect(await handler(0.02, 0.02)(asked("h2"))).toBe(OK);
  });

  test("keeps the connection if the probability is 0 or the protocol is not HTTP/2", async () => {
    expect(await handler(0, 0)(asked("h2"))).toBe(OK);
    expect(await handler(0.02, 0)(asked("http/1.1"))).toBe(OK);
    expect(await handler(0.02, 0)(asked("in-process"))).toBe(OK);
  });
});
