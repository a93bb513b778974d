import { describe, expect, test } from "vitest";
import {
  badRequest,
  forbidden,
  notFound,
  serviceUnavailable,
  StatusError,
  unknownResource,
} from "../../../meta/status-error.ts";
import { bytesBody, NO_BODY, type ApiRequest, type ApiResponse } from "../message.ts";
import { errorResponse, jsonResponse, pageNotFound } from "../respond.ts";
import { infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import { notReadyResponses, type EarlyRequest } from "./not-ready-responses.ts";

const PODS = { group: "", resource: "pods" };
const POD = "/api/v1/namespaces/a/pods/x";
const NO_PATH = "the request has been made before all known HTTP paths have been installed, please try again";
const NOT_SURE = "this server is still starting and has not loaded all data yet";
const OWN: ApiRequest["connection"] = { protocol: "in-process", remoteAddress: "self", clientChain: [] };

interface Asked {
  readonly url?: string;
  readonly isProxied?: boolean;
  readonly connection?: ApiRequest["connection"];
  readonly isReady?: () => boolean;
}

function ask(response: ApiResponse | Error, asked: Asked = {}): Promise<ApiResponse> {
  const { url = POD, isProxied = false, isReady = (): boolean => false } = asked;
  const request: EarlyRequest = { ...infoRequest({ url }), isProxied };
  return notReadyResponses({
    hasBeenReady: isReady,
    retryAfterSeconds: () => 7,
    isLoopback: ({ connection }) => connection === OWN,
    isFromAnotherServer: (_request, { headers }) => headers["x-not-ours"] !== undefined,
  })(() => (response instanceof Error ? Promise.reject(response) : Promise.resolve(response)))({
    ...request,
    ...(asked.connection === undefined ? {} : { connection: asked.connection }),
  });
}

/** Returns the error that replaces the response; undefined if the response passes unchanged. */
async function changed(answer: ApiResponse | Error, asked: Asked = {}): Promise<StatusError | undefined> {
  try {
    expect(await ask(answer, asked)).toBe(answer);
    return undefined;
  } catch (thrown) {
    if (thrown === answer) return undefined;
    expect(thrown).toBeInstanceOf(StatusError);
    return thrown as StatusError;
  }
}

const nameless = new StatusError("NotFound", "no server serves it", { details: {} });
const noPod = notFound(PODS, "x");
const noRight = forbidden(PODS, "x", "no");

describe("before the server has been ready,", () => {
  test.each([
    ["the 404 page of an unknown path", pageNotFound()],
    ["a thrown 404 of an unknown resource", unknownResource()],
    ["a returned 404 of an unknown resource", errorResponse(unknownResource())],
    ["the 404 of the peer proxy for an unserved resource", nameless],
  ])("%s becomes 503 with kube-apiserver's message", async (_what, response) => {
    expect(await changed(response)).toMatchObject({
      reason: "ServiceUnavailable",
      message: NO_PATH,
      details: { retryAfterSeconds: 7 },
    });
  });

  test.each([
    ["a thrown 404 of an object", noPod, 'pods "x" not found'],
    ["a returned 404 of an object", errorResponse(noPod), 'pods "x" not found'],
    ["a thrown 403 of an object", noRight, 'pods "x" is forbidden: no'],
    ["a returned 403 of an object", errorResponse(noRight), 'pods "x" is forbidden: no'],
    ["a thrown 403 of a path", new StatusError("Forbidden", "forbidden: no", { details: {} }), "forbidden: no"],
  ])("%s becomes 503 with the original message appended", async (_what, answer, message) => {
    expect(await changed(answer)).toMatchObject({
      reason: "ServiceUnavailable",
      message: `${NOT_SURE}: ${message}`,
      details: { retryAfterSeconds: 7 },
    });
  });

  test.each([
    ["empty", { status: 404, headers: {}, body: NO_BODY }],
    [
      "invalid JSON",
      { status: 404, headers: { "content-type": "application/json" }, body: bytesBody(Buffer.from("{")) },
    ],
    ["JSON other than a Status", jsonResponse(403, ["x"])],
    ["a Status without content", jsonResponse(403, { message: 1, details: null })],
    ["plain text", { ...pageNotFound(), status: 403 }],
  ] satisfies [string, ApiResponse][])("a 404 or 403 whose body is %s becomes 503", async (_what, answer) => {
    expect(await changed(answer)).toMatchObject({ reason: "ServiceUnavailable", message: NOT_SURE });
  });

  test("a stream with status 404 becomes 503, and the stream is opened and closed", async () => {
    let opened = 0;
    const stream: ApiResponse = { status: 404, headers: {}, body: { kind: "stream", open: () => void opened++ } };
    expect(await changed(stream)).toMatchObject({ message: NOT_SURE });
    expect(opened).toBe(1);
  });

  test.each([
    [
      "a watch that has begun",
      { status: 200, headers: {}, body: { kind: "stream", open: () => expect.unreachable() } },
    ],
    ["an object", jsonResponse(200, {})],
    ["a conflict", jsonResponse(409, {})],
    ["401", new StatusError("Unauthorized", "Unauthorized")],
    ["400", badRequest("no")],
    ["503 with another message", serviceUnavailable("the store is away", 1)],
    ["an unexpected error", new Error("bug")],
    ["a response of another server", { ...pageNotFound(), headers: { "x-not-ours": "b" } }],
  ] satisfies [string, ApiResponse | Error][])("this response passes unchanged: %s", async (_what, answer) => {
    expect(await changed(answer)).toBeUndefined();
  });

  test.each(["/healthz/nosuch", "/livez/nosuch", "/readyz/nosuch", "/metrics/nosuch", "/metrics"])(
    "404 and 403 of %s pass unchanged",
    async (url) => {
      expect(await changed(pageNotFound(), { url })).toBeUndefined();
      expect(await changed(noRight, { url })).toBeUndefined();
    },
  );

  test("a 404 to a loopback request passes unchanged", async () => {
    expect(await changed(noPod, { connection: OWN })).toBeUndefined();
  });

  test("a peer receives the 404 of an unserved path, and 404 and 403 of a discovery document", async () => {
    expect(await changed(pageNotFound(), { isProxied: true })).toBeUndefined();
    expect(await changed(nameless, { isProxied: true })).toBeUndefined();
    expect(await changed(pageNotFound(), { isProxied: true, url: "/api" })).toBeUndefined();
    expect(await changed(noRight, { isProxied: true, url: "/apis" })).toBeUndefined();
  });

  test("a peer receives 503 instead of the 404 or 403 of an object", async () => {
    expect(await changed(noPod, { isProxied: true })).toMatchObject({ reason: "ServiceUnavailable" });
    expect(await changed(noRight, { isProxied: true })).toMatchObject({ reason: "ServiceUnavailable" });
  });

  test("a request that arrived before readiness returns 503 even if the server becomes ready while it is handled", async () => {
    let looks = 0;
    const isReady = (): boolean => looks++ > 0;
    expect(await changed(noPod, { isReady })).toMatchObject({ reason: "ServiceUnavailable" });
  });
});

test.each([pageNotFound(), noPod, noRight, errorResponse(noRight)])(
  "after the server has been ready every response passes unchanged",
  async (answer) => {
    expect(await changed(answer, { isReady: () => true })).toBeUndefined();
  },
);
