import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { World } from "../../tools/simulator/world.ts";
import { Readiness } from "../readiness.ts";
import { retryingHttp } from "./retrying-http.ts";
import type { HttpLibrary, Observable, RequestContext, ResponseContext } from "./shapes.ts";

const URL_OF_PODS = "https://host/api/v1/namespaces/default/pods";

function observe<T>(promise: Promise<T>): Observable<T> {
  return { toPromise: () => promise, pipe: (change) => observe(promise.then(change)) };
}

function posting(body: unknown): RequestContext {
  return { getUrl: () => URL_OF_PODS, getHttpMethod: () => "POST", getBody: () => body, setHeaderParam: () => {} };
}

class Busy implements HttpLibrary {
  attempts = 0;
  readonly discarded: string[] = [];

  send(): Observable<ResponseContext> {
    const attempt = ++this.attempts;
    const text = async (): Promise<string> => {
      this.discarded.push(`text ${attempt}`);
      throw new Error("cut");
    };
    return observe(Promise.resolve({ httpStatusCode: 503, headers: { "retry-after": "1" }, body: { text } }));
  }
}

async function attemptsWith(body: unknown): Promise<Busy> {
  const world = new World({ seed: 1 });
  const busy = new Busy();
  const http = retryingHttp(busy, {
    lane: { clock: world.clock, retriesMax: 2, readiness: new Readiness({}) },
    authenticateAgain: async () => {},
    onceConnected: (_request, callback) => callback(),
  });
  const response = await world.run(http.send(posting(body)).toPromise());
  expect(response.httpStatusCode).toBe(503);
  return busy;
}

test.each([
  ["no body", undefined],
  ["text", "{}"],
  ["bytes", new Uint8Array(2)],
  ["a form", new URLSearchParams("a=b")],
])("a request with %s is retried", async (_what, body) => {
  expect((await attemptsWith(body)).attempts).toBe(3);
});

test.each([
  ["a Node stream", () => Readable.from(["{}"])],
  ["a web stream", () => new ReadableStream()],
  ["an iterator", () => ["{}"][Symbol.iterator]()],
  ["a multipart form", () => new FormData()],
])("a request with %s is not retried, because its body cannot be sent twice", async (_what, make) => {
  expect((await attemptsWith(make())).attempts).toBe(1);
});

test("the bodies of responses that lead to a retry are read to their end; an error while reading them is ignored, and the caller receives the last response", async () => {
  expect((await attemptsWith("{}")).discarded).toEqual(["text 1", "text 2"]);
});
