import { expect, test } from "vitest";
import { createNodeEnv } from "./env-node.ts";

test("random bytes have the requested length, and no two results share memory", () => {
  const { random } = createNodeEnv({ logLevel: "error" });
  const draws = [0, 16, 4090, 16, 4096, 5000].map((length) => random.bytes(length).fill(0));
  expect(draws.map((bytes) => bytes.length)).toEqual([0, 16, 4090, 16, 4096, 5000]);
  for (const bytes of draws) bytes.fill(1);
  expect(random.bytes(64).every((byte) => byte === 1)).toBe(false);
  draws[1]!.fill(2);
  expect(draws[3]!.includes(2)).toBe(false);
});
