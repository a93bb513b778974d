import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { rehearseCommand } from "../../src/tools/cli/rehearse.ts";
import { MINUTES_MAX, SERVERS_MAX } from "../../src/tools/rehearsal/plan.ts";
import { inWords } from "../../src/tools/rehearsal/report.ts";

const ROOT = new URL("../../", import.meta.url);
const DOCUMENT = readFileSync(new URL("docs/rehearse.md", ROOT), "utf8");

test("docs/rehearse.md explains every flag of evenkeel rehearse, and every flag in it exists", () => {
  const flags = new Set(rehearseCommand().options.map(({ long }) => long!));
  const named = new Set([...DOCUMENT.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag));
  expect([...named].filter((flag) => !flags.has(flag))).toEqual([]);
  // The document has it as "-o".
  flags.delete("--output");
  expect([...flags].filter((flag) => !DOCUMENT.includes(`| \`${flag}\``) && flag !== "--to")).toEqual([]);
  expect(DOCUMENT).toContain("| `-o json`");
});

test("the defaults and limits in docs/rehearse.md are those of the program", () => {
  const rowOf = (flag: string): string => DOCUMENT.split("\n").find((line) => line.startsWith(`| \`${flag}\``))!;
  for (const { long, defaultValue } of rehearseCommand().options)
    if (defaultValue !== undefined) expect(rowOf(long!).split("|")[2]).toContain(String(defaultValue));
  expect(rowOf("--servers")).toContain(`at most ${SERVERS_MAX} `);
  expect(MINUTES_MAX).toBe(24 * 60);
});

test.each([
  ["wrong response", "report.ts", "WrongKind", 10],
  ["finding about manifests", "manifests.ts", "ManifestFindingKind", 6],
])("docs/rehearse.md explains every kind of %s", (_what, file, type, count) => {
  const source = readFileSync(new URL(`src/tools/rehearsal/${file}`, ROOT), "utf8");
  const [declaration = ""] = source.split(`type ${type} =`)[1]!.split(";");
  const kinds = [...declaration.matchAll(/\| "([a-z-]+)"/g)].map(([, kind]) => inWords(kind!));
  expect(kinds).toHaveLength(count);
  expect(kinds.filter((kind) => !DOCUMENT.includes(`\`${kind}\``))).toEqual([]);
});

test("docs/rehearse.md has at most the allowed number of lines", () => {
  expect(DOCUMENT.split("\n").length - 1).toBeLessThanOrEqual(175);
});
