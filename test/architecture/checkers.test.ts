/** Tests of the architecture checks: each check finds a planted violation and accepts similar code that is valid. */
import { describe, expect, test } from "vitest";
import { checkAny, checkEmptyCatches, checkErrorNames, checkReleaseComparisons, checkTags } from "./conventions.ts";
import { checkBannedGlobals, checkModuleState } from "./determinism.ts";
import { checkLanguage } from "./language.ts";
import {
  checkBudgets,
  checkHeadings,
  checkNamedPaths,
  checkPrivateText,
  checkRequestFlow,
  checkRooms,
  checkWalks,
} from "./documents.ts";
import { checkDuplicateNames, checkUnusedExports, duplicateNameOffences, unusedExports } from "./exports.ts";
import {
  checkAllowedImports,
  checkBarrels,
  checkDeadFiles,
  checkDefaultExports,
  checkImportCycles,
  checkInternalFolders,
  checkTableOrder,
  checkTestOnlyFiles,
  moduleOf,
} from "./imports.ts";
import type { ModuleRule } from "./module-table.ts";
import { offendersOf } from "./ratchet.ts";
import { checkListedLimits, checkShapes, LIMITS, shapeOffences } from "./shapes.ts";
import { parseSources, type Source, type TextFile, type Violation } from "./sources.ts";

function texts(files: Readonly<Record<string, string>>): readonly TextFile[] {
  return Object.entries(files).map(([path, text]) => ({ path, text }));
}

function parsed(files: Readonly<Record<string, string>>): readonly Source[] {
  return parseSources(texts(files));
}

function places(violations: readonly Violation[]): readonly string[] {
  return violations.map(({ path, line }) => `${path}:${line}`);
}

function lines(count: number): string {
  return "void 0;\n".repeat(count);
}

