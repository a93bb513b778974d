import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../smoke/built.ts";
import { freePorts } from "../smoke/free-ports.ts";
import { runnableBlocks } from "./blocks.ts";
import { expectToRunAll, hasProgram } from "./shell.ts";

const PATH = "docs/readiness.md";
const BLOCKS = runnableBlocks(readFileSync(join(ROOT, PATH), "utf8"));
const hasCurl = hasProgram("curl", "--version");
if (!hasCurl) console.warn(`curl is not installed, so the commands of ${PATH} were not run`);

describe.skipIf(!hasCurl)(`the commands of ${PATH}`, { timeout: 120_000 }, () => {
  test("run in order, and print the documented output", async () => {
    expect(BLOCKS).toHaveLength(4);
    const [port, nobody] = await freePorts(2);
    await expectToRunAll(PATH, BLOCKS, { PORT: String(port), NO_STORE: `http://127.0.0.1:${nobody}` });
  });
});
