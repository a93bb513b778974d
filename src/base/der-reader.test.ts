import { expect, test } from "vitest";
import { firstElements, readElement, readElements } from "./der-reader.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");

test.each(["30", "3081", "308101", "30810100", "3080", "3f0000", "30850000000000", "3082000100", "3003020101ff"])(
  "%s is not DER",
  (hex) => {
    expect(readElements(bytes(hex))).toBeUndefined();
  },
);

test("an element is read with its header and without the bytes after it", () => {
  expect(readElement(bytes("020105ff"))).toEqual({ tag: 0x02, content: bytes("05"), whole: bytes("020105") });
  expect(readElement(Buffer.alloc(0))).toBeUndefined();
});

test("the first elements are read regardless of the bytes after them", () => {
  expect(firstElements(bytes("0201050201063f"), 2)?.map(({ content }) => content.toString("hex"))).toEqual([
    "05",
    "06",
  ]);
  expect(firstElements(bytes("0201050201063f"), 3)).toBeUndefined();
});

test("more than a thousand elements are rejected", () => {
  expect(readElements(Buffer.alloc(2000, bytes("0500")))).toHaveLength(1000);
  expect(readElements(Buffer.alloc(2002, bytes("0500")))).toBeUndefined();
});
