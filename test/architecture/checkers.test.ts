/** Each checker meets a planted violation, and the nearest thing that is none. */
import { describe, expect, test } from "vitest";
import { checkAny, checkEmptyCatches, checkErrorNames, checkTags } from "./conventions.ts";
import { checkBannedGlobals, checkModuleState } from "./determinism.ts";
import { checkBudgets, checkHeadings, checkPrivateText } from "./documents.ts";
import {
  checkAllowedImports,
  checkBarrels,
  checkDeadFiles,
  checkDefaultExports,
  checkImportCycles,
  checkInternalFolders,
  checkTestOnlyFiles,
} from "./imports.ts";
import { checkSizes, currentOffenders } from "./sizes.ts";
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

describe("imports", () => {
  test("an import that points up is found, and so is a module without a row", () => {
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

  test("types may be allowed where values are not, and one file where its module is not", () => {
    const sources = parsed({
      "src/serving/endpoints/watch.ts":
        'import type { Entry } from "../storage/entry.ts";\nimport { read } from "../storage/entry.ts";',
      "src/client/client.ts": 'import { text } from "../http/message.ts";\nimport { chain } from "../http/chain.ts";',
    });
    expect(places(checkAllowedImports(sources))).toEqual([
      "src/serving/endpoints/watch.ts:2",
      "src/client/client.ts:2",
    ]);
  });

  test("shipped code importing test code, or anything outside src/, is found", () => {
    const sources = parsed({
      "src/base/a.ts": 'import { fake } from "./fake.test.ts";\nimport { helper } from "../../test/helper.ts";',
    });
    expect(places(checkAllowedImports(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:2"]);
  });

  test("a circle of values is found, one closed by a type is none", () => {
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

  test("an internal folder is open to its module and closed to others", () => {
    const sources = parsed({
      "src/base/a.ts": 'import { x } from "./internal/x.ts";',
      "src/meta/b.ts": 'import { x } from "../base/internal/x.ts";',
    });
    expect(places(checkInternalFolders(sources))).toEqual(["src/meta/b.ts:1"]);
  });

  test("all three ways of exporting a default are found", () => {
    const sources = parsed({
      "src/base/a.ts": "export default 1;",
      "src/base/b.ts": "const b = 1;\nexport { b as default };",
      "src/base/c.ts": "\n\nexport default function c(): void {}",
      "src/base/d.ts": "switch (1 as number) {\n  default:\n}\nexport const text = 'export default';",
      "vitest.config.ts": "export default {};",
    });
    expect(places(checkDefaultExports(sources))).toEqual(["src/base/a.ts:1", "src/base/b.ts:2", "src/base/c.ts:3"]);
  });

  test("a file that only re-exports is found unless it is a public entry", () => {
    const barrel = 'export * from "./a.ts";\nexport { b } from "./b.ts";';
    const sources = parsed({
      "src/base/index.ts": barrel,
      "src/client/index.ts": barrel,
      "src/base/c.ts": `${barrel}\nexport const c = 1;`,
    });
    expect(places(checkBarrels(sources))).toEqual(["src/base/index.ts:1"]);
  });

  test("a file that nothing imports is found; workers and imports of tests and scripts are not", () => {
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

  test("a file of src that only tests and scripts import is found, also through another such file", () => {
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

describe("determinism", () => {
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
  ])("%s is found", (line) => {
    expect(places(checkBannedGlobals(parsed({ "src/base/a.ts": `// first\n${line}\n` })))).toEqual(["src/base/a.ts:2"]);
  });

  test("what only looks like the outside world is left alone", () => {
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

  test("the places where the real world enters may use it", () => {
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

  test("the parts of the simulator in test/ may not use it, the tests beside them may", () => {
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
  ])("%s at the top of a module is found", (line) => {
    expect(places(checkModuleState(parsed({ "src/base/a.ts": line }), []))).toEqual(["src/base/a.ts:1"]);
  });

  test("what cannot be changed, and what a function keeps for itself, is no state", () => {
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

  test("allowed state is allowed by name, and leaves the list with the state", () => {
    const allowed = [{ path: "src/base/a.ts", name: "memo", reason: "planted" }];
    expect(checkModuleState(parsed({ "src/base/a.ts": "const memo = new Map();" }), allowed)).toEqual([]);
    expect(places(checkModuleState(parsed({ "src/base/a.ts": "export {};" }), allowed))).toEqual(["src/base/a.ts:1"]);
  });
});

describe("sizes", () => {
  test.each([
    ["file-lines src/base/a.ts", { "src/base/a.ts": lines(601) }, 601],
    ["file-lines src/base/a.ts", { "src/base/a.ts": `const a = 1;\n${lines(400)}` }, 401],
    ["test-file-lines src/base/a.test.ts", { "src/base/a.test.ts": lines(1_201) }, 1_201],
    ["function-lines src/base/a.ts f", { "src/base/a.ts": `function f() {\n${lines(69)}}\n` }, 71],
    ["function-lines src/base/a.ts f", { "src/base/a.ts": `const f = () => {\n${lines(69)}};\n` }, 71],
    ["function-lines src/base/a.ts A.m", { "src/base/a.ts": `class A {\nm() {\n${lines(69)}}\n}\n` }, 71],
    ["parameters src/base/a.ts f", { "src/base/a.ts": "function f(a, b, c, d, e) {}" }, 5],
    ["parameters src/base/a.ts P.m", { "src/base/a.ts": "interface P { m(a, b, c, d, e): void }" }, 5],
    ["interface-methods src/base/a.ts P", { "src/base/a.ts": `export interface P {\n${methods(13)}}` }, 13],
    ['test-lines src/a.test.ts "t"', { "src/a.test.ts": `test("t", () => {\n${lines(79)}});\n` }, 81],
    ['test-lines src/a.test.ts "t"', { "src/a.test.ts": `test.each([1])("t", () => {\n${lines(79)}});\n` }, 81],
  ])("%s is found", (key, files, size) => {
    const sources = parsed(files);
    expect(currentOffenders(sources)).toEqual({ [key]: size });
    expect(checkSizes(sources, {})).toHaveLength(1);
  });

  test("what is just small enough is not found", () => {
    const sources = parsed({
      "src/base/a.ts": `/** Long for a reason. */\n${lines(599)}`,
      "src/base/b.ts": `function f(this: A, a, b, c, d) {\n${lines(68)}}\nexport interface P {\n${methods(12)}}\n`,
      "src/a.test.ts": `test("t", () => {\n${lines(78)}});\n`,
    });
    expect(currentOffenders(sources)).toEqual({});
  });

  test("a known offender may stay, may not grow, and its entry follows it down and out", () => {
    const sources = parsed({ "src/base/a.ts": "function f(a, b, c, d, e) {}" });
    const key = "parameters src/base/a.ts f";
    expect(checkSizes(sources, { [key]: 5 })).toEqual([]);
    expect(checkSizes(sources, {})).toHaveLength(1);
    expect(checkSizes(sources, { [key]: 6 })[0]?.message).toContain("shrank from 6 to 5");
    expect(checkSizes([], { [key]: 5 })[0]?.message).toContain("remove");
  });
});

function methods(count: number): string {
  return Array.from({ length: count }, (_, index) =>
    index % 2 === 0 ? `m${index}(): void;\n` : `m${index}: () => void;\n`,
  ).join("");
}

describe("conventions", () => {
  test("an exported error class without its own name is found", () => {
    const sources = parsed({
      "src/base/a.ts":
        "export class AError extends Error {}\nexport class BError extends TypeError { readonly name = 'B'; }",
      "src/base/b.ts":
        "export class CError extends Error { override readonly name = 'CError'; }\nclass Own extends Error {}",
    });
    expect(places(checkErrorNames(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:2"]);
  });

  test("an empty catch block is found, one that says why is none", () => {
    const sources = parsed({
      "src/base/a.ts":
        "try { a(); } catch {}\ntry { b(); } catch (thrown) {\n}\ntry { c(); } catch {\n  // Already closed.\n}\n",
    });
    expect(places(checkEmptyCatches(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:2"]);
  });

  test("any is found as a type only, and excused by a reason on its line", () => {
    const sources = parsed({
      "src/base/a.ts":
        "let a: any;\nconst any = 'any'; // any\nb as any;\nlet c: any; // oxlint-disable-line typescript/no-explicit-any -- planted",
    });
    expect(places(checkAny(sources))).toEqual(["src/base/a.ts:1", "src/base/a.ts:3"]);
  });

  test("tags outside the four are found in comments only", () => {
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

describe("documents", () => {
  test("a second heading of the first level is found, and so is a missing one", () => {
    const files = texts({
      "README.md": "# One\n\n# Two\n",
      "docs/a.md": "## None\n",
      "docs/b.md": "# One\n```sh\n# a comment\n```\n## Two\n",
      "test/notes.md": "nothing",
    });
    expect(places(checkHeadings(files))).toEqual(["README.md:3", "docs/a.md:1"]);
  });

  test("a document past its budget is found", () => {
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

  test("private paths, neighbouring folders and registries are found", () => {
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
