import { expect, test } from "vitest";
import { aggregateText } from "./aggregate-text.ts";

test.each([
  [["a"], "a"],
  [["a", "a"], "a"],
  [["a", "b", "a"], "[a, b]"],
  [[], "[]"],
])("the messages %j become %j", (sentences, text) => {
  expect(aggregateText(sentences)).toBe(text);
});