describe("the import checks", () => {
  test("find an import of a higher module, and a folder of src/ without a row in the module table", () => {
    const sources = parsed({
      "src/base/clock.ts": 'import { x } from "../meta/names.ts";',
      "src/meta/names.ts": '// import { y } from "../server/y.ts";\nexport const x = \'import "../server/y.ts"\';',
      "src/novelty/a.ts": "export {};",
      "src/objects/b.ts": 'export type X = import("../storage/kv.ts").Kv;',
      "src/base/clock.test.ts": 'import { x } from "../server/y.ts";',
    });
    expect(places(checkAllowedImports(sources))).toEqual([
      "src/base/clock.ts:1",
      "src/novelty/a.ts:1",
      "src/objects/b.ts:1",
    ]);
  });

  test("can allow the types of a module but not its values, and one file of a module but not the others", () => {
    const sources = parsed({
      "src/serving/endpoints/watch.ts":
        'import type { Entry } from "../../storage/entry.ts";\nimport { read } from "../../storage/entry.ts";',
      "src/client/client.ts":
        'import { text } from "../serving/http/message.ts";\nimport { chain } from "../serving/http/chain.ts";',
    });
    expect(places(checkAllowedImports(sources))).toEqual([
      "src/serving/endpoints/watch.ts:2",
      "src/client/client.ts:2",
    ]);
  });

  test("assign a file to the longest row of the module table that matches its path", () => {
    const table = { "serving/http": { imports: [] }, storage: { imports: [] }, "storage/a/b": { imports: [] } };
    const rows = [
      "storage/kv.ts",
      "storage/a/kv.ts",
      "storage/a/b/c/kv.ts",
      "serving/http/node/h1.ts",
      "serving/x/y.ts",
    ].map((path) => moduleOf(`src/${path}`, table));
    expect(rows).toEqual(["storage", "storage", "storage/a/b", "serving/http", "serving"]);
    expect(moduleOf("src/index.ts", table)).toBeUndefined();
    expect(moduleOf("test/storage/kv.ts", table)).toBeUndefined();
  });

  test("find a row that may import a row below it or an unknown row, and allow types to point down inside a room", () => {
    const wrong = (values: readonly string[], types: readonly string[] = []): number =>
      checkTableOrder({
        base: { imports: [] },
        "serving/http": { imports: values, types },
        "serving/registry": { imports: ["base", "serving/http"] },
        server: { imports: [] },
      }).length;
    expect(wrong(["base", "base/clock.ts"], ["serving/registry"])).toBe(0);
    expect(wrong(["serving/registry", "serving/registry/get.ts", "novelty"])).toBe(3);
    expect(wrong([], ["server", "serving/novelty"])).toBe(2);
  });

  test("find shipped code that imports test code or anything outside src/", () => {
    const sources = parsed({
      "src/base/a.ts": 'import { fake } from "./fake.test.ts";\nimport { helper } from "../../test/helper.ts";',
    });
    expect(places(checkAllowedImports(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:2"]);
  });

  test("find an import cycle of values, and accept a cycle that includes an import of types", () => {
    const sources = parsed({
      "src/base/a.ts": 'import { b } from "./b.ts";',
      "src/base/b.ts": 'export { c as b } from "./c.ts";',
      "src/base/c.ts": 'const a = await import("./a.ts");',
      "src/base/d.ts": 'import { e } from "./e.ts";',
      "src/base/e.ts": 'import type { d } from "./d.ts";',
    });
    const found = checkImportCycles(sources);
    expect(places(found)).toEqual(["src/base/c.ts:1"]);
    expect(found[0]?.message).toContain("src/base/a.ts → src/base/b.ts → src/base/c.ts → src/base/a.ts");
  });

  test("allow only the files of a module to import from its internal/ folder", () => {
    const sources = parsed({
      "src/base/a.ts": 'import { x } from "./internal/x.ts";',
      "src/meta/b.ts": 'import { x } from "../base/internal/x.ts";',
    });
    expect(places(checkInternalFolders(sources))).toEqual(["src/meta/b.ts:1"]);
  });

  test("find the three ways to write a default export", () => {
    const sources = parsed({
      "src/base/a.ts": "export default 1;",
      "src/base/b.ts": "const b = 1;\nexport { b as default };",
      "src/base/c.ts": "\n\nexport default function c(): void {}",
      "src/base/d.ts": "switch (1 as number) {\n  default:\n}\nexport const text = 'export default';",
      "vitest.config.ts": "export default {};",
    });
    expect(places(checkDefaultExports(sources))).toEqual(["src/base/a.ts:1", "src/base/b.ts:2", "src/base/c.ts:3"]);
  });

  test("find a file that only re-exports, unless it is a public entry", () => {
    const barrel = 'export * from "./a.ts";\nexport { b } from "./b.ts";';
    const sources = parsed({
      "src/base/index.ts": barrel,
      "src/client/index.ts": barrel,
      "src/base/c.ts": `${barrel}\nexport const c = 1;`,
    });
    expect(places(checkBarrels(sources))).toEqual(["src/base/index.ts:1"]);
  });

  test("find a file that no other file imports, where workers and the imports of tests and scripts count as imports", () => {
    const sources = parsed({
      "src/tools/cli/main.ts": 'new Worker(new URL("./worker.ts", import.meta.url));',
      "src/tools/cli/worker.ts": "export {};",
      "src/base/dead.ts": 'import "./dead-too.ts";',
      "src/base/dead-too.ts": "export {};",
      "src/base/tested.ts": 'import "../../test/testing/base/fake.ts";',
      "src/base/tested.test.ts": 'import "./tested.ts";',
      "test/testing/base/fake.ts": "export {};",
      "test/testing/base/dead.ts": "export {};",
      "test/simulator/workload.ts": "export {};",
      "scripts/simulate.ts": 'import "../test/simulator/workload.ts";',
    });
    expect(places(checkDeadFiles(sources))).toEqual([
      "src/base/dead.ts:1",
      "src/base/dead-too.ts:1",
      "test/testing/base/dead.ts:1",
    ]);
  });

  test("find a file of src that only tests and scripts import, also through another such file", () => {
    const sources = parsed({
      "src/index.ts": 'import "./base/shipped.ts";',
      "src/base/shipped.ts": "export {};",
      "src/base/shipped.test.ts": 'import "./shipped.ts";\nimport "./testing/fake.ts";',
      "src/base/testing/fake.ts": 'import "./more.ts";\nimport "../shipped.ts";',
      "src/base/testing/more.ts": "export {};",
      "src/base/simulated.ts": "export {};",
      "scripts/simulate.ts": 'import "../src/base/simulated.ts";\nimport "../test/testing/base/fake.ts";',
      "test/testing/base/fake.ts": "export {};",
    });
    expect(places(checkTestOnlyFiles(sources))).toEqual([
      "src/base/testing/fake.ts:1",
      "src/base/testing/more.ts:1",
      "src/base/simulated.ts:1",
    ]);
  });
});

describe("the export checks", () => {
  test("find an exported name that no other file imports, whatever declares it", () => {
    const sources = parsed({
      "src/base/a.ts": [
        "export const a = 1;",
        "export const [{ b, c: d }, , ...e] = (() => { const inner = a; return inner; })();",
        "export async function f(): Promise<void> {}",
        "export abstract class F {}",
        "export interface G {}",
        "export type H = G;",
        "const i = 1;",
        "export { i, a as j };",
        'export { k } from "./b.ts";',
        'export * as l from "./b.ts";',
      ].join("\n"),
      "src/base/b.ts": "export const k = 1;",
    });
    expect(unusedExports(sources).map(({ name }) => name)).toEqual("a b d e f F G H i j k l".split(" "));
    expect(places(checkUnusedExports(sources)).slice(-3)).toEqual([
      "src/base/a.ts:8",
      "src/base/a.ts:9",
      "src/base/a.ts:10",
    ]);
  });

  test.each([
    'import { a } from "../src/base/a.ts";',
    'import { type a as b } from "../src/base/a.ts";',
    'import type { a } from "../src/base/a.ts";',
    'import * as all from "../src/base/a.ts";',
    'export { a as b } from "../src/base/a.ts";',
    'export * from "../src/base/a.ts";',
    'type A = import("../src/base/a.ts").a.b;',
    'type A = typeof import("../src/base/a.ts");',
    'const { a } = await import("../src/base/a.ts");',
  ])("count %s as a use of the name", (line) => {
    expect(checkUnusedExports(parsed({ "src/base/a.ts": "export const a = 1;", "bench/b.ts": line }))).toEqual([]);
  });

  test.each([
    "const a = 1;",
    'import { b as a } from "../src/base/a.ts";',
    'import { a } from "../src/base/other.ts";',
    'import "../src/base/a.ts";',
    'new Worker(new URL("../src/base/a.ts", import.meta.url));',
  ])("do not count %s as a use of the name", (line) => {
    const sources = parsed({ "src/base/a.ts": "export const a = 1;\na + a;", "bench/b.ts": line });
    expect(places(checkUnusedExports(sources))).toEqual(["src/base/a.ts:1"]);
  });

  test("accept all names of a public entry, and do not check helpers in test/", () => {
    const sources = parsed({
      "src/index.ts": 'export { a } from "./base/a.ts";\nexport const b = 1;',
      "src/base/a.ts": "export const a = 1;",
      "test/helper.ts": "export const c = 1;",
    });
    expect(checkUnusedExports(sources)).toEqual([]);
  });

  test("report a name under which several files export different things once, with the number of files", () => {
    const users = ["a", "b", "c"]
      .map((name) => `export { Thing as ${name} } from "../src/base/${name}.ts";`)
      .join("\n");
    const sources = parsed({
      "src/base/a.ts": "export interface Thing {}\nexport const Thing = 1;",
      "src/base/b.ts": "\nexport class Thing {}",
      "src/base/c.ts": "const other = 1;\nexport { other as Thing };",
      "test/users.ts": users,
    });
    expect(offendersOf(duplicateNameOffences(sources))).toEqual({ "export-name Thing": 3 });
    expect(places(checkDuplicateNames(sources, {}))).toEqual(["src/base/b.ts:2"]);
    expect(checkDuplicateNames(sources, { "export-name Thing": 3 })).toEqual([]);
    expect(checkDuplicateNames(sources, { "export-name Thing": 4 })[0]?.message).toContain("shrank from 4 to 3");
    expect(checkDuplicateNames(sources, { "export-name Thing": 3, "export-name Other": 2 })[0]?.message).toContain(
      "remove",
    );
  });

  test("allow re-exports, names that no file imports, limits.ts files and helpers of tests to share a name", () => {
    const sources = parsed({
      "src/base/a.ts": "export const x = 1;",
      "src/base/b.ts": 'export { x } from "./a.ts";',
      "src/base/c.ts": "export const x = 1;",
      "src/base/limits.ts": "export const x = 1;",
      "src/base/d.test.ts": "export const x = 1;",
      "test/users.ts": ["a", "b", "limits", "d.test"]
        .map((name, index) => `import { x as x${index} } from "../src/base/${name}.ts";`)
        .join("\n"),
    });
    expect(checkDuplicateNames(sources, {})).toEqual([]);
  });
});

describe("the determinism checks", () => {
  test.each([
    "Date.now();",
    "new Date();",
    "new Date;",
    "Date();",
    "performance.now();",
    "globalThis.performance.now();",
    "Math.random();",
    "crypto.randomUUID();",
    "crypto.getRandomValues(bytes);",
    "crypto.subtle.digest;",
    "setTimeout(f, 1);",
    "globalThis.setTimeout(f, 1);",
    "const timers = { setTimeout };",
    "const wait = setInterval;",
    "setImmediate(f);",
    "AbortSignal.timeout(5);",
    'await fetch("x");',
    "process.env.HOME;",
    'process.env["HOME"];',
    "process.argv;",
    "process.exit(1);",
    'console.log("x");',
    'import { randomBytes } from "node:crypto";',
    'import { randomBytes as chance } from "crypto";',
    'import * as anything from "node:crypto";',
    'import fs from "node:fs";',
    'import { readFile } from "node:fs/promises";',
    'import { promises } from "node:fs";',
    'import { gzip } from "node:zlib";',
    'import { lookup } from "node:dns";',
    'import { setTimeout as sleep } from "node:timers/promises";',
    "new CompressionStream();",
  ])("find %s", (line) => {
    expect(places(checkBannedGlobals(parsed({ "src/base/a.ts": `// first\n${line}\n` })))).toEqual(["src/base/a.ts:2"]);
  });

  test("accept code that only looks like access to time, randomness or the outside world", () => {
    const innocent = [
      "// Date.now() and setTimeout in a comment",
      'export const text = "Date.now() fetch( console.log";',
      "export const pattern = /Math.random/;",
      "export const date = new Date(0);",
      "export const utc = Date.UTC(2030, 0, 1);",
      "queueMicrotask(() => {});",
      "cache.fetch(1); timers.setTimeout(1); log.console;",
      "export function get(fetch: (path: string) => void): void {\n  fetch('/');\n}",
      'import { createHash } from "node:crypto";',
      'import { readFileSync } from "node:fs";',
      'import type { Gzip } from "node:zlib";',
    ].join("\n");
    expect(checkBannedGlobals(parsed({ "src/base/a.ts": innocent }))).toEqual([]);
  });

  test("allow access to the outside world in the listed files", () => {
    const real = "export const now = Date.now();";
    const paths = [
      "src/server/env-node.ts",
      "src/serving/http/node/a.ts",
      "src/storage/kv-etcd/a.ts",
      "src/tools/cli/a.ts",
      "src/base/a.test.ts",
    ];
    expect(checkBannedGlobals(parsed(Object.fromEntries(paths.map((path) => [path, real]))))).toEqual([]);
  });

  test("forbid access to the outside world in the parts of the simulator in test/, but not in the tests beside them", () => {
    const real = "export const now = Date.now();";
    const sources = parsed({ "test/simulator/nemesis.ts": real, "test/simulator/seeds.test.ts": real });
    expect(places(checkBannedGlobals(sources))).toEqual(["test/simulator/nemesis.ts:1"]);
  });

  test.each([
    "let count = 0;",
    "var count = 0;",
    "export const seen = new Map();",
    "const seen: Set<string> = new Set();",
    "const seen = new WeakMap<object, string>();",
    "const list = [1];",
    "const list: string[] = [];",
    "const table = { a: 1 };",
    "const table: Record<string, number> = {};",
    "const table = {} as Record<string, number>;",
    "const table: { a: number } = { a: 1 };",
    "class A { static #count = 0; }",
  ])("find %s at the top of a module", (line) => {
    expect(places(checkModuleState(parsed({ "src/base/a.ts": line }), []))).toEqual(["src/base/a.ts:1"]);
  });

  test("accept immutable values and variables inside functions", () => {
    const innocent = [
      "const seen: ReadonlyMap<string, number> = new Map();",
      "const set: ReadonlySet<string> = new Set();",
      "const list: readonly string[] = [];",
      "const tuple = [1, 2] as const;",
      "const table = { a: 1 } as const satisfies object;",
      "const record: Readonly<Record<string, number>> = {};",
      "const frozen = Object.freeze({ a: 1 });",
      "const shape: { readonly a: number } = { a: 1 };",
      "const LOG: Log = { debug: ignore };",
      "class A { static readonly limit = 1; count = 0; }",
      "function f(): void {\n  let count = 0;\n  const list = [];\n}",
    ].join("\n");
    expect(checkModuleState(parsed({ "src/base/a.ts": innocent }), [])).toEqual([]);
  });

  test("allow module state that is listed by name, and find list entries without such state", () => {
    const allowed = [{ path: "src/base/a.ts", name: "memo", reason: "planted" }];
    expect(checkModuleState(parsed({ "src/base/a.ts": "const memo = new Map();" }), allowed)).toEqual([]);
    expect(places(checkModuleState(parsed({ "src/base/a.ts": "export {};" }), allowed))).toEqual(["src/base/a.ts:1"]);
  });
});

describe("the shape checks", () => {
  test.each([
    ["imports src/base/a.ts", { "src/base/a.ts": imports(26) }, 26],
    ["file-lines src/base/a.ts", { "src/base/a.ts": lines(801) }, 801],
    ["test-file-lines src/base/a.test.ts", { "src/base/a.test.ts": lines(1_201) }, 1_201],
    ["complexity src/base/a.ts f", { "src/base/a.ts": `function f() {\n${"if (a) b();\n".repeat(15)}}\n` }, 16],
    ["complexity src/base/a.ts f", { "src/base/a.ts": `const f = () => ${"a && b || c ?? ".repeat(5)} d;` }, 16],
    ["complexity src/base/a.ts A.m", { "src/base/a.ts": `class A { m() { ${"a ? b : ".repeat(15)} c; } }` }, 16],
    ["complexity src/base/a.ts f.callback", { "src/base/a.ts": `function f() { return () => { ${loops(8)} }; }` }, 17],
    [
      "nesting src/base/a.ts f",
      { "src/base/a.ts": "function f() { for (;;) if (a) { try { while (b) c(); } catch {} } }" },
      4,
    ],
    ["parameters src/base/a.ts f", { "src/base/a.ts": "function f(a, b, c, d, e) {}" }, 5],
    ["parameters src/base/a.ts P.m", { "src/base/a.ts": "interface P { m(a, b, c, d, e): void }" }, 5],
    ["parameters src/base/a.ts callback", { "src/base/a.ts": "each((a, b, c, d, e) => {});" }, 5],
    ["interface-methods src/base/a.ts P", { "src/base/a.ts": `interface P {\n${methods(13)}}` }, 13],
    ['test-lines src/a.test.ts "t"', { "src/a.test.ts": `test("t", () => {\n${lines(79)}});\n` }, 81],
    ['test-lines src/a.test.ts "t"', { "src/a.test.ts": `test.each([1])("t", () => {\n${lines(79)}});\n` }, 81],
  ])("find %s", (key, files, size) => {
    const sources = parsed(files);
    expect(offendersOf(shapeOffences(sources))).toEqual({ [key]: size });
    expect(checkShapes(sources, {})).toHaveLength(1);
  });

  test.each([
    ["imports at the limit", { "src/base/a.ts": imports(25) }],
    ["a file at the limit", { "src/base/a.ts": lines(800) }],
    ["a long function without branches", { "src/base/a.ts": `function f() {\n${lines(300)}}\n` }],
    ["branches at the limit", { "src/base/a.ts": `function f() {\n${"if (a) b();\n".repeat(14)}}\n` }],
    ["branches of two functions", { "src/base/a.ts": `function f() { ${loops(5)} return () => { ${loops(5)} }; }` }],
    ["a flat switch", { "src/base/a.ts": `function f() { switch (a) { ${"case 1: return b;\n".repeat(40)} } }` }],
    ["else if", { "src/base/a.ts": `function f() { ${"if (a) b(); else ".repeat(5)} c(); }` }],
    [
      "the same depth in two functions",
      { "src/base/a.ts": "function f() { for (;;) if (a) b(() => { if (c) if (d) e(); }); }" },
    ],
    ["branches of a test", { "src/base/a.test.ts": `function f() { ${loops(20)} }` }],
    ["a this parameter", { "src/base/a.ts": "function f(this: A, a, b, c, d) {}" }],
    ["an interface at the limit", { "src/base/a.ts": `export interface P {\n${methods(12)} name: string; }` }],
    ["a test at the limit", { "src/a.test.ts": `test("t", () => {\n${lines(78)}});\n` }],
  ])("accept %s", (_, files) => {
    expect(offendersOf(shapeOffences(parsed(files)))).toEqual({});
  });

  test("allow a known offender to stay but not to grow, and require that its entry in known-offenders.json has its size", () => {
    const sources = parsed({ "src/base/a.ts": "function f(a, b, c, d, e) {}" });
    const key = "parameters src/base/a.ts f";
    expect(checkShapes(sources, { [key]: 5 })).toEqual([]);
    expect(checkShapes(sources, {})).toHaveLength(1);
    expect(checkShapes(sources, { [key]: 4 })).toHaveLength(1);
    expect(checkShapes(sources, { [key]: 6 })[0]?.message).toContain("shrank from 6 to 5");
    expect(checkShapes([], { [key]: 5 })[0]?.message).toContain("remove");
  });

  test("list the larger of two offenders with the same name", () => {
    const sources = parsed({ "src/base/a.ts": "each((a, b, c, d, e) => {}); each((a, b, c, d, e, f) => {});" });
    const key = "parameters src/base/a.ts callback";
    expect(offendersOf(shapeOffences(sources))).toEqual({ [key]: 6 });
    expect(checkShapes(sources, { [key]: 6 })).toEqual([]);
    expect(checkShapes(sources, { [key]: 5 })).toHaveLength(1);
  });

  test("find a limit that CONTRIBUTING.md does not list, or lists with another number", () => {
    const listed = [
      `- At most ${LIMITS.imports} imports and ${LIMITS.sourceLines} lines per file; ${LIMITS.complexity} branches, ${LIMITS.nesting} nested`,
      `  blocks and ${LIMITS.parameters} parameters; ${LIMITS.methods} methods; ${LIMITS.testLines} lines in a test, ${LIMITS.testFileLines} lines in a test file.`,
      "- Another 7 things.",
    ].join("\n");
    expect(checkListedLimits(texts({ "CONTRIBUTING.md": listed }))).toEqual([]);
    expect(checkListedLimits(texts({ "CONTRIBUTING.md": listed.replace("branches", "twigs") }))).toHaveLength(2);
    expect(
      checkListedLimits(texts({ "CONTRIBUTING.md": listed.replace("- At most", "- At most 9 lives,") })),
    ).toHaveLength(1);
    expect(checkListedLimits(texts({ "CONTRIBUTING.md": "# Contributing\n" }))).toHaveLength(
      Object.keys(LIMITS).length,
    );
  });
});

function imports(count: number): string {
  return Array.from(
    { length: count },
    (_, index) => `import ${index % 2 ? "type " : ""}{ a${index} } from "b";\n`,
  ).join("");
}

function loops(count: number): string {
  return "for (const a of b) if (a) c(); ".repeat(count);
}

function methods(count: number): string {
  return Array.from({ length: count }, (_, index) =>
    index % 2 === 0 ? `m${index}(): void;\n` : `m${index}: () => void;\n`,
  ).join("");
}

describe("the convention checks", () => {
  test("find an exported error class without its own name", () => {
    const sources = parsed({
      "src/base/a.ts":
        "export class AError extends Error {}\nexport class BError extends TypeError { readonly name = 'B'; }",
      "src/base/b.ts":
        "export class CError extends Error { override readonly name = 'CError'; }\nclass Own extends Error {}",
    });
    expect(places(checkErrorNames(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:2"]);
  });

  test("find an empty catch block, and accept one with a reason", () => {
    const sources = parsed({
      "src/base/a.ts":
        "try { a(); } catch {}\ntry { b(); } catch (thrown) {\n}\ntry { c(); } catch {\n  // Already closed.\n}\n",
    });
    expect(places(checkEmptyCatches(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:2"]);
  });

  test("find the type any, but not the word elsewhere, and accept it with a reason on its line", () => {
    const sources = parsed({
      "src/base/a.ts":
        "let a: any;\nconst any = 'any'; // any\nb as any;\nlet c: any; // oxlint-disable-line typescript/no-explicit-any -- planted",
    });
    expect(places(checkAny(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:3"]);
  });

  test("find a comparison of a release's number, except in the listed files", () => {
    const bad = [
      "if (minor >= 36) f();",
      "if (context.minor < 33) f();",
      "if (36 <= serverMinor) f();",
      "if (served.minor < CREATES_SINCE) f();",
      "if (Number(release.minor) >= 36) f();",
      'if (Number(release.split(".")[1]) <= LAST_MINOR) f();',
      "if (minor === 36) f();",
    ];
    const good = [
      'if (gates.isOn("PodLevelResources")) f();',
      "if (binaryMinor < sinceMinor) f();",
      "if (left.minor === right.minor) f();",
      "if (minor === undefined) f();",
      "if (minority > 3) f();",
      "const minor = 36;",
    ];
    const found = checkReleaseComparisons(
      parsed({
        "src/base/a.ts": bad.join("\n"),
        "src/base/b.ts": good.join("\n"),
        "src/server/effective-version.ts": bad.join("\n"),
        "src/base/a.test.ts": bad.join("\n"),
      }),
    );
    expect(places(found)).toEqual(bad.map((_, index) => `src/base/a.ts:${index + 1}`));
  });

  test("find tags other than the four allowed tags, in comments only", () => {
    const bad = [
      "// TODO: later",
      "/* FIXME */",
      "// @TODO without an issue",
      "// NOTE: x",
      "// XXX",
      "// DIFFERS from it",
    ];
    const good = [
      "// @TODO(#12): later",
      "// @NOTE x",
      "// DIFFERS: x",
      "// As kubernetes a.go#b",
      'const a = "TODO // TODO";',
      "// note that",
    ];
    expect(checkTags(parsed({ "src/base/a.ts": bad.join("\n") }))).toHaveLength(bad.length);
    expect(checkTags(parsed({ "src/base/a.ts": good.join("\n") }))).toEqual([]);
  });
});

describe("the document checks", () => {
  test("find a document with more or less than one heading of the first level", () => {
    const files = texts({
      "README.md": "# One\n\n# Two\n",
      "docs/a.md": "## None\n",
      "docs/b.md": "# One\n```sh\n# a comment\n```\n## Two\n",
      "test/notes.md": "nothing",
    });
    expect(places(checkHeadings(files))).toEqual(["README.md:3", "docs/a.md:1"]);
  });

  test("find a document with more lines than its budget", () => {
    const budgets = {
      "README.md": 120,
      "CONTRIBUTING.md": 100,
      "docs/ARCHITECTURE.md": 300,
      "docs/adr/001-one.md": 60,
    };
    const sized = (extra: number): readonly TextFile[] =>
      texts(Object.fromEntries(Object.entries(budgets).map(([path, limit]) => [path, "\n".repeat(limit + extra)])));
    expect(checkBudgets(sized(0))).toEqual([]);
    expect(checkBudgets(sized(1)).map(({ path }) => path)).toEqual(Object.keys(budgets));
  });

  test("find a file or folder that a document names and that does not exist", () => {
    const files = texts({
      "src/base/clock.ts": "",
      "src/access/auth/user.ts": "",
      "docs/adr/001-one.md": "",
      "scripts/build.mjs": "",
      "docs/a.md": [
        "`base/clock.ts` and src/base/clock.ts, see clock.ts (scripts/build.mjs) in `access/auth/` or `auth/`",
        "`base/lock.ts`",
        "`rock.ts`, base/clock.tsx, https://example.org/a/rock.ts",
        "`auth/user.ts`: from src/, and not from access/",
        "`http/` and http/ and `pki/` and `a/*.ts`",
        "```",
        "src/access/authority.ts",
        "```",
      ].join("\n"),
      "CONTRIBUTING.md": "`src/base/`\n`base/log.mjs`",
      "CHANGELOG.md": "`base/old.ts`",
    });
    expect(places(checkNamedPaths(files))).toEqual([
      "docs/a.md:2",
      "docs/a.md:3",
      "docs/a.md:4",
      "docs/a.md:5",
      "docs/a.md:7",
      "CONTRIBUTING.md:2",
    ]);
  });

  test("find a filter or a route that request-flow.md omits or lists in another position", () => {
    const code = {
      "src/server/handler-chain.ts": "chain()\n.through(filters.a)\n.through(filters.b)\n.to(route)",
      "src/server/router.ts": "export interface Routes { readonly x: number; readonly y: number }",
    };
    const row = (name: string): string => `| \`${name}\` | \`base/${name}.ts\` | does |\n`;
    const flow = (filters: string, routes: string): readonly string[] =>
      places(
        checkRequestFlow(
          texts({
            ...code,
            "docs/request-flow.md": `# Flow\n## Filters\n${filters}## Routes\n${routes}## More\n${row("z")}`,
          }),
        ),
      );
    expect(flow(row("a") + row("b"), row("x") + row("y"))).toEqual([]);
    expect(flow(row("b") + row("a"), row("x"))).toEqual(["docs/request-flow.md:2", "docs/request-flow.md:5"]);
    expect(flow(`${row("a")}| \`b\` | nowhere | does |\n`, row("x") + row("y"))).toEqual(["docs/request-flow.md:2"]);
    expect(checkRequestFlow([])).toHaveLength(2);
  });

  test("find a walk of request-flow.md with too many stops, one stop or none, and a stop that is not a file", () => {
    const stop = (path = "base/a.ts"): string => `1. \`${path}\` — reads\n   and writes.\n`;
    const walks = (text: string): readonly string[] =>
      places(checkWalks(texts({ "src/base/a.ts": "", "docs/request-flow.md": `# Flow\n## Walks\n${text}` })));
    expect(walks(`### A\n${stop().repeat(12)}### B\n${stop().repeat(2)}## End\n### C\n`)).toEqual([]);
    expect(walks(`### A\n${stop().repeat(13)}### B\n${stop()}`)).toEqual([
      "docs/request-flow.md:3",
      "docs/request-flow.md:30",
    ]);
    expect(walks(`### A\n${stop()}${stop("a.ts")}1. base/a.ts — reads\n1. \`base/a.ts\`\n`)).toEqual([
      "docs/request-flow.md:6",
      "docs/request-flow.md:8",
      "docs/request-flow.md:9",
    ]);
    expect(walks("nothing")).toEqual(["docs/request-flow.md:2"]);
    expect(places(checkWalks([]))).toEqual(["docs/request-flow.md:1"]);
  });

  describe("on the folders of src/", () => {
    const table = { base: { imports: [] }, "serving/http": { imports: [] }, "serving/registry": { imports: [] } };
    const folders = ["base/a.ts", "base/more/a.ts", "serving/http/node/a.ts", "serving/registry/a.ts"];
    const map = (rows: readonly string[], nodes = ["base", "serving"]): string =>
      `# A\n## Rooms\n\`\`\`mermaid\nflowchart TD\n${nodes.map((node) => `  ${node}["x"]\n`).join("")}\`\`\`\n## Code map\n${rows.map((row) => `| \`${row}/\` | owns |\n`).join("")}`;
    const rooms = (
      paths: readonly string[],
      text = map(Object.keys(table)),
      rows: Readonly<Record<string, ModuleRule>> = table,
    ): readonly string[] =>
      places(
        checkRooms(
          texts({ ...Object.fromEntries(paths.map((path) => [`src/${path}`, ""])), "docs/ARCHITECTURE.md": text }),
          rows,
        ),
      );

    test("accept folders, rows of the module table, a code map and a diagram that are equal", () => {
      expect(rooms(folders)).toEqual([]);
    });

    test("find a folder without a row in the module table, at the top or inside a room that has no row itself", () => {
      expect(rooms([...folders, "serving/novelty/a.ts"])).toEqual(["src/serving/novelty/:1"]);
      expect(rooms([...folders, "novelty/a.ts"], map(Object.keys(table), ["base", "novelty", "serving"]))).toEqual([
        "src/novelty/:1",
      ]);
    });

    test("find a row of the module table without a folder", () => {
      expect(rooms(folders.slice(0, -1))).toEqual(["test/architecture/module-table.ts:1"]);
    });

    test("find a code map that lacks a row, adds one or has another order, and a diagram that lacks a room", () => {
      const [base = "", http = "", registry = ""] = Object.keys(table);
      for (const rows of [
        [base, http],
        [base, http, registry, "serving"],
        [base, registry, http],
      ]) {
        expect(rooms(folders, map(rows))).toEqual(["docs/ARCHITECTURE.md:8"]);
      }
      expect(rooms(folders, map([base, http, registry], ["base"]))).toEqual(["docs/ARCHITECTURE.md:2"]);
      expect(rooms(folders, "# A\n")).toHaveLength(2);
    });

    test("find more than twelve folders directly in src/", () => {
      const names = Array.from({ length: 13 }, (_, index) => `room${index + 10}`);
      const found = (count: number): readonly string[] => {
        const used = names.slice(0, count);
        return rooms(
          used.map((name) => `${name}/a.ts`),
          map(used, used),
          Object.fromEntries(used.map((name) => [name, { imports: [] }])),
        );
      };
      expect(found(12)).toEqual([]);
      expect(found(13)).toEqual(["src/:1"]);
    });
  });

  test("find private paths, folders beside the project, and package registries", () => {
    const rooted = (name: string): string => ["", name, "x"].join("/");
    const neighbour = (folder: string): string => ["..", "shared", folder].join("/");
    const host = ["https://registry", "npmjs", "org/x"].join(".");
    const files = texts({
      "docs/a.md": `see ${rooted("work")}\nand "${rooted("root")}"\n`,
      "src/base/a.ts": `// ${neighbour("facts")}`,
      "test/a.ts": `"../${neighbour("facts")}/x" ${neighbour("fidelity")}\n${neighbour("STYLE.md")}`,
      "package-lock.json": `{ "resolved": "${host}" }`,
      "README.md": "https://example.org/network/work/x and GET /apis/work/v1 and ./root/x\n",
    });
    expect(places(checkPrivateText(files))).toEqual([
      "docs/a.md:1",
      "docs/a.md:2",
      "src/base/a.ts:1",
      "test/a.ts:2",
      "package-lock.json:1",
      "package-lock.json:1",
    ]);
  });
});

describe("the language check", () => {
  const GLOSSARY = "| use | meaning | not |\n| --- | --- | --- |\n| reject | return 4xx | refuse, turn down |\n";

  function found(files: Readonly<Record<string, string>>): readonly string[] {
    return checkLanguage(parsed(files), texts({ "docs/glossary.md": GLOSSARY, ...files }), []).map(
      ({ path, line, message }) => `${path}:${line} ${/"([^"]*)"/.exec(message)?.[1]}`,
    );
  }

  test("finds rejected phrases in comments, also across line breaks, in test names, messages and documents", () => {
    const files = {
      "src/base/a.ts": "/** The client is\n * told about it. */\nexport const a = 1; // in vain\n",
      "src/base/b.ts": 'export const b = "the store is out of reach";\n',
      "src/base/c.test.ts": 'test("the watch goes on", () => {});\ntest.each([1])("%s is let go", () => {});\n',
      "docs/a.md": "# A\n\nThe caller is\ntold.\n\n```sh\n# is told\n```\n\nThe flag `--is told` is code.\n",
      "scripts/a.mjs": "// Reads it anew.\n",
    };
    expect(found(files)).toEqual([
      "src/base/a.ts:1 is told",
      "src/base/a.ts:3 in vain",
      "src/base/b.ts:1 out of reach",
      "src/base/c.test.ts:1 goes on",
      "src/base/c.test.ts:2 let go",
      "docs/a.md:3 is told",
      "scripts/a.mjs:1 anew",
    ]);
  });

  test("finds the words that the glossary rejects, with their endings", () => {
    const text =
      "// It refuses.\nvoid 0;\n// It refused.\nvoid 0;\n// A refusal.\nvoid 0;\n// Turn down the request.\n";
    expect(found({ "src/base/a.ts": text })).toEqual([
      "src/base/a.ts:1 refuses",
      "src/base/a.ts:3 refused",
      "src/base/a.ts:5 refusal",
      "src/base/a.ts:7 Turn down",
    ]);
  });

  test("finds British spelling, and sentences that begin with What or Who, but no questions", () => {
    const text =
      "// Serialises it.\nvoid 0;\n// What is served.\nvoid 0;\n// Good. Who may read.\nvoid 0;\n// What is it?\n";
    expect(found({ "src/base/a.ts": text })).toEqual([
      "src/base/a.ts:1 Serialises",
      "src/base/a.ts:3 What",
      "src/base/a.ts:5 . Who",
    ]);
  });

  test("accepts a passage that an exception allows, and reports an exception that allows no passage", () => {
    const files = { "src/base/a.ts": "// The connection is refused.\n" };
    const exception = { path: /./, text: /connection is refused/, reason: "TCP" };
    const check = (given: Readonly<Record<string, string>>): readonly string[] =>
      places(checkLanguage(parsed(given), texts({ "docs/glossary.md": GLOSSARY, ...given }), [exception]));
    expect(check(files)).toEqual([]);
    expect(check({ "src/base/a.ts": "" })).toEqual(["test/architecture/language.ts:1"]);
  });
});
