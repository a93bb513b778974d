import { expect, test } from "vitest";
import { durationError, parseGoDuration, parseGoNanos } from "./go-duration.ts";

test.each<[text: string, nanos: bigint]>([
  ["0", 0n],
  ["-0", 0n],
  ["1h30m", 5_400_000_000_000n],
  ["-1.5s", -1_500_000_000n],
  ["+.5ms", 500_000n],
  ["1.s", 1_000_000_000n],
  ["1\u00b5s", 1000n],
  ["0.9ns", 0n],
  ["9223372036854775807ns", 2n ** 63n - 1n],
  ["-9223372036854775808ns", -(2n ** 63n)],
])("%s is %s nanoseconds", (text, nanos) => {
  expect(parseGoNanos(text)).toBe(nanos);
  expect(parseGoDuration(text)).toBe(Number(nanos) / 1e6);
});

test.each([
  ["", 'time: invalid duration ""'],
  ["-", 'time: invalid duration "-"'],
  [".s", 'time: invalid duration ".s"'],
  ["h", 'time: invalid duration "h"'],
  ["1", 'time: missing unit in duration "1"'],
  ["1.", 'time: missing unit in duration "1."'],
  ["1h2", 'time: missing unit in duration "1h2"'],
  ["1d", 'time: unknown unit "d" in duration "1d"'],
  ["9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"'],
  ["2562048h", 'time: invalid duration "2562048h"'],
])("%j is not a duration", (text, message) => {
  expect(durationError(text)).toBe(message);
});
