import { describe, expect, test } from "vitest";
import { plainMedia, parseAccept, parseMediaType } from "./negotiate.ts";
import { headerValue } from "./message.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";

describe("an Accept header accepts plain JSON or not:", () => {
  test.each([
    [undefined, true],
    ["", true],
    ["application/json", true],
    ["*/*", true],
    ["Application/JSON; charset=utf-8", true],
    ["application/*", true],
    ["text/html, */*;q=0.1", true],
    [`${TABLE}, application/json`, true],
    ["application/vnd.kubernetes.protobuf, application/json", true],
    [TABLE, false],
    ["application/vnd.kubernetes.protobuf", false],
    ["text/html", false],
    ["application/json;q=0", false],
    ["application/json;q=x", false],
    [",,;;", false],
    ["application/json;AS=Table", false],
  ])("%j: %s", (header, isAccepted) => {
    expect(plainMedia(header) === "json").toBe(isAccepted);
  });
});

test("Accept clauses are sorted by descending quality, and clauses of equal quality keep their order", () => {
  const types = parseAccept("a/a;q=0.5, b/b, c/c;q=0.9, d/d, e/e;q=0").map(({ type }) => type);
  expect(types).toEqual(["b/b", "d/d", "c/c", "a/a"]);
});

test("parseAccept reads at most 64 clauses of a header", () => {
  expect(parseAccept("a/a,".repeat(100_000))).toHaveLength(64);
});

test("a media type is parsed with its parameters", () => {
  expect(parseMediaType(" Application/JSON ; Charset = UTF-8;=x;y")).toEqual({
    type: "application/json",
    parameters: new Map([["charset", "UTF-8"]]),
    quality: 1,
  });
});

test("headerValue joins a header that was sent several times", () => {
  expect(headerValue({ a: ["1", "2"], b: "3" }, "a")).toBe("1, 2");
  expect(headerValue({ b: "3" }, "b")).toBe("3");
  expect(headerValue({}, "a")).toBeUndefined();
});
