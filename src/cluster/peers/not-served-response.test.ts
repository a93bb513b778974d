import { upstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { expect, test } from "vitest";
import { isNotServedResponse } from "./not-served-response.ts";

const TEXT = ["Content-Type", "text/plain; charset=utf-8"];
const JSON_TYPE = ["content-type", "application/json"];
const UNKNOWN = JSON.stringify({ kind: "Status", message: "the server could not find the requested resource" });

test.each([
  { what: "a plain 404 page", answer: upstreamResponse(404, TEXT, "404 page not found\n"), isNotServed: true },
  { what: "a Status about the resource", answer: upstreamResponse(404, JSON_TYPE, UNKNOWN), isNotServed: true },
  {
    what: "an absent object",
    answer: upstreamResponse(404, JSON_TYPE, '{"message":"pods \\"x\\" not found"}'),
    isNotServed: false,
  },
  { what: "a body that cannot be parsed", answer: upstreamResponse(404, JSON_TYPE, "{"), isNotServed: false },
  { what: "a body that is not an object", answer: upstreamResponse(404, JSON_TYPE, "null"), isNotServed: false },
  { what: "a response without a content type", answer: upstreamResponse(404, [], UNKNOWN), isNotServed: false },
  {
    what: "a stream",
    answer: { status: 404, headers: JSON_TYPE, body: { kind: "stream" as const, open: () => {} } },
    isNotServed: false,
  },
  { what: "text with another status", answer: upstreamResponse(403, TEXT, "no"), isNotServed: false },
])("$what: not served is $isNotServed", ({ answer, isNotServed }) => {
  expect(isNotServedResponse(answer)).toBe(isNotServed);
});
