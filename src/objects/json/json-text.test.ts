import { describe, expect, test } from "vitest";
import {
  describeSyntaxError,
  findDuplicateMembers,
  JSON_DEPTH_MAX,
  measureJson,
  REPORTED_PATHS_LENGTH_MAX,
  REPORTED_PATHS_MAX,
} from "./json-text.ts";

/** The messages of Go 1.26's encoding/json for each text. */
const SENTENCES: readonly (readonly [text: string | Buffer, sentence: string])[] = [
  ["", "unexpected end of JSON input"],
  ["{", "unexpected end of JSON input"],
  ["}", "invalid character '}' looking for beginning of value"],
  ["[", "unexpected end of JSON input"],
  ["]", "invalid character ']' looking for beginning of value"],
  ["{]", "invalid character ']' looking for beginning of object key string"],
  ["[}", "invalid character '}' looking for beginning of value"],
  ['{"a"', "unexpected end of JSON input"],
  ['{"a":', "unexpected end of JSON input"],
  ['{"a":1', "unexpected end of JSON input"],
  ['{"a":1,', "unexpected end of JSON input"],
  ['{"a":1,}', "invalid character '}' looking for beginning of object key string"],
  ['{"a" 1}', "invalid character '1' after object key"],
  ["{a:1}", "invalid character 'a' looking for beginning of object key string"],
  ["{'a':1}", "invalid character '\\'' looking for beginning of object key string"],
  ["[1,", "unexpected end of JSON input"],
  ["[1,]", "invalid character ']' looking for beginning of value"],
  ["[1 2]", "invalid character '2' after array element"],
  ["[,]", "invalid character ',' looking for beginning of value"],
  ["nul", "invalid character ' ' in literal null (expecting 'l')"],
  ["nulL", "invalid character 'L' in literal null (expecting 'l')"],
  ["nuxl", "invalid character 'x' in literal null (expecting 'l')"],
  ["t", "invalid character ' ' in literal true (expecting 'r')"],
  ["trux", "invalid character 'x' in literal true (expecting 'e')"],
  ["falze", "invalid character 'z' in literal false (expecting 's')"],
  ["f", "invalid character ' ' in literal false (expecting 'a')"],
  ["fals", "invalid character ' ' in literal false (expecting 'e')"],
  ["tr ue", "invalid character ' ' in literal true (expecting 'u')"],
  ['"abc', "unexpected end of JSON input"],
  ['"a\\', "invalid character ' ' in string escape code"],
  ['"a\\x"', "invalid character 'x' in string escape code"],
  ['"a\\u12"', "invalid character '\"' in \\u hexadecimal character escape"],
  ['"a\\u12G4"', "invalid character 'G' in \\u hexadecimal character escape"],
  ['"\\u"', "invalid character '\"' in \\u hexadecimal character escape"],
  ['"a\nb"', "invalid character '\\n' in string literal"],
  ['"a\tb"', "invalid character '\\t' in string literal"],
  ['"\u0001"', "invalid character '\\x01' in string literal"],
  ['"\u007f"x', "invalid character 'x' after top-level value"],
  ["-", "invalid character ' ' in numeric literal"],
  ["-a", "invalid character 'a' in numeric literal"],
  ["--1", "invalid character '-' in numeric literal"],
  ["01", "invalid character '1' after top-level value"],
  ["-01", "invalid character '1' after top-level value"],
  ["1.", "invalid character ' ' after decimal point in numeric literal"],
  ["1.a", "invalid character 'a' after decimal point in numeric literal"],
  ['1."', "invalid character '\"' after decimal point in numeric literal"],
  ["1e", "invalid character ' ' in exponent of numeric literal"],
  ["1ex", "invalid character 'x' in exponent of numeric literal"],
  ["1e+", "invalid character ' ' in exponent of numeric literal"],
  ["1e+x", "invalid character 'x' in exponent of numeric literal"],
  ["1E-", "invalid character ' ' in exponent of numeric literal"],
  ["+1", "invalid character '+' looking for beginning of value"],
  [".5", "invalid character '.' looking for beginning of value"],
  ["1.5.5", "invalid character '.' after top-level value"],
  ["1 2", "invalid character '2' after top-level value"],
  ["{} {}", "invalid character '{' after top-level value"],
  ["[] x", "invalid character 'x' after top-level value"],
  ["{}}", "invalid character '}' after top-level value"],
  ["[]]", "invalid character ']' after top-level value"],
  ["\\", "invalid character '\\\\' looking for beginning of value"],
  ["'", "invalid character '\\'' looking for beginning of value"],
  ['"a"b', "invalid character 'b' after top-level value"],
  ["hello", "invalid character 'h' looking for beginning of value"],
  ["\u00e9", "invalid character '\u00c3' looking for beginning of value"],
  ['{"a":\u00e9}', "invalid character '\u00c3' looking for beginning of value"],
  ["\u20ac", "invalid character '\u00e2' looking for beginning of value"],
  ["\ud83d\ude00", "invalid character '\u00f0' looking for beginning of value"],
  ["\u2028", "invalid character '\u00e2' looking for beginning of value"],
  ["\u00a0{}", "invalid character '\u00c2' looking for beginning of value"],
  ["\ufeff{}", "invalid character '\u00ef' looking for beginning of value"],
  ["\u0000", "invalid character '\\x00' looking for beginning of value"],
  ["{\u0000}", "invalid character '\\x00' looking for beginning of object key string"],
  ["\u0007", "invalid character '\\a' looking for beginning of value"],
  ["\u000b1", "invalid character '\\v' looking for beginning of value"],
  ["\f1", "invalid character '\\f' looking for beginning of value"],
  ["\b1", "invalid character '\\b' looking for beginning of value"],
  ["NaN", "invalid character 'N' looking for beginning of value"],
  ["Infinity", "invalid character 'I' looking for beginning of value"],
  ["undefined", "invalid character 'u' looking for beginning of value"],
  ["/*x*/{}", "invalid character '/' looking for beginning of value"],
  ['{"a":1,,}', "invalid character ',' looking for beginning of object key string"],
  ['{"a":1 "b":2}', "invalid character '\"' after object key:value pair"],
  ["{1:2}", "invalid character '1' looking for beginning of object key string"],
  ['{"a"=1}', "invalid character '=' after object key"],
  ['{"a":tru}', "invalid character '}' in literal true (expecting 'e')"],
  ["[1,nulx]", "invalid character 'x' in literal null (expecting 'l')"],
  ["  ", "unexpected end of JSON input"],
  ["\n\t", "unexpected end of JSON input"],
  ['["a","b"', "unexpected end of JSON input"],
  [`${"1".repeat(500)}x`, "invalid character 'x' after top-level value"],
  ["[1.e5]", "invalid character 'e' after decimal point in numeric literal"],
  ["[1ee]", "invalid character 'e' in exponent of numeric literal"],
  ["0x10", "invalid character 'x' after top-level value"],
  ["00", "invalid character '0' after top-level value"],
  ["-0x", "invalid character 'x' after top-level value"],
  ["1_000", "invalid character '_' after top-level value"],
  ['{"a":"b""c"}', "invalid character '\"' after object key:value pair"],
  ["tTrue", "invalid character 'T' in literal true (expecting 'r')"],
  ["nul\u00e9", "invalid character '\u00c3' in literal null (expecting 'l')"],
  ['"\\\u00e9"', "invalid character '\u00c3' in string escape code"],
  ['"\\\'"', "invalid character '\\'' in string escape code"],
  ['"\\ud800" x', "invalid character 'x' after top-level value"],
  ['{"\\x":1}', "invalid character 'x' in string escape code"],
  ["[00]", "invalid character '0' after array element"],
  ['{"a":[}', "invalid character '}' looking for beginning of value"],
  ["{,}", "invalid character ',' looking for beginning of object key string"],
  ["[truee]", "invalid character 'e' after array element"],
  ["[1a]", "invalid character 'a' after array element"],
  ['{"a":1]', "invalid character ']' after object key:value pair"],
  ["[1}", "invalid character '}' after array element"],
  ['"a\\u1\u00e9"', "invalid character '\u00c3' in \\u hexadecimal character escape"],
  ['"a\\u\\"', "invalid character '\\\\' in \\u hexadecimal character escape"],
  [Buffer.from("ff", "hex"), "invalid character '\u00ff' looking for beginning of value"],
  [Buffer.from("81aa", "hex"), "invalid character '\\u0081' looking for beginning of value"],
  [Buffer.from("7b2261223aad7d", "hex"), "invalid character '\\u00ad' looking for beginning of value"],
  [Buffer.from("22802278", "hex"), "invalid character 'x' after top-level value"],
  [Buffer.from("a0", "hex"), "invalid character '\\u00a0' looking for beginning of value"],
  [Buffer.from("c3", "hex"), "invalid character '\u00c3' looking for beginning of value"],
];

