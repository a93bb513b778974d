import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { controlCommands } from "../../src/tools/cli/control-commands.ts";
import { leftoversText, purgedText, purgeNamespaceCommand } from "../../src/tools/cli/purge-namespace.ts";
import { serveCommand } from "../../src/tools/cli/serve.ts";
import { upCommand } from "../../src/tools/cli/up.ts";
import { CONTROLLERS } from "../../src/cluster/controllers/controller-names.ts";
import { startServer } from "../api/start.ts";

const ROOT = new URL("../../", import.meta.url);
const DOCUMENT = readFileSync(new URL("docs/namespaces-and-garbage.md", ROOT), "utf8");

function sourceOf(path: string): string {
  return readFileSync(new URL(`src/${path}`, ROOT), "utf8");
}

test("every flag in docs/namespaces-and-garbage.md exists", () => {
  const commands = [serveCommand(), upCommand(), purgeNamespaceCommand(), ...controlCommands()];
  const flags = new Set(commands.flatMap(({ options }) => options.map(({ long }) => long)));
  const named = new Set([...DOCUMENT.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag));
  for (const ofKubectl of ["--for", "--timeout", "--type", "--context", "--wait", "--raw"]) named.delete(ofKubectl);
  expect([...named].filter((flag) => !flags.has(flag))).toEqual([]);
  expect(named).toContain("--root-ca-file");
});

test("docs/namespaces-and-garbage.md explains every controller except those of storage versions, and how to disable them", () => {
  const own = CONTROLLERS.filter((name) => !name.startsWith("storage-version-"));
  expect(own.filter((name) => !DOCUMENT.includes(`| \`${name}\``))).toEqual([]);
  expect(DOCUMENT).toContain("'--controllers=*,-garbage-collector-controller'");
  expect(DOCUMENT).toContain("The default is `auto`");
});

test("every metric in docs/namespaces-and-garbage.md exists, and every metric of both controllers is documented", async () => {
  await using api = await startServer({ strictRelease: false });
  const families = [...(await api.get("/metrics")).text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!);
  const pattern = /\b(?:evenkeel_(?:garbage|namespace|controller)|garbagecollector|leader|workqueue)\w+/g;
  const named = [...DOCUMENT.matchAll(pattern)].map(String);
  const own = families.filter((name) => /^(evenkeel_(garbage|namespace)|garbagecollector)/.test(name));
  expect(named.filter((name) => !families.includes(name))).toEqual([]);
  expect(own.length).toBeGreaterThan(6);
  expect(own.filter((name) => !named.includes(name))).toEqual([]);
});

test("docs/namespaces-and-garbage.md has every condition of a namespace in its table", () => {
  const [, table = ""] = sourceOf("cluster/controllers/namespace/conditions.ts").split("const ALL_IS_WELL");
  const conditions = [...table.matchAll(/^ {2}(Namespace\w+): \[/gm)].map(([, name]) => name!);
  expect(conditions).toHaveLength(5);
  expect(conditions.filter((name) => !DOCUMENT.includes(`| \`${name}\``))).toEqual([]);
});

test("docs/namespaces-and-garbage.md explains every reason for which the garbage collector waits", () => {
  const reasons = [...sourceOf("cluster/controllers/garbage-collector/wait.ts").matchAll(/^ {2}\| "([a-z-]+)"/gm)].map(
    ([, reason]) => reason!,
  );
  expect(reasons).toHaveLength(8);
  expect(reasons.filter((reason) => !DOCUMENT.includes(`\`${reason}\``))).toEqual([]);
});

test("the log messages and reasons that docs/namespaces-and-garbage.md quotes are those of the program", () => {
  const log = ["holds.ts", "unwatched-resources.ts", "garbage-collector.ts"]
    .map((name) => sourceOf(`cluster/controllers/garbage-collector/${name}`))
    .join("\n");
  const prose = DOCUMENT.replaceAll(/\s+/g, " ");
  for (const line of [
    "garbage collector cannot watch a resource",
    "garbage collection waits for a resource",
    "objects wait to be collected",
  ]) {
    expect(log).toContain(`"${line}"`);
    expect(prose).toContain(`\`${line}\``);
  }
  const doubts = sourceOf("cluster/controllers/merge-cluster-resources.ts");
  for (const doubt of ["cannot be reached", "has not yet published what it serves", "does not know yet which other"]) {
    expect(doubts).toContain(doubt);
    expect(DOCUMENT).toContain(doubt);
  }
});

test("the example of a purge in docs/namespaces-and-garbage.md has the output of the command", () => {
  const gpu = { resource: "resourceclaims.resource.k8s.io", name: "gpu", key: "" };
  expect(DOCUMENT).toContain(leftoversText({ namespace: "old", keys: [gpu], kept: [] }));
  expect(DOCUMENT).toContain(purgedText({ namespace: "old", removed: 1, changed: 0 }));
  expect(sourceOf("tools/cli/purge-namespace.ts")).toContain(" permanently, ignoring finalizers? [y/N]");
  expect(sourceOf("cluster/inspect/purge-record.ts")).toContain('"NamespacePurged"');
});

test("docs/namespaces-and-garbage.md has at most the allowed number of lines", () => {
  expect(DOCUMENT.split("\n").length - 1).toBeLessThanOrEqual(275);
});
