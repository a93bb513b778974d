import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../smoke/built.ts";
import { runnableBlocks } from "./blocks.ts";
import { expectToRunAll, hasProgram } from "./shell.ts";

const PATH = "docs/storage-versions.md";
const BLOCKS = runnableBlocks(readFileSync(join(ROOT, PATH), "utf8"));
const hasKubectl = hasProgram("kubectl", "version", "--client");
if (!hasKubectl) console.warn(`kubectl is not installed, so the commands of ${PATH} were not run`);

describe.skipIf(!hasKubectl)(`the commands of ${PATH}`, { timeout: 180_000 }, () => {
  test("run in order, and print the documented output", async () => {
    expect(BLOCKS.length).toBeGreaterThan(8);
    await expectToRunAll(PATH, BLOCKS, { PORT: "0" });
  });
});
