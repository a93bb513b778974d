/** Keeps README.md true: the demo prints the lines of its transcript, and its picture exists. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { findTools } from "../clients/tools.ts";
import { ensureBuilt, NODE, ROOT } from "../smoke/built.ts";
import { linePattern } from "./blocks.ts";

const README = readFileSync(join(ROOT, "README.md"), "utf8");
const hasKubectl = findTools().kubectls.some(({ path }) => path !== undefined);

test.skipIf(!hasKubectl)("the demo prints the lines of its transcript in README.md, in the same order", async () => {
  ensureBuilt();
  const transcript = /`npm run demo`[^`]*```text\n([\s\S]*?)^```$/m.exec(README)?.[1]?.trimEnd().split("\n") ?? [];
  expect(transcript.length).toBeGreaterThan(10);
  const { stdout } = await promisify(execFile)(NODE, [join(ROOT, "scripts/demo/play.ts")], { cwd: ROOT });
  let rest = stdout.split("\n");
  for (const line of transcript) {
    const at = rest.findIndex((printed) => linePattern(line).test(printed.trim()));
    expect(at, `the demo does not print ${JSON.stringify(line)} at its place in\n${stdout}`).not.toBe(-1);
    rest = rest.slice(at + 1);
  }
});

test("the picture in README.md is in the repository and supports dark pages", () => {
  const path = /!\[[^\]]+\]\((docs\/images\/[^)]+\.svg)\)/.exec(README)?.[1] ?? "";
  expect(existsSync(join(ROOT, path))).toBe(true);
  expect(readFileSync(join(ROOT, path), "utf8")).toContain("prefers-color-scheme: dark");
});
