import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { checkCommand } from "./check.ts";

interface Report {
  readonly objects: number;
  readonly exitCode: number;
  readonly findings: readonly {
    readonly id: string;
    readonly subjects: readonly { readonly name: string; readonly file: string }[];
  }[];
}

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "evenkeel-check-"))));
afterEach(() => {
  rmSync(directory, { recursive: true });
  vi.restoreAllMocks();
  process.exitCode = undefined;
});

function write(name: string, text: string | Buffer): string {
  const path = join(directory, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, text);
  return path;
}

/** Runs the command in this process. */
async function check(...commandLine: string[]): Promise<{ readonly code: unknown; readonly text: string }> {
  const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  process.exitCode = undefined;
  await checkCommand()
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .parseAsync(["node", "check", ...commandLine]);
  const text = written.mock.calls.map(([chunk]) => String(chunk)).join("");
  written.mockRestore();
  return { code: process.exitCode, text };
}

async function report(...commandLine: string[]): Promise<Report> {
  return JSON.parse((await check(...commandLine, "-o", "json")).text) as Report;
}

const INGRESS = "apiVersion: networking.k8s.io/v1beta1\nkind: Ingress\nmetadata: {name: web}\n";
const ENDPOINTS = "apiVersion: v1\nkind: Endpoints\nmetadata: {name: e}\n";
const CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
const TEMPLATE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\n";

describe("check", () => {
  test("exits 0 and begins with the verdict if no release rejects an object", async () => {
    const { code, text } = await check(write("a.yaml", CONFIG), "--from", "1.33", "--to", "1.34,1.35");
    expect(code).toBe(0);
    expect(text).toBe("Ready for Kubernetes 1.34, 1.35: no findings; 1 object in 1 file.\n");
  });

  test("exits 1 and names the object, its place and the replacement if a target has removed its API", async () => {
    const path = write("a.yaml", INGRESS);
    const { code, text } = await check(path, "--to", "1.22");
    expect(code).toBe(1);
    expect(text).toMatch(/^Changes needed for Kubernetes 1\.22: 1 error; 1 object in 1 file\.\n\nerror {4}Ingress of /);
    expect(text).toContain(`- Ingress web (${path}:1)\n`);
    expect(text).toContain("Change apiVersion to networking.k8s.io/v1");
  });

  test("exits 2 for a template, with one sentence that contains the file name, also if other files are correct", async () => {
    write("b.yaml", CONFIG);
    const path = write("a.yaml", TEMPLATE);
    const { code, text } = await check(directory);
    expect(code).toBe(2);
    expect(text).toMatch(/^Could not check everything/);
    expect(text).toContain(`${path}: looks like a template; run helm template first\n`);
  });

  test("exits 1 if there is a template, and an object that must be changed", async () => {
    write("a.yaml", TEMPLATE);
    write("b.yaml", INGRESS);
    expect(await check(directory)).toMatchObject({ code: 1 });
  });

  test("ignores the findings of --ignore, and fails for the severity of --fail-on", async () => {
    write("a.yaml", INGRESS + "---\n" + ENDPOINTS);
    expect(await check(directory, "--ignore", "removed-api")).toMatchObject({ code: 0 });
    expect(await check(directory, "--ignore", "removed-api", "--fail-on", "info")).toMatchObject({ code: 1 });
    expect(await check(directory, "--ignore", "removed-api,deprecated-api")).toMatchObject({
      text: expect.stringContaining("no findings"),
    });
  });

  test("prints findings with file, line and object as JSON", async () => {
    const path = write("a.yaml", `${CONFIG}---\n${INGRESS}`);
    expect(await report(path, "--to", "1.22")).toMatchObject({
      ...{ format: 1, to: ["1.22"], files: 1, objects: 2, exitCode: 1 },
      findings: [{ id: "removed-api", release: "1.22", subjects: [{ file: path, line: 5, kind: "Ingress" }] }],
    });
  });

  test("reads CRDs of --crds", async () => {
    const crds = write(
      "crds/widgets.json",
      JSON.stringify({
        apiVersion: "apiextensions.k8s.io/v1",
        kind: "CustomResourceDefinition",
        spec: { group: "shop.example", names: { kind: "Widget" }, versions: [{ name: "v1", served: true }] },
      }),
    );
    const path = write("a.yaml", "apiVersion: shop.example/v1beta1\nkind: Widget\n");
    expect(await report(path)).toMatchObject({ findings: [{ id: "custom-resource-not-checked" }] });
    expect(await report(path, "--crds", crds)).toMatchObject({ findings: [{ id: "crd-version-not-served" }] });
  });
});

