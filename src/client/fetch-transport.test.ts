import { expect, test } from "vitest";
import { createFetchTransport, type FetchFunction } from "./fetch-transport.ts";
import { readBody } from "./transport.ts";

interface Fetched {
  readonly url: string;
  readonly init: Parameters<FetchFunction>[1];
}

function fakeFetch(pieces: readonly string[]): { fetch: FetchFunction; fetched: Fetched[]; canceled: () => number } {
  const fetched: Fetched[] = [];
  const left = [...pieces];
  let canceled = 0;
  const reader = {
    read: async () => {
      const piece = left.shift();
      return piece === undefined ? { done: true } : { done: false, value: new TextEncoder().encode(piece) };
    },
    cancel: async () => void canceled++,
  };
  const fetch: FetchFunction = async (url, init) => {
    fetched.push({ url, init });
    return { status: 200, headers: new Headers({ "Retry-After": "3" }), body: { getReader: () => reader } };
  };
  return { fetch, fetched, canceled: () => canceled };
}

test("a request is sent unchanged, with its token, and redirects are not followed", async () => {
  const { fetch, fetched, canceled } = fakeFetch(["a", "b"]);
  const transport = createFetchTransport({ fetch, url: "https://host:1/", token: () => "t" });
  const response = await transport.send({
    method: "PUT",
    target: "/x?y",
    headers: { accept: "z" },
    body: new Uint8Array([1]),
  });
  expect(response.headers["retry-after"]).toBe("3");
  expect(new TextDecoder().decode(await readBody(response.body, 10))).toBe("ab");
  expect(canceled()).toBe(0);
  const headers = { accept: "z", authorization: "Bearer t" };
  expect(fetched).toEqual([
    { url: "https://host:1/x?y", init: { method: "PUT", headers, body: new Uint8Array([1]), redirect: "manual" } },
  ]);
});

test("a body that the caller stops reading is canceled", async () => {
  const { fetch, canceled } = fakeFetch(["a", "b"]);
  const { body } = await createFetchTransport({ fetch, url: "" }).send({ method: "GET", target: "/", headers: {} });
  await expect(readBody(body, 0)).rejects.toMatchObject({ failure: "malformed" });
  expect(canceled()).toBe(1);
});
