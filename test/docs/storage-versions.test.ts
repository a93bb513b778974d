import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openCatalog } from "../../src/objects/catalog/catalog.ts";
import { RELEASES, type ReleaseName } from "../../src/objects/catalog/release.ts";
import { parseRuntimeConfig } from "../../src/objects/catalog/runtime-config.ts";
import { controlCommands } from "../../src/tools/cli/control-commands.ts";
import { rollbackCheckCommand } from "../../src/tools/cli/rollback-check.ts";
import { serveCommand } from "../../src/tools/cli/serve.ts";
import { storedVersionsCommand } from "../../src/tools/cli/stored-versions.ts";
import { upCommand } from "../../src/tools/cli/up.ts";
import { CONTROLLERS } from "../../src/cluster/controllers/controller-names.ts";
import { storedResourceVersions } from "../../src/cluster/storageversion/stored-resource-versions.ts";
import { startServer } from "../api/start.ts";

const ROOT = new URL("../../", import.meta.url);
const DOCUMENT = readFileSync(new URL("docs/storage-versions.md", ROOT), "utf8");

test("every flag in docs/storage-versions.md exists", () => {
  const commands = [serveCommand(), upCommand(), rollbackCheckCommand(), storedVersionsCommand(), ...controlCommands()];
  const flags = new Set(commands.flatMap(({ options }) => options.map(({ long }) => long)));
  const named = new Set([...DOCUMENT.matchAll(/(?<![\w-])--[a-z][a-z-]+/g)].map(([flag]) => flag));
  for (const ofKubectl of ["--all", "--for", "--timeout", "--type", "--context"]) named.delete(ofKubectl);
  expect([...named].filter((flag) => !flags.has(flag))).toEqual([]);
});

test("docs/storage-versions.md explains every controller of storage versions", () => {
  const own = CONTROLLERS.filter((name) => name.startsWith("storage-version-"));
  expect(own.filter((name) => !DOCUMENT.includes(`| \`${name}\``))).toEqual([]);
});

test("every metric in docs/storage-versions.md exists, and every metric of storage versions is documented", async () => {
  await using api = await startServer({ strictRelease: false });
  const families = [...(await api.get("/metrics")).text.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name!);
  const named = [...DOCUMENT.matchAll(/\b(?:evenkeel_storage|evenkeel_controller|leader|workqueue)_\w+/g)].map(String);
  expect(named.filter((name) => !families.includes(name))).toEqual([]);
  expect(families.filter((name) => name.startsWith("evenkeel_storage_") && !named.includes(name))).toEqual([]);
});

test("the messages of rejected writes in docs/storage-versions.md are those of the program", () => {
  const program = [
    ...[
      "cluster/storageversion/write-gate.ts",
      "cluster/storageversion/encodings.ts",
      "cluster/storageversion/agreement.ts",
    ],
    ...[
      "cluster/inspect/unreadable-versions.ts",
      "serving/registry/write-encoded.ts",
      "cluster/peers/fence.ts",
      "cluster/peers/route.ts",
    ],
  ]
    .map((path) => readFileSync(new URL(`src/${path}`, ROOT), "utf8").replaceAll(/\$\{[^}]*\}/g, "…"))
    .join("\n");
  const [, section = ""] = DOCUMENT.split("## Meaning of each 503");
  const messages = [...section.split("\n## ")[0]!.matchAll(/^\| (`.*?`) +\|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`([^`]+)`/g)].map(([, text]) => text!),
  );
  expect(messages.length).toBeGreaterThan(7);
  const fragments = messages.flatMap((text) => text.split(/: |…/)).map((text) => text.replace(/^[\s,]+|[\s,]+$/g, ""));
  const reported = fragments.filter((text) => text !== "" && !text.startsWith("internal.apiserver.k8s.io"));
  expect(reported.filter((text) => !program.includes(text))).toEqual([]);
});

test("docs/storage-versions.md has the version of StorageVersionMigration that each release serves", () => {
  const rows = [...DOCUMENT.matchAll(/^\| 1\.(\d+)(?:( …|,) 1\.(\d+))? +\| (?:`(\w+)`|none) +\|/gm)];
  const reported = new Map(
    rows.flatMap(([, first, , last = first, version]) =>
      Array.from(
        { length: Number(last) - Number(first) + 1 },
        (_, at) => [`1.${Number(first) + at}`, version] as const,
      ),
    ),
  );
  const served = new Map(RELEASES.map((release) => [release as string, servedMigrations(release)]));
  expect(reported).toEqual(served);
});

function servedMigrations(release: ReleaseName): string | undefined {
  const gates =
    RELEASES.indexOf(release) >= RELEASES.indexOf("1.30") ? [["StorageVersionMigrator", true] as const] : [];
  const runtimeConfig = parseRuntimeConfig(["api/all=true"]);
  const catalog = openCatalog({ release, runtimeConfig, featureGates: new Map(gates), extensions: true });
  return catalog.resource("storagemigration.k8s.io", "storageversionmigrations")?.versions[0]?.version;
}

test("every release can decode the objects that the releases before and after it store", () => {
  const runtimeConfig = parseRuntimeConfig([]);
  const stored = RELEASES.map((release) =>
    storedResourceVersions(openCatalog({ release, runtimeConfig, featureGates: new Map(), extensions: true })),
  );
  const unreadable = stored.flatMap((resources, at) =>
    [stored[at - 1], stored[at + 1]].flatMap((neighbours = []) =>
      resources.filter(({ name, preferred }) => {
        const neighbour = neighbours.find((other) => other.name === name);
        return neighbour !== undefined && !neighbour.decodable.includes(preferred);
      }),
    ),
  );
  expect(unreadable).toEqual([]);
});

test("docs/storage-versions.md has at most the allowed number of lines", () => {
  expect(DOCUMENT.split("\n").length - 1).toBeLessThanOrEqual(275);
});