describe("check of a directory", () => {
  test("reads subdirectories and links to files, and skips other files and links to directories", async () => {
    write("deep/er/a.yml", CONFIG);
    write("b.JSON", JSON.stringify({ apiVersion: "v1", kind: "Pod" }));
    write("notes.txt", INGRESS);
    write("values.yaml", "color: blue\n");
    write(".git/x.yaml", INGRESS);
    symlinkSync(directory, join(directory, "deep", "loop"));
    symlinkSync(join(directory, "deep", "er", "a.yml"), join(directory, "link.yaml"));
    symlinkSync(join(directory, "missing"), join(directory, "broken.yaml"));
    const { code, text } = await check(directory);
    expect(code).toBe(0);
    expect(text).toContain("3 objects in 4 files (1 without Kubernetes objects)");
  });

  test("of a chart reports every template with an action, and checks its CRDs", async () => {
    write("chart/Chart.yaml", "apiVersion: v2\nname: web\n");
    write("chart/values.yaml", "on: true\n");
    write("chart/templates/a.yaml", TEMPLATE);
    write("chart/templates/deep/b.yaml", `${CONFIG}# {{ .x }}\n`);
    write("chart/crds/c.yaml", "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n");
    const { findings } = await report(directory);
    expect(findings).toMatchObject([
      { id: "template", count: 2 },
      { id: "removed-api", count: 1 },
    ]);
    expect(await report(join(directory, "chart", "templates", "deep", "b.yaml"))).toMatchObject({
      findings: [],
    });
    expect(await report(join(directory, "chart", "templates", "a.yaml"))).toMatchObject({
      findings: [{ id: "template" }],
    });
  });

  test("with a kustomization says that it must be built", async () => {
    write("kustomization.yaml", "resources: [a.yaml]\n");
    write("a.yaml", CONFIG);
    const { code, text } = await check(directory);
    expect(code).toBe(0);
    expect(text).toContain("run kustomize build first");
  });
});

describe("check of an unusable file", () => {
  test.each([
    ["an archive", Buffer.from([0x1f, 0x8b, 8, 0]), "is compressed; unpack it, or run helm template first"],
    ["bytes that are not UTF-8", Buffer.from([0x61, 0xff, 0x62]), "is not a text file in UTF-8"],
    ["broken YAML", "a: [1\n", "yaml: line 1: did not find expected node content"],
  ])("exits 2 and says that %s cannot be read", async (_, content, reason) => {
    const path = write("a.yaml", content);
    const { code, text } = await check(path);
    expect(code).toBe(2);
    expect(text).toMatch(new RegExp(`- ${path}(:1)?: ${reason}\n`));
  });

  test.each([
    [
      "a missing file",
      () => "/nowhere/at/all",
      /^\/nowhere\/at\/all cannot be read: ENOENT: no such file or directory$/,
    ],
    ["a directory without manifests", () => directory, /there are no Kubernetes objects to check$/],
    ["a file without objects", () => write("a.yaml", "color: blue\n"), /there are no Kubernetes objects to check$/],
  ])("fails with one sentence and exit code 2 for %s", async (_, path, sentence) => {
    await expect(check(path())).rejects.toMatchObject({ exitCode: 2, message: expect.stringMatching(sentence) });
  });
});

describe("check rejects", () => {
  test.each([
    [["--to", "1.15"], /"1\.15" is not a release from 1\.16 to 1\.37/],
    [["--to", "1.36,x"], /"x" is not a release/],
    [["--from", "2.0"], /"2\.0" is not a release/],
    [["--from", "1.36", "--to", "1.33"], /--to 1\.33 is older than --from 1\.36/],
    [["--fail-on", "never"], /Allowed choices are error, warning, info/],
    [["--runtime-config", "api/all=perhaps"], /--runtime-config is invalid/],
  ])("%s", async (flags, message) => {
    await expect(check(write("a.yaml", CONFIG), ...flags)).rejects.toThrow(message);
  });

  test("no files", async () => {
    await expect(check()).rejects.toThrow(/missing required argument 'files'/);
  });
});

test("check accepts releases with a v or a patch version, in any order", async () => {
  const { text } = await check(write("a.yaml", CONFIG), "--to", "v1.36.4", "--to", "1.22");
  expect(text).toContain("Ready for Kubernetes 1.22, 1.36");
});
