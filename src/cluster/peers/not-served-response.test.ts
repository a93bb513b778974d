import { upstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { expect, test } from "vitest";
import { isNotServedResponse } from "./not-served-response.ts";

const TEXT = ["Content-Type", "text/plain; charset=utf-8"];
const JSON_TYPE = ["content-type", "application/json"];
const UNKNOWN = JSON.stringify({ kind: "Status", message: "the server could not find the requested resource" });

test.each([
  { what: "a plain 404 page", response: upstreamResponse(404, TEXT, "404 page not found\n"), isNotServed: true },
  { what: "a Status about the resource", response: upstreamResponse(404, JSON_TYPE, UNKNOWN), isNotServed: true },
  {
    what: "an absent object",
    response: upstreamResponse(404, JSON_TYPE, '{"message":"pods \\"x\\" not found"}'),
    isNotServed: false,
  },
  { what: "a body that cannot be parsed", response: upstreamResponse(404, JSON_TYPE, "{"), isNotServed: false },
  { what: "a body that is not an object", response: upstreamResponse(404, JSON_TYPE, "null"), isNotServed: false },
  { what: "a response without a content type", response: upstreamResponse(404, [], UNKNOWN), isNotServed: false },
  {
    what: "a stream",
    response: { status: 404, headers: JSON_TYPE, body: { kind: "stream" as const, open: () => {} } },
    isNotServed: false,
  },
  { what: "text with another status", response: upstreamResponse(403, TEXT, "no"), isNotServed: false },
])("isNotServed of $what is $isNotServed", ({ response, isNotServed }) => {
  expect(isNotServedResponse(response)).toBe(isNotServed);
});
