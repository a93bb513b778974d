import { expect, test } from "vitest";
import { goJson, goJsonLines, sortedGoJson } from "./go-json.ts";

test("characters that are special in HTML are escaped in JSON", () => {
  expect(goJson({ b: "<&>\u2028", a: 1 })).toBe(String.raw`{"b":"\u003c\u0026\u003e\u2028","a":1}`);
  expect(goJson(undefined)).toBe("null");
});

test("sortedGoJson sorts the keys of maps at every depth", () => {
  const value = JSON.parse('{"b":[{"d":1,"c":"<"}],"__proto__":{},"a":null}');
  expect(sortedGoJson(value)).toBe(String.raw`{"__proto__":{},"a":null,"b":[{"c":"\u003c","d":1}]}`);
});

test("goJsonLines indents lines by one space", () => {
  expect(goJsonLines({ A: "<&>", B: [] })).toEqual(["{", ' "A": "\\u003c\\u0026\\u003e",', ' "B": []', "}"]);
});
