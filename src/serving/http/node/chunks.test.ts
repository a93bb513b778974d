import { describe, expect, test } from "vitest";

import { joinedGroups, totalBytes, writeGroups } from "./chunks.ts";
import { acceptsGzip } from "../accepts-gzip.ts";

const MIB = 1024 * 1024;

describe("chunks", () => {
  test("are grouped for vectored writes into at most 512 buffers and 1 MiB, without loss", () => {
    const chunks = [
      ...Array.from({ length: 1_000 }, () => Buffer.from("ab")),
      Buffer.alloc(0),
      Buffer.alloc(3 * MIB, "x"),
      Buffer.from("end"),
    ];
    const groups = [...writeGroups(chunks)];
    for (const group of groups) {
      expect(group.length).toBeLessThanOrEqual(512);
      expect(totalBytes(group)).toBeLessThanOrEqual(MIB);
    }
    expect(Buffer.concat(groups.flat()).equals(Buffer.concat(chunks))).toBe(true);
  });

  test("are not copied if there is only one", () => {
    const chunk = Buffer.from("alone");
    expect([...joinedGroups([chunk], 10)][0]).toBe(chunk);
  });

  test("are joined into groups of limited size, without loss", () => {
    const chunks = ["abc", "", "defghijklmnop", "q"].map((text) => Buffer.from(text));
    const groups = [...joinedGroups(chunks, 5)].map(String);
    expect(groups.join("")).toBe("abcdefghijklmnopq");
    expect(Math.max(...groups.map((group) => group.length))).toBeLessThanOrEqual(5);
  });
});

test.each([
  ["gzip", true],
  ["br, gzip", true],
  ["gzip;q=0.1", true],
  ["gzip; q=0", false],
  ["gzip;q=0.000", false],
  ["x-gzip", false],
  ["*", false],
  [undefined, false],
])("accept-encoding %s accepts gzip: %s", (header, expected) => {
  expect(acceptsGzip(header)).toBe(expected);
});
