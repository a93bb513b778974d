import { expect, test } from "vitest";
import { added, parseAmount, isSameAmounts, plus, roundedUpToUnit, subtracted } from "./amounts.ts";

test.each([
  ["1", "500m", "1500m"],
  ["1Gi", "1Gi", "2Gi"],
  ["0", "1Gi", "1Gi"],
  ["100M", "1Gi", "1173741824"],
  ["1Ki", "976", "2000"],
  ["2000", "0", "2k"],
  ["1Ki", "500m", "1024500m"],
  ["100", "1Ki", "1124"],
  ["1e3", "1e3", "2e3"],
])("%s + %s = %s, in the notation of the first part that is not zero", (left, right, sum) => {
  expect(plus(parseAmount(left), parseAmount(right)).text).toBe(sum);
});

test("subtracted returns zero instead of a negative amount, and zero for a resource that only the right side has", () => {
  const left = new Map([
    ["cpu", parseAmount("1")],
    ["memory", parseAmount("2Gi")],
  ]);
  const right = new Map([
    ["cpu", parseAmount("3")],
    ["memory", parseAmount("1Gi")],
    ["pods", parseAmount("1")],
  ]);
  expect([...subtracted(left, right)].map(([name, { text }]) => [name, text])).toEqual([
    ["cpu", "0"],
    ["memory", "1Gi"],
    ["pods", "0"],
  ]);
});

test("roundedUpToUnit returns whole units", () => {
  expect([roundedUpToUnit(parseAmount("1500m")).text, roundedUpToUnit(parseAmount("2Gi")).text]).toEqual(["2", "2Gi"]);
});

test("equal amounts in different notations compare as equal", () => {
  const one = new Map([["memory", parseAmount("1Gi")]]);
  expect(isSameAmounts(one, new Map([["memory", parseAmount("1024Mi")]]))).toBe(true);
  expect(isSameAmounts(one, added(one, one))).toBe(false);
});
