import { expect, test } from "vitest";

import { goQuote } from "./go-quote.ts";

test.each([
  ["", '""'],
  ["plain text, é and ☃", '"plain text, é and ☃"'],
  ['a"b\\c', String.raw`"a\"b\\c"`],
  ["\n\t\u0007\v", String.raw`"\n\t\a\v"`],
  ["\u0001\u007f", String.raw`"\x01\x7f"`],
  ["\u00a0\u200b", String.raw`"\u00a0\u200b"`],
  ["\u{e0001}", String.raw`"\U000e0001"`],
])("%j is quoted as Go does it", (text, quoted) => {
  expect(goQuote(text)).toBe(quoted);
});
