import { describe, expect, test } from "vitest";
import { FieldSet } from "./field-set.ts";
import { fromFieldsV1, toFieldsV1 } from "./fields-v1.ts";
import { FieldSetError } from "./path-element.ts";

describe("fieldsV1", () => {
  test.each([
    ["an empty set", {}],
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
    ["names of prototype members", { "f:__proto__": { "f:constructor": {} } }],
  ])("%s is decoded and encoded unchanged", (_, fields) => {
    expect(JSON.stringify(toFieldsV1(fromFieldsV1(fields)))).toBe(JSON.stringify(fields));
  });

  test.each([
    ["order", { "f:b": {}, "f:a": {} }, { "f:a": {}, "f:b": {} }],
    ["the order of key fields", { 'k:{"b": 1, "a": "x"}': {} }, { 'k:{"a":"x","b":1}': {} }],
    ["numbers", { "v:1.0": {}, "i:01": {} }, { "v:1": {}, "i:1": {} }],
    ["null", { "f:a": null }, { "f:a": {} }],
    ["a needless dot", { "f:a": { ".": {} }, ".": {} }, { "f:a": {} }],
    ["unknown kinds of steps", { "f:a": {}, "z:later": { "f:b": {} } }, { "f:a": {} }],
  ])("%s is converted to canonical form", (_, sent, canonical) => {
    expect(JSON.stringify(toFieldsV1(fromFieldsV1(sent)))).toBe(JSON.stringify(canonical));
  });

  test.each([
    ["a list", []],
    ["a string", "f:a"],
    ["a member that is not an object", { "f:a": 1 }],
    ["a key of one character", { a: {} }],
    ["a key without a colon", { data: {} }],
    ["a value that is not JSON", { "v:{": {} }],
    ["a value with trailing text", { 'v:"a" 1': {} }],
    ["a list item's key that is not an object", { "k:1": {} }],
    ["a truncated key of a list item", { 'k:{"a":"b"': {} }],
    ["an index that is not a number", { "i:x": {} }],
    ["an index that is too large", { [`i:${"9".repeat(40)}`]: {} }],
    ["a deeply nested value", { [`v:${"[".repeat(100_000)}${"]".repeat(100_000)}`]: {} }],
  ])("%s is rejected", (_, fields) => {
    expect(() => fromFieldsV1(fields)).toThrow(FieldSetError);
  });

  test("is rejected if it is nested too deeply", () => {
    let fields: Record<string, unknown> = {};
    for (let depth = 0; depth < 10_000; depth++) fields = { "f:a": fields };
    expect(() => fromFieldsV1(fields)).toThrow("fieldsV1 nests deeper than 500");
  });

  test("of an absent value is an empty set", () => {
    expect(fromFieldsV1(undefined).equals(FieldSet.of())).toBe(true);
    expect(fromFieldsV1(null).isEmpty).toBe(true);
  });
});
