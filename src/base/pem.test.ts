import { expect, test } from "vitest";
import { pemBlocks } from "./pem.ts";

function block(type: string, base64: string, end = type): string {
  return `-----BEGIN ${type}-----\n${base64}\n-----END ${end}-----\n`;
}

test.each<[string, string, readonly unknown[]]>([
  [
    "text around blocks is skipped",
    `before\n${block("A", "AAEC")}between\n${block("B", "")}`,
    [
      ["A", "000102"],
      ["B", ""],
    ],
  ],
  [
    "a block with the END line of another type is skipped",
    `${block("A", "AAEC", "B")}${block("C", "AA==")}`,
    [["C", "00"]],
  ],
  ["a block that is not base64 is skipped", block("A", "?"), []],
  ["a block without an END line is skipped", "-----BEGIN A-----\nAAEC", []],
  ["lines may end with CRLF", block("A", "AA\r\nEC").replaceAll("\n", "\r\n"), [["A", "000102"]]],
])("%s", (_what, text, found) => {
  expect([...pemBlocks(text)].map(({ type, bytes }) => [type, bytes.toString("hex")])).toEqual(found);
});

test("hasHeaders reports whether a block has headers", () => {
  const [withHeader] = pemBlocks("-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\n\nAAEC\n-----END A-----\n");
  expect(withHeader?.hasHeaders).toBe(true);
  expect([...pemBlocks(block("A", "AAEC"))][0]?.hasHeaders).toBe(false);
});

test("parsing time grows linearly with the number of blocks", () => {
  const text = "-----BEGIN A-----\n-----END A-----\n".repeat(30_000);
  expect([...pemBlocks(text)]).toHaveLength(30_000);
  expect([...pemBlocks("-----BEGIN A-----\n".repeat(60_000))]).toEqual([]);
});
