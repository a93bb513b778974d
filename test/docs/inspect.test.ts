import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { inspectCommand } from "../../src/tools/cli/inspect.ts";
import { sampleInspection } from "../testing/tools/upgrade/sample-inspection.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");
const DOCUMENT = read("docs/inspect.md");
const FLAGS = new Set(inspectCommand("test").options.map(({ long }) => long!));

/** The IDs of the findings, as the sources of the rules write them. */
function idsInSource(): Set<string> {
  const folders = ["src/tools/upgrade/inspect/findings", "src/tools/upgrade/api"];
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(folder, ROOT))
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => `${folder}/${name}`),
  );
  return new Set(files.flatMap((file) => [...read(file).matchAll(/\bid: ([^,]*),/g)].flatMap(quoted)));
}

/** The strings of an expression such as `"one"` or `isOther ? "one" : "other"`. */
function quoted([, expression = ""]: RegExpMatchArray): string[] {
  return [...expression.matchAll(/"([a-z-]+)"/g)].map(([, text]) => text!);
}

test("docs/inspect.md explains every flag of evenkeel inspect, and every flag in it exists", () => {
  const named = new Set([...DOCUMENT.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag));
  named.delete("--runtime-config");
  expect([...named].filter((flag) => !FLAGS.has(flag))).toEqual([]);
  expect([...FLAGS].filter((flag) => flag !== "--output" && !DOCUMENT.includes(`\`${flag}\``))).toEqual([]);
  expect(DOCUMENT).toContain("| `-o json`");
});

test("docs/inspect.md lists every finding with its ID, and no other", () => {
  const documented = [...DOCUMENT.matchAll(/^\| `([a-z-]+)` +\| (?:error|warning|info)/gm)].map(([, id]) => id!);
  expect(documented.length).toBeGreaterThan(30);
  expect(documented.toSorted()).toEqual([...idsInSource()].toSorted());
});

test("docs/inspect.md names every field of the JSON", () => {
  const fields = Object.keys(sampleInspection());
  expect(fields.length).toBeGreaterThan(10);
  expect(fields.filter((field) => !DOCUMENT.includes(`\`${field}\``))).toEqual([]);
});

test.each(["docs/upgrade-kubeadm.md", "docs/upgrade-k3s.md", "docs/upgrade-managed.md"])(
  "%s uses only flags of evenkeel inspect in its commands",
  (path) => {
    const commands = [...read(path).matchAll(/^evenkeel inspect (?:.*\\\n)*.*$/gm)].map(([command]) => command);
    expect(commands.length).toBeGreaterThan(0);
    const named = commands.flatMap((command) => [...command.matchAll(/(?<=\s)--[a-z][a-z-]+/g)].map(([flag]) => flag));
    const ofKubectl = new Set(["--duration"]);
    expect(named.filter((flag) => !FLAGS.has(flag) && !ofKubectl.has(flag))).toEqual([]);
  },
);

test("every ID that a guide names is an ID of a finding", () => {
  const ids = idsInSource();
  const guides = readdirSync(new URL("docs", ROOT)).filter((name) => name.startsWith("upgrade-"));
  expect(guides).toHaveLength(3);
  for (const guide of guides)
    for (const [, id = ""] of read(`docs/${guide}`).matchAll(/\[([a-z]+-[a-z-]+)\]$/gm)) expect(ids).toContain(id);
});
