import { describe, expect, test } from "vitest";
import { readManifests, type ManifestFile, type ReadManifests } from "./read-manifests.ts";

function read(text: string, more: Partial<ManifestFile> = {}): ReadManifests {
  return readManifests([{ path: "a.yaml", isNamed: true, text, ...more }]);
}

function kindsIn(text: string): readonly string[] {
  return read(text).manifests.map(({ kind, line }) => `${kind}:${line}`);
}

const A = "apiVersion: v1\nkind: A\n";
const B = "apiVersion: v1\nkind: B\n";

describe("readManifests finds each object with the line on which its document begins", () => {
  test.each([
    ["a stream", `${A}---\n${B}`, ["A:1", "B:4"]],
    ["a stream with CRLF", `${A}---\n${B}`.replaceAll("\n", "\r\n"), ["A:1", "B:4"]],
    ["a byte order mark", `\ufeff${A}`, ["A:1"]],
    ["comments and empty documents", `# none\n---\n\n---\n# about A\n\n${A}--- # end\n`, ["A:7"]],
    ["documents that are not objects", `--- \n- 1\n- 2\n---\ntext\n---\n5\n---\n${A}`, ["A:9"]],
    ["documents without apiVersion or kind", `colour: blue\n---\nkind: A\n---\n${A}`, ["A:5"]],
    ["a separator in a block of text", `${A}data:\n  x: |\n    a\n    ---\n    b\n---\n${B}`, ["A:1", "B:9"]],
    ["anchors and merge keys", `x: &x {apiVersion: v1, kind: A}\n---\n<<: &y {apiVersion: v1}\nkind: B\n`, ["B:3"]],
    [
      "a list",
      `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1, kind: B}\n`,
      ["A:1", "B:1"],
    ],
    ["a list of one kind", `apiVersion: v1\nkind: PodList\nitems:\n- {metadata: {name: x}}\n`, ["Pod:1"]],
    [
      "a list in a list",
      `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A}]}`,
      ["A:1"],
    ],
    ["JSON", `\n{"apiVersion": "v1",\n"kind": "A"}`, ["A:2"]],
    [
      "JSON values that follow each other",
      `{"apiVersion":"v1","kind":"A"}\n{"apiVersion":"v1",\n"kind":"B"}\n`,
      ["A:1", "B:2"],
    ],
    ["an array in JSON", `[{"apiVersion":"v1","kind":"A"},{"apiVersion":"v1","kind":"B"}]`, ["A:1", "B:1"]],
    ["YAML that begins with a bracket", `{apiVersion: v1, kind: A}\n---\n${B}`, ["A:1", "B:3"]],
    ["tabs in text", `${A}data: {x: "a\tb"}\n`, ["A:1"]],
    [
      "flow lists that are not indented",
      `${A}x:\n- y: [\n  a,\n]\n  z: ["it's", # no\n  b\n  ]\n---\n${B}`,
      ["A:1", "B:11"],
    ],
    ["quoted text that is not indented", `${A}x:\n  t: 'a\n  it''s\n\n  b'\n  z: "c\n  d"\n---\n${B}`, ["A:1", "B:11"]],
    [
      "an empty list",
      "apiVersion: v1\nkind: ConfigMapList\nitems: null\n---\nitems: []\nkind: List\napiVersion: v1\n",
      [],
    ],
    ["nothing", "", []],
  ])("in %s", (_, text, kinds) => {
    expect(read(text).problems).toEqual([]);
    expect(kindsIn(text)).toEqual(kinds);
  });
});

test("readManifests keeps the values of text that is not indented", () => {
  const text = `${A}x:\n  t: 'a\n  it''s\n\n  b'\n  z: "c\n  d"\nl: [1,\n2]\n`;
  expect(read(text).manifests[0]?.object).toMatchObject({ x: { t: "a it's\nb", z: "c d" }, l: [1, 2] });
});

test("readManifests notes the source that Helm writes in a comment", () => {
  const [first, second] = read(`---\n# Source: web/templates/a.yaml\n${A}---\n${B}`).manifests;
  expect(first).toMatchObject({ source: "web/templates/a.yaml", line: 3 });
  expect(second?.source).toBeUndefined();
});

