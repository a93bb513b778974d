import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { applyMergePatch } from "./merge-patch.ts";

/** RFC 7386, appendix A. */
const APPENDIX: readonly (readonly [target: string, patch: string, result: string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', "{}"],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', "null", "null"],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ["[1,2]", '{"a":"b","c":null}', '{"a":"b"}'],
  ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
];

describe("applyMergePatch", () => {
  test.each(APPENDIX)("follows RFC 7386: %s patched with %s is %s", (target, patch, result) => {
    expect(JSON.stringify(applyMergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(result);
  });

  test.each([
    ["in a new list", "{}", '{"a":[{"b":null,"c":1},null]}', '{"a":[{"c":1},null]}'],
    ["in a list that replaces a list", '{"a":[1]}', '{"a":[{"b":null}]}', '{"a":[{}]}'],
    ["except in a list that replaces a map", '{"a":{}}', '{"a":[{"b":null}]}', '{"a":[{"b":null}]}'],
  ])("omits nulls %s, as in Kubernetes", (_where, target, patch, result) => {
    expect(JSON.stringify(applyMergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(result);
  });

  test("changes neither the target nor the patch", () => {
    const target = { a: { b: { c: 1 } }, d: 1 };
    const patch = { a: { b: { c: null, e: 1 } }, d: null };
    applyMergePatch(target, patch);
    expect(target).toEqual({ a: { b: { c: 1 } }, d: 1 });
    expect(patch).toEqual({ a: { b: { c: null, e: 1 } }, d: null });
  });

  test.each([
    ["{}", '{"__proto__":{"polluted":true}}', '{"__proto__":{"polluted":true}}'],
    ['{"__proto__":{"a":1,"b":2}}', '{"__proto__":{"a":null}}', '{"__proto__":{"b":2}}'],
    ['{"__proto__":1,"x":1}', '{"__proto__":null}', '{"x":1}'],
    ["{}", '{"constructor":{"prototype":{"polluted":true}}}', '{"constructor":{"prototype":{"polluted":true}}}'],
    ["{}", '{"toString":{"a":null}}', '{"toString":{}}'],
  ])("for %s patched with %s does not change a prototype", (target, patch, result) => {
    expect(JSON.stringify(applyMergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(result);
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });

  test("handles values that are nested as deeply as a request body may be", () => {
    const text = `${'{"a":'.repeat(500)}1${"}".repeat(500)}`;
    expect(JSON.stringify(applyMergePatch({}, JSON.parse(text)))).toBe(text);
  });
});
