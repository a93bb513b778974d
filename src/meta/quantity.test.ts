import { describe, expect, test } from "vitest";
import {
  canonicalQuantity,
  isWholeAmount,
  nanosOf,
  quantityError,
  quantityText,
  roundedUpToMilli,
} from "./quantity.ts";

test.each([
  ["0", "0"],
  ["0Gi", "0"],
  ["-0", "0"],
  ["1", "1"],
  ["100", "100"],
  ["1000", "1k"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["500m", "500m"],
  ["0.5", "500m"],
  [".5", "500m"],
  ["0.1", "100m"],
  ["1024Mi", "1Gi"],
  ["1025Mi", "1025Mi"],
  ["1.5Gi", "1536Mi"],
  ["1024", "1024"],
  ["512Ki", "512Ki"],
  ["0.5Ki", "512"],
  ["1048576Ki", "1Gi"],
  ["10Gi", "10Gi"],
  ["1000Ki", "1000Ki"],
  ["0.0001Ki", "102400u"],
  ["1e3", "1e3"],
  ["12e2", "1200"],
  ["1000e3", "1e6"],
  ["-1000m", "-1"],
  ["1000000000n", "1"],
  ["1E", "1E"],
  ["16Ei", "9223372036854775807"],
])("the canonical text of %s is %s", (written, shown) => {
  expect(canonicalQuantity(written)).toBe(shown);
});

test.each(["", "abc", "1Zi", "1e", "--1", "1e999999999", "9".repeat(100), "Gi", "."])(
  "%j is not a quantity and stays unchanged",
  (text) => {
    expect(canonicalQuantity(text)).toBe(text);
  },
);

const FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX = "unable to parse quantity's suffix";

const QUANTITIES: readonly (readonly [text: string, sentence: string | undefined])[] = [
  ["1", undefined],
  ["1k", undefined],
  ["1Ki", undefined],
  ["1m", undefined],
  ["1u", undefined],
  ["1n", undefined],
  ["1K", SUFFIX],
  ["1ki", SUFFIX],
  ["1e3", undefined],
  ["1E3", undefined],
  ["1E", undefined],
  ["1e", SUFFIX],
  ["1Ei", undefined],
  ["1.", undefined],
  [".5", undefined],
  [".", undefined],
  ["", FORMAT],
  ["1x", FORMAT],
  ["x", FORMAT],
  ["+1", undefined],
  ["--1", SUFFIX],
  ["1..2", FORMAT],
  ["1.2.3", FORMAT],
  ["1e+3", undefined],
  ["1e-3", undefined],
  ["1e3.5", FORMAT],
  ["1e3k", FORMAT],
  ["1Kii", SUFFIX],
  ["1Mi1", SUFFIX],
  ["\u00e9", FORMAT],
  ["1e99999999999", undefined],
  ["1mi", SUFFIX],
  ["1P", undefined],
  ["1Pi", undefined],
  ["1T", undefined],
  ["+", undefined],
  ["k", undefined],
  ["1ee3", SUFFIX],
  ["1e+", SUFFIX],
  ["-", undefined],
  ["1i", SUFFIX],
  ["0x10", FORMAT],
  ["1_0", FORMAT],
  ["9999999999999999999999999999", undefined],
  ["1N", FORMAT],
  ["1g", FORMAT],
  ["1t", FORMAT],
  ["1e-0", undefined],
  ["1E+", SUFFIX],
  ["1 k", FORMAT],
];

describe("quantityError", () => {
  test.each(QUANTITIES)("of %j has Kubernetes' message", (text, sentence) => {
    expect(quantityError(text)).toBe(sentence);
  });

  test("rejects a text that is far too long without parsing it", () => {
    expect(quantityError("1".repeat(1_000_000))).toMatch(/^quantities must match/);
  });
});

describe("nanosOf", () => {
  test.each([
    ["1", 1_000_000_000n],
    ["-1.5", -1_500_000_000n],
    ["1Ki", 1_024_000_000_000n],
    ["0.5Ki", 512_000_000_000n],
    ["2e3", 2_000_000_000_000n],
    ["1E", 10n ** 27n],
    ["0.1n", 1n],
    ["-0.1n", -1n],
    ["1".repeat(40), BigInt("1".repeat(40)) * 1_000_000_000n],
    [3, 3_000_000_000n],
    [1e21, 10n ** 30n],
    [undefined, 0n],
    ["abc", 0n],
    ["1e101", 0n],
  ])("of %s is %s", (value, nanos) => {
    expect(nanosOf(value)).toBe(nanos);
  });
});

test.each([
  [0n, "binary", "0"],
  [1_024_000_000_000n, "binary", "1Ki"],
  [-2_048_000_000_000n, "binary", "-2Ki"],
  [2_000_000_000_000n, "binary", "2000"],
  [1_000_000_000_000n, "binary", "1k"],
  [1_500_000_000n, "binary", "1500m"],
  [2n ** 64n * 1_000_000_000n, "binary", "16Ei"],
  [2_000_000_000_000n, "decimal", "2k"],
  [-1n, "decimal", "-1n"],
  [10n ** 31n, "decimal", "10000000000000000000000000000000n"],
  [2_000_000_000_000n, "exponent", "2e3"],
  [1n, "exponent", "1e-9"],
] as const)("%s billionths in %s notation are written as %s", (nanos, format, text) => {
  expect(quantityText(nanos, format)).toBe(text);
});

test.each([
  ["1", true],
  ["1500m", false],
  ["1k", true],
  ["1n", false],
  ["10000000000000000", false],
])("%s is a whole amount: %s", (text, isWhole) => {
  expect(isWholeAmount(text)).toBe(isWhole);
});

test.each([
  ["1u", "1m"],
  ["1500m", "1500m"],
  ["-1500u", "-1m"],
  ["1000m", "1"],
])("%s in a resource list becomes %s", (text, rounded) => {
  expect(roundedUpToMilli(text)).toBe(rounded);
});
