import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../smoke/built.ts";
import { runnableBlocks } from "./blocks.ts";
import { expectToRunAll } from "./shell.ts";

const PATH = "docs/check.md";
const BLOCKS = runnableBlocks(readFileSync(join(ROOT, PATH), "utf8"));

test(`the commands of ${PATH} run in order, and print the documented output`, { timeout: 60_000 }, async () => {
  expect(BLOCKS.length).toBe(1);
  await expectToRunAll(PATH, BLOCKS, {});
});
