import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { KUBE_APISERVER_FLAGS } from "../../src/tools/cli/kube-flags/flag-table.ts";
import { serveCommand } from "../../src/tools/cli/serve.ts";
import { flagsPage } from "./flags-page.ts";

const PAGE = new URL("../../docs/flags.md", import.meta.url);
/** One line for each flag of kube-apiserver 1.33 to 1.37: the first of these releases with the flag, and its name. */
const NAMES = new URL("../golden/kube-apiserver-flags.txt", import.meta.url);

const entries = KUBE_APISERVER_FLAGS.flatMap(({ flags }) => Object.entries(flags));
const options = new Set(serveCommand().options.map(({ long }) => long));

describe("the flag table", () => {
  test("lists every flag of kube-apiserver 1.33 to 1.37 once, with its first release", () => {
    const listed = entries.map(([name, { since = "1.33" }]) => `${since} ${name}`);
    const names = readFileSync(NAMES, "utf8").trimEnd().split("\n");
    expect(names.length).toBeGreaterThan(170);
    expect(listed.toSorted()).toEqual(names.toSorted());
  });

  test("each flag of the table is an option of the command", () => {
    const missing = entries.map(([name]) => name).filter((name) => name !== "help" && !options.has(`--${name}`));
    expect(missing).toEqual([]);
  });
});

test("docs/flags.md is up to date", () => {
  const page = flagsPage(serveCommand(), KUBE_APISERVER_FLAGS);
  if (process.env["UPDATE_GOLDEN"] !== undefined) writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, "utf8"), "run `npm run golden` and review the diff").toBe(page);
});

test("the help names no flag that kube-apiserver has removed, which envtest would then set", () => {
  expect(serveCommand().helpInformation()).not.toContain("insecure-port");
});
