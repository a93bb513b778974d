import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonLength } from "./json-size.ts";

test("jsonLength is never more than the length of the text, and not much less for ASCII", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(jsonLength(value, Infinity)).toBeLessThanOrEqual(JSON.stringify(value).length);
    }),
  );
  const value = { data: Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`key-${index}`, "value"])) };
  expect(jsonLength(value, Infinity)).toBeGreaterThan(JSON.stringify(value).length * 0.9);
});

test("jsonLength stops counting after the limit", () => {
  const counted: string[] = [];
  const value = Array.from({ length: 100 }, (_, index) => ({
    get text() {
      counted.push(String(index));
      return "x".repeat(100);
    },
  }));
  expect(jsonLength(value, 1_000)).toBeGreaterThan(1_000);
  expect(counted.length).toBeLessThan(12);
});
