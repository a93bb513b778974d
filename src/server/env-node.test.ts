import { spawnSync } from "node:child_process";
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

test("a fatal failure ends the process with exit code 1, and the last line on standard error gives the reason", () => {
  const module = new URL("env-node.ts", import.meta.url).href;
  const program = `
    const { createNodeEnv } = await import(${JSON.stringify(module)});
    setInterval(() => {}, 1_000);
    const env = createNodeEnv({ logLevel: "info" });
    env.log.error("background task failed", { task: "start-up" });
    env.onFatal("start-up failed: broken");
    env.log.error("the process still runs");`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", program], {
    encoding: "utf8",
    timeout: 60_000,
  });
  expect(status).toBe(1);
  expect(stderr.trimEnd().split("\n").at(-1)).toBe("evenkeel: the server ends because start-up failed: broken");
});
