import { describe, expect, test } from "vitest";
import { FieldSet } from "./field-set.ts";
import { fromFieldsV1, toFieldsV1 } from "./fields-v1.ts";
import { FieldSetError } from "./path-element.ts";

describe("fieldsV1", () => {
  test.each([
    ["nothing", {}],
    ["a leaf", { "f:data": {} }],
    ["a member with others below it", { "f:data": { ".": {}, "f:a": {} } }],
    [
      "fields before keys before values before indexes",
      { "f:x": { ".": {}, "f:b": {}, 'k:{"name":"c"}': {}, 'v:"a"': {}, "i:0": {} } },
    ],
    [
      "numbers by value",
      { "f:ports": { 'k:{"port":80,"protocol":"TCP"}': {}, 'k:{"port":443,"protocol":"TCP"}': {} } },
    ],
    ["names by letters", { "f:containers": { 'k:{"name":"a"}': {}, 'k:{"name":"a1"}': {}, 'k:{"name":"b"}': {} } }],
    ["set items of several types", { "f:set": { "v:1": {}, "v:20": {}, 'v:"1"': {}, "v:false": {}, "v:true": {} } }],
    ["text that Go escapes", { "f:set": { 'v:"\\"quoted\\""': {}, 'v:"\\u003ca\\u003e \\u0026 b"': {} } }],
    ["names that objects answer to", { "f:__proto__": { "f:constructor": {} } }],
  ])("%s is read and written unchanged", (_, fields) => {
    expect(JSON.stringify(toFieldsV1(fromFieldsV1(fields)))).toBe(JSON.stringify(fields));
  });

  test.each([
    ["order", { "f:b": {}, "f:a": {} }, { "f:a": {}, "f:b": {} }],
    ["the order of key fields", { 'k:{"b": 1, "a": "x"}': {} }, { 'k:{"a":"x","b":1}': {} }],
    ["numbers", { "v:1.0": {}, "i:01": {} }, { "v:1": {}, "i:1": {} }],
    ["null for nothing", { "f:a": null }, { "f:a": {} }],
    ["a needless dot", { "f:a": { ".": {} }, ".": {} }, { "f:a": {} }],
    ["kinds of steps it does not know", { "f:a": {}, "z:later": { "f:b": {} } }, { "f:a": {} }],
  ])("%s is brought into canonical form", (_, sent, canonical) => {
    expect(JSON.stringify(toFieldsV1(fromFieldsV1(sent)))).toBe(JSON.stringify(canonical));
  });

  test.each([
    ["a list", []],
    ["a text", "f:a"],
    ["a member that is no object", { "f:a": 1 }],
    ["a key of one letter", { a: {} }],
    ["a key without a colon", { data: {} }],
    ["a value that is no JSON", { "v:{": {} }],
    ["a value with something after it", { 'v:"a" 1': {} }],
    ["a list item's key that is no object", { "k:1": {} }],
    ["a list item's key that ends too early", { 'k:{"a":"b"': {} }],
    ["an index that is no number", { "i:x": {} }],
    ["an index beyond all lists", { [`i:${"9".repeat(40)}`]: {} }],
    ["a value that nests without end", { [`v:${"[".repeat(100_000)}${"]".repeat(100_000)}`]: {} }],
  ])("%s is refused", (_, fields) => {
    expect(() => fromFieldsV1(fields)).toThrow(FieldSetError);
  });

  test("nesting is bounded", () => {
    let fields: Record<string, unknown> = {};
    for (let depth = 0; depth < 10_000; depth++) fields = { "f:a": fields };
    expect(() => fromFieldsV1(fields)).toThrow("fieldsV1 nests deeper than 500");
  });

  test("absent fields are an empty set", () => {
    expect(fromFieldsV1(undefined).equals(FieldSet.of())).toBe(true);
    expect(fromFieldsV1(null).isEmpty).toBe(true);
  });
});