describe("describeSyntaxError", () => {
  test.each(SENTENCES)("of %j returns Go's message", (text, sentence) => {
    expect(describeSyntaxError(typeof text === "string" ? Buffer.from(text) : text)).toBe(sentence);
  });

  test.each(SENTENCES)("is called only for texts that JSON.parse rejects, such as %j", (text) => {
    expect(() => JSON.parse(text.toString("utf8")) as unknown).toThrow(SyntaxError);
  });

  test("treats the characters of a string as bytes if they are below 256", () => {
    expect(describeSyntaxError("\u0081\u00aa")).toBe(
      String.raw`invalid character '\u0081' looking for beginning of value`,
    );
    expect(describeSyntaxError("\u20ac")).toBe("invalid character '\u00e2' looking for beginning of value");
  });

  test("rejects text that is nested too deeply", () => {
    expect(describeSyntaxError("[".repeat(1_000_000))).toBe("exceeded max depth");
  });
});

describe("measureJson", () => {
  test.each([
    ["1", 0, 0],
    ["{}", 1, 0],
    ['{"a":{"b":[[]]}}', 4, 2],
    ['{"a":1,"a":2}', 1, 2],
    [String.raw`{"a\":{[":"\\","b":"{"}`, 1, 2],
    ['"unterminated {[', 0, 0],
    ['"\\', 0, 0],
  ])("of %s counts levels and fields", (text, depth, members) => {
    expect(measureJson(Buffer.from(text))).toEqual({ depth, members });
  });

  test("reports a depth above the limit of recursive code", () => {
    const text = "[".repeat(JSON_DEPTH_MAX + 1) + "]".repeat(JSON_DEPTH_MAX + 1);
    expect(measureJson(Buffer.from(text)).depth).toBe(JSON_DEPTH_MAX + 1);
  });

  test("is not slowed down by a million backslashes", () => {
    expect(measureJson(Buffer.from(`["${"\\\\".repeat(500_000)}"]`))).toEqual({ depth: 1, members: 0 });
  });
});

