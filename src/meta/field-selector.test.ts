import { describe, expect, test } from "vitest";
import { parseFieldSelector, requiredValue } from "./field-selector.ts";
import { SelectorError } from "./label-selector.ts";

const SENTENCES: readonly (readonly [text: string, sentence: string])[] = [
  ["a", "invalid selector: 'a'; can't understand 'a'"],
  ["a=b\\x", "invalid field selector: invalid escape sequence: \\x"],
  ["a=b\\", "invalid field selector: invalid escape sequence: \\"],
  ["a=b=c", "invalid field selector: unescaped character in value: 61"],
  ["a=b==", "invalid field selector: unescaped character in value: 61"],
  ["a===b", "invalid field selector: unescaped character in value: 61"],
  ["a!==b", "invalid field selector: unescaped character in value: 61"],
  ["a!b", "invalid selector: 'a!b'; can't understand 'a!b'"],
  ["a=b,c", "invalid selector: 'a=b,c'; can't understand 'c'"],
  ["x=\u00e9\\\u00e9", "invalid field selector: invalid escape sequence: \\\u00e9"],
  ["a=b!=c", "invalid field selector: unescaped character in value: 61"],
];

describe("parseFieldSelector", () => {
  test.each(SENTENCES)("rejects %j with Kubernetes' message", (text, sentence) => {
    expect(() => parseFieldSelector(text)).toThrow(new SelectorError(sentence));
  });

  test.each([
    ["", []],
    [",", []],
    ["a=b", [["a", "b", false]]],
    ["a==b", [["a", "b", false]]],
    ["a!=b", [["a", "b", true]]],
    [
      "a=b,,c!=d,",
      [
        ["a", "b", false],
        ["c", "d", true],
      ],
    ],
    [String.raw`a=b\,c`, [["a", "b,c", false]]],
    [String.raw`a=b\=c`, [["a", "b=c", false]]],
    [
      String.raw`a=b\\,c=d`,
      [
        ["a", "b\\", false],
        ["c", "d", false],
      ],
    ],
    [String.raw`a\,b=c`, [[String.raw`a\,b`, "c", false]]],
    ["=b", [["", "b", false]]],
    ["!=", [["", "", true]]],
    [" a = b ", [[" a ", " b ", false]]],
  ] as [string, [string, string, boolean][]][])("parses %j", (text, expected) => {
    expect(parseFieldSelector(text)).toEqual(expected.map(([field, value, negated]) => ({ field, value, negated })));
  });
});

test("requiredValue returns a value only for equality", () => {
  expect(requiredValue(parseFieldSelector("a!=x,a=y"), "a")).toBe("y");
  expect(requiredValue(parseFieldSelector("a!=x"), "a")).toBeUndefined();
  expect(requiredValue(parseFieldSelector("b=x"), "a")).toBeUndefined();
});
