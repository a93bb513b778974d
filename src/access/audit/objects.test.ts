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
])("blanks outside of strings go: %j", (text, compact) => {
  expect(compactJson(text)).toBe(compact);
});

describe("a body", () => {
  test("of JSON is kept as it was written, numbers to the last digit", () => {
    expect(read('{"n": 12345678901234567890.10}')).toBe('{"n":12345678901234567890.10}');
  });

  test("that is no JSON is left out without a word, as nobody could read it", () => {
    expect(read("{bad")).toEqual({ kind: "malformed" });
    expect(read("{bad", { mediaType: "application/merge-patch+json" })).toEqual({ kind: "malformed" });
  });

  test("of another kind is read by who can, and left out with its type where nobody can", () => {
    const mediaType = "application/yaml";
    expect(read("a: 1", { mediaType, read: () => ({ a: 1 }) })).toBe('{"a":1}');
    expect(read("a: 1", { mediaType })).toEqual({ kind: "omitted", why: mediaType });
    const failing = (): never => {
      throw new Error("no");
    };
    expect(read("a: 1", { mediaType, read: failing })).toEqual({ kind: "omitted", why: mediaType });
  });

  test("of JSON is read as that, whatever it is called", () => {
    expect(read('{"a": 1}', { mediaType: "application/apply-patch+yaml" })).toBe('{"a":1}');
  });

  test("that is too large is left out with its size", () => {
    const text = `"${" ".repeat(OBJECT_BYTES_MAX)}"`;
    expect(read(text)).toEqual({ kind: "omitted", why: `${OBJECT_BYTES_MAX + 2} bytes` });
  });
});

describe("managed fields are left out", () => {
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
