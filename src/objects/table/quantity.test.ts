import { expect, test } from "vitest";
import { canonicalQuantity } from "./quantity.ts";

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
])("%s is shown as %s", (written, shown) => {
  expect(canonicalQuantity(written)).toBe(shown);
});

test.each(["", "abc", "1Zi", "1e", "--1", "1e999999999", "9".repeat(100), "Gi", "."])(
  "%j is no quantity and is shown as it is",
  (text) => {
    expect(canonicalQuantity(text)).toBe(text);
  },
);
