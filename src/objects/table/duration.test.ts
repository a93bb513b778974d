import { expect, test } from "vitest";
import { humanDuration } from "./duration.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

test.each([
  [Number.NaN, "<invalid>"],
  [-HOUR, "<invalid>"],
  [-2 * SECOND, "<invalid>"],
  [-1_999, "0s"],
  [-1, "0s"],
  [0, "0s"],
  [999, "0s"],
  [SECOND, "1s"],
  [119 * SECOND, "119s"],
  [2 * MINUTE, "2m"],
  [2 * MINUTE + SECOND, "2m1s"],
  [9 * MINUTE + 59 * SECOND, "9m59s"],
  [10 * MINUTE, "10m"],
  [10 * MINUTE + 30 * SECOND, "10m"],
  [3 * HOUR - 1, "179m"],
  [3 * HOUR, "3h"],
  [3 * HOUR + 5 * MINUTE, "3h5m"],
  [8 * HOUR - 1, "7h59m"],
  [8 * HOUR, "8h"],
  [48 * HOUR - 1, "47h"],
  [2 * DAY, "2d"],
  [3 * DAY + 4 * HOUR, "3d4h"],
  [8 * DAY - 1, "7d23h"],
  [8 * DAY, "8d"],
  [2 * YEAR - 1, "729d"],
  [2 * YEAR, "2y"],
  [2 * YEAR + 10 * DAY, "2y10d"],
  [8 * YEAR - 1, "7y364d"],
  [8 * YEAR, "8y"],
  [100 * YEAR + 50 * DAY, "100y"],
])("a duration of %d ms is shown as %s", (milliseconds, text) => {
  expect(humanDuration(milliseconds)).toBe(text);
});
