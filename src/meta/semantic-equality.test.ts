import { expect, test } from "vitest";
import { isSemanticallyEqual } from "./semantic-equality.ts";

test.each([
  [{ a: [] }, {}, true],
  [{ labels: {} }, {}, true],
  [{ a: null }, {}, true],
  [{ a: {} }, {}, false],
  [{ a: "" }, {}, false],
  [{}, { constructor: {} }, false],
  [{ a: [{ labels: {} }] }, { a: [{}] }, true],
  [{ a: [1, 2] }, { a: [2, 1] }, false],
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
  [[], {}, false],
])("%j and %j are semantically equal: %s", (left, right, isEqual) => {
  expect(isSemanticallyEqual(left, right)).toBe(isEqual);
  expect(isSemanticallyEqual(right, left)).toBe(isEqual);
});