describe("readManifests reports a file that cannot be read in one sentence, and reads the others", () => {
  test.each([
    ["a syntax error", `${A}---\nx: [1\n`, /^yaml: line 4: /],
    ["a tab as indentation", `${A}---\nx:\n\ty: 1\n`, /^yaml: line 5: found character that cannot start any token/],
    ["invalid JSON", '{"apiVersion": "v1", "kind": }', /^invalid character/],
    ["truncated JSON", '{"apiVersion": "v1", "kind": "A"', /^unexpected end of JSON input/],
    ["deep JSON", "[".repeat(1000), /^is nested too deeply/],
    ["deep YAML", "[".repeat(1000) + "a", /max depth|deeply/],
    ["aliases that expand too much", bomb(), /excessive aliasing/],
    ["binary data", "a\0b", /^is not a text file/],
    ["a value of another type than its tag", "apiVersion: v1\nkind: Secret\ndata: {x: !!int hunter2}\n", /as a !!int/],
  ])("because of %s", (_, text, reason) => {
    const files = [
      { path: "bad.yaml", text, isNamed: true },
      { path: "good.yaml", text: A },
    ];
    const { manifests, problems } = readManifests(files);
    expect(problems).toMatchObject([
      { id: "unreadable-file", file: "bad.yaml", reason: expect.stringMatching(reason) },
    ]);
    expect(problems[0]?.reason).not.toMatch(/\n|hunter2/);
    expect(manifests.at(-1)).toMatchObject({ file: "good.yaml", kind: "A" });
  });

  test("but not a JSON file of a directory that does not mention an object", () => {
    const file = { path: "tsconfig.json", isNamed: false };
    expect(read("{ // none\n", file)).toEqual({ manifests: [], problems: [], otherFiles: 1 });
    expect(read("{ // none\n", { ...file, isNamed: true }).problems).toHaveLength(1);
    expect(read('{ "apiVersion": // none\n', file).problems).toHaveLength(1);
    expect(read("a: [1\n", { isNamed: false }).problems).toHaveLength(1);
  });
});

function bomb(): string {
  const levels = Array.from({ length: 12 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]`);
  return `a0: &a0 x\n${levels.join("\n")}\n`;
}

describe("readManifests is bounded", () => {
  test("for a long text", () => {
    const text = JSON.stringify({ apiVersion: "v1", kind: "A", x: "x".repeat(20_000_000) });
    expect(kindsIn(text)).toEqual(["A:1"]);
  });

  test("by the number of documents", () => {
    const { manifests, problems } = read(`${A}---\n`.repeat(200_002));
    expect(manifests.length).toBeLessThan(200_002);
    expect(problems[0]).toMatchObject({ id: "unreadable-file", reason: "has more than 200000 documents" });
  });
});

describe("readManifests recognizes", () => {
  test.each([
    ["a line with an action", `{{- if .Values.on }}\n${A}{{- end }}\n`],
    ["an action as a name", `${A}metadata:\n  name: {{ .Release.Name }}\n`],
    ["an action in a quoted name", `${A}metadata:\n  name: "{{ .Release.Name }}"\n`],
    ["an action as the API version", `apiVersion: {{ include "capabilities.ingress" . }}\nkind: Ingress\n`],
    ["a value of Helm in an object of Kubernetes", `apiVersion: v1\nkind: Pod\nspec: {image: "{{ .Values.image }}"}\n`],
  ])("a template by %s", (_, text) => {
    const { manifests, problems } = read(text);
    expect(manifests).toEqual([]);
    expect(problems).toEqual([{ id: "template", file: "a.yaml", line: 0, reason: "" }]);
  });

  test.each([
    ["alerts", "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nspec: {x: '{{ $labels.instance }}'}\n"],
    ["a ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata: {x: 'a {{ .Values.x }}'}\n"],
    ["a workflow", "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {x: '{{workflow.name}}'}\n"],
  ])("%s with actions in values as an object", (_, text) => {
    expect(read(text)).toMatchObject({ manifests: [{ file: "a.yaml" }], problems: [] });
  });

  test("every file with an action in the folder of a chart as a template", () => {
    const text = `${A}# {{ .x }}\n`;
    expect(read(text, { isChartTemplate: true }).problems).toMatchObject([{ id: "template" }]);
    expect(read(A, { isChartTemplate: true })).toMatchObject({ manifests: [{ kind: "A" }], problems: [] });
  });

  test("a kustomization, and does not check it as an object", () => {
    const text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n";
    expect(read(text, { path: "base/kustomization.yaml" })).toMatchObject({
      manifests: [],
      problems: [{ id: "kustomization", file: "base/kustomization.yaml" }],
    });
  });
});

describe("readManifests reports a duplicate key with its line", () => {
  test.each([
    ["YAML", `${B}---\n${A}spec: {x: 1}\nspec: {y: 1}\n`, /line 7: key "spec" already set/],
    ["JSON", '{"apiVersion": "v1", "kind": "A", "spec": {"x": 1, "x": 2}}', /key "spec.x" already set/],
  ])("in %s", (_, text, reason) => {
    expect(read(text).problems).toMatchObject([{ id: "duplicate-key", reason: expect.stringMatching(reason) }]);
  });

  test("except one that overrides a merged key", () => {
    expect(read(`${A}x: &x {a: 1}\ny:\n  <<: *x\n  a: 2\n`).problems).toEqual([]);
  });

  test("except in Secrets, where a value could be taken as a key", () => {
    expect(read("apiVersion: v1\nkind: Secret\nstringData: {a: 1, a: 2}\n").problems).toEqual([]);
  });
});
