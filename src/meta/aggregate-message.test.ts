import { expect, test } from "vitest";
import { aggregateMessage } from "./aggregate-message.ts";

test("a single message stands alone, several stand in brackets", () => {
  expect([aggregateMessage(["a"]), aggregateMessage(["a", "b"]), aggregateMessage([""])]).toEqual(["a", "[a, b]", ""]);
});