describe("findDuplicateMembers", () => {
  test.each([
    ['{"a":1,"b":2}', []],
    ['{"a":1,"a":2}', ["a"]],
    ['{"a":1,"a":2,"a":3}', ["a"]],
    ['{"spec":{"ports":[{},{"name":"x","name":"y"}]}}', ["spec.ports[1].name"]],
    ['{"a":{"x":1},"b":{"x":1}}', []],
    ['[{"a":1,"a":1},{"b":[1,2,{"c":1,"c":2}]}]', ["[0].a", "[1].b[2].c"]],
    [String.raw`{"a":1,"\u0061":2}`, ["a"]],
    ['{"a":"a","b":"a"}', []],
    [String.raw`{"k":"\",\"k\":","k":1}`, ["k"]],
    ['{"__proto__":1,"__proto__":2,"constructor":3}', ["__proto__"]],
    ['{"a":{"a":{}},"a":[{"a":1,"a":2}]}', ["a", "a[0].a"]],
    ['{"a" : 1 ,\n"a" : true , "b":null}', ["a"]],
  ])("of %s returns the paths of the duplicates", (text, paths) => {
    expect(findDuplicateMembers(text)).toEqual(paths);
  });

  test("returns a limited number of paths", () => {
    const members = Array.from({ length: 500 }, (_, index) => `"k${index}":1,"k${index}":2`).join(",");
    expect(findDuplicateMembers(`{${members}}`)).toHaveLength(REPORTED_PATHS_MAX);
  });

  test("returns paths of a limited total length", () => {
    const members = Array.from({ length: 500 }, (_, index) => `"k${index}":1,"k${index}":2`).join(",");
    const long = "x".repeat(REPORTED_PATHS_LENGTH_MAX);
    expect(findDuplicateMembers(`{"${long}":{${members}}}`)).toEqual([`${long}.k0`]);
  });

  test("is fast for strings of several megabytes", () => {
    const long = "x".repeat(3_000_000);
    const escaped = String.raw`\"`.repeat(1_000_000);
    expect(findDuplicateMembers(`{"a":"${long}","b":"${escaped}","a":1}`)).toEqual(["a"]);
  });
});
