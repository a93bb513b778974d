import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkCommand } from "../../src/tools/cli/check.ts";
import { NEWEST_KNOWN, OLDEST_KNOWN, releaseOfMinor } from "../../src/tools/upgrade/manifests/known-apis.ts";

const ROOT = new URL("../../", import.meta.url);
const DOCUMENT = readFileSync(new URL("docs/check.md", ROOT), "utf8");
const FOLDER = new URL("src/tools/upgrade/manifests/", ROOT);

test("docs/check.md lists every flag of the command, with its default", () => {
  for (const { long, defaultValue } of checkCommand().options) {
    const row = DOCUMENT.split("\n").find((line) => line.startsWith("| `-") && line.includes(`\`${long!}\``));
    expect(row, long).toBeDefined();
    if (defaultValue !== undefined) expect(row).toContain(`\`${String(defaultValue)}\``);
  }
  expect(DOCUMENT).toContain(`from ${releaseOfMinor(OLDEST_KNOWN)} to ${releaseOfMinor(NEWEST_KNOWN)}`);
  expect(DOCUMENT).toContain(`| \`--to\`             | \`${releaseOfMinor(NEWEST_KNOWN)}\``);
});

test("docs/check.md lists exactly the IDs of the findings", () => {
  const sources = readdirSync(FOLDER).filter((name) => !name.endsWith(".test.ts"));
  const text = sources.map((name) => readFileSync(new URL(name, FOLDER), "utf8")).join("\n");
  const ids = [...text.matchAll(/\bid: (?:\w+ \? "([a-z-]+)" : )?"([a-z-]+)"/g)].flatMap(([, first, second]) =>
    [first, second].filter((id) => id !== undefined),
  );
  const listed = [...DOCUMENT.matchAll(/^\| `([a-z-]+)` +\| (?:error|warning|info)/gm)].map(([, id]) => id);
  expect(new Set(ids).size).toBeGreaterThan(10);
  expect([...new Set(ids)].filter((id) => !listed.includes(id))).toEqual([]);
  expect(listed).toHaveLength(16);
});
