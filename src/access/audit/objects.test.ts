import { describe, expect, test } from "vitest";
import { compactJson, OBJECT_BYTES_MAX, readAuditObject, type ReadBody } from "./objects.ts";

function read(
  text: string,
  options: { mediaType?: string; read?: ReadBody; omitManagedFields?: boolean } = {},
): unknown {
  const { mediaType = "application/json", read: reader, omitManagedFields = false } = options;
  const object = readAuditObject(Buffer.from(text), { mediaType, read: reader, omitManagedFields });
  return object.kind === "json" ? object.text : object;
}

test.each([
  ['{ "a" : [ 1 , 2 ],\n\t"b c": "d  e" }', '{"a":[1,2],"b c":"d  e"}'],
  [String.raw`{"a\" ": "\\" , "b": " \\\" "}`, String.raw`{"a\" ":"\\","b":" \\\" "}`],
  ["  3 \r\n", "3"],
  ["[]", "[]"],
])("compactJson removes whitespace outside of strings: %j", (text, compact) => {
  expect(compactJson(text)).toBe(compact);
});

describe("a body", () => {
  test("of JSON keeps the digits of numbers", () => {
    expect(read('{"n": 12345678901234567890.10}')).toBe('{"n":12345678901234567890.10}');
  });

  test("that is malformed JSON is omitted without an annotation", () => {
    expect(read("{bad")).toEqual({ kind: "malformed" });
    expect(read("{bad", { mediaType: "application/merge-patch+json" })).toEqual({ kind: "malformed" });
  });

  test("of another media type is decoded if possible, and otherwise omitted with its media type as the reason", () => {
    const mediaType = "application/yaml";
    expect(read("a: 1", { mediaType, read: () => ({ a: 1 }) })).toBe('{"a":1}');
    expect(read("a: 1", { mediaType })).toEqual({ kind: "omitted", why: mediaType });
    const failing = (): never => {
      throw new Error("no");
    };
    expect(read("a: 1", { mediaType, read: failing })).toEqual({ kind: "omitted", why: mediaType });
  });

  test("that is JSON is parsed as JSON, regardless of its media type", () => {
    expect(read('{"a": 1}', { mediaType: "application/apply-patch+yaml" })).toBe('{"a":1}');
  });

  test("that is too large is omitted with its size as the reason", () => {
    const text = `"${" ".repeat(OBJECT_BYTES_MAX)}"`;
    expect(read(text)).toEqual({ kind: "omitted", why: `${OBJECT_BYTES_MAX + 2} bytes` });
  });
});

describe("managed fields are omitted from", () => {
  const metadata = '{"name":"x","managedFields":[{}]}';
  test.each([
    [`{"kind":"A","metadata":${metadata}}`, '{"kind":"A","metadata":{"name":"x"}}'],
    [`{"items":[{"metadata":${metadata}},7]}`, '{"items":[{"metadata":{"name":"x"}},7]}'],
    [`{"rows":[{"object":{"metadata":${metadata}}},{}]}`, '{"rows":[{"object":{"metadata":{"name":"x"}}},{}]}'],
    ['{"metadata":{"n":12345678901234567890}}', '{"metadata":{"n":12345678901234567890}}'],
    ['{"metadata":null,"items":{}}', '{"metadata":null,"items":{}}'],
    ["[1]", "[1]"],
  ])("%s", (text, without) => {
    expect(read(text, { omitManagedFields: true })).toBe(without);
  });
});
