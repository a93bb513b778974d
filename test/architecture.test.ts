/**
 * Checks rules of the code base that neither the compiler nor the linter checks. Each failure names the file, the line,
 * the violated rule and the remedy. test/architecture/ contains the checks, and checkers.test.ts there shows that each
 * of them can fail.
 */
import { expect, test } from "vitest";
import {
  checkAny,
  checkEmptyCatches,
  checkErrorNames,
  checkReleaseComparisons,
  checkTags,
} from "./architecture/conventions.ts";
import { checkBannedGlobals, checkModuleState } from "./architecture/determinism.ts";
import {
  checkBudgets,
  checkHeadings,
  checkNamedPaths,
  checkPrivateText,
  checkRequestFlow,
  checkRooms,
  checkWalks,
} from "./architecture/documents.ts";
import { checkDuplicateNames, checkUnusedExports } from "./architecture/exports.ts";
import {
  checkAllowedImports,
  checkBarrels,
  checkDeadFiles,
  checkDefaultExports,
  checkImportCycles,
  checkInternalFolders,
  checkTableOrder,
  checkTestOnlyFiles,
} from "./architecture/imports.ts";
import knownOffenders from "./architecture/known-offenders.json" with { type: "json" };
import { checkLanguage } from "./architecture/language.ts";
import { checkListedLimits, checkShapes } from "./architecture/shapes.ts";
import { parseSources, readProject, report } from "./architecture/sources.ts";

const files = readProject();
const sources = parseSources(files);

test("the checks read the whole project", () => {
  const paths = new Set(files.map(({ path }) => path));
  for (const path of ["package.json", "package-lock.json", "src/base/clock.ts", "test/architecture.test.ts"]) {
    expect(paths).toContain(path);
  }
});

test("a module imports only from the modules that its row of the table names", () => {
  expect(report(checkAllowedImports(sources))).toEqual([]);
});

test("files do not import each other in a cycle", () => {
  expect(report(checkImportCycles(sources))).toEqual([]);
});

test("an internal/ folder is imported by its own module only", () => {
  expect(report(checkInternalFolders(sources))).toEqual([]);
});

test("no file has a default export", () => {
  expect(report(checkDefaultExports(sources))).toEqual([]);
});

test("no file only re-exports, except the public entries", () => {
  expect(report(checkBarrels(sources))).toEqual([]);
});

test("every source file and every helper of tests is reachable from an entry, a test or a script", () => {
  expect(report(checkDeadFiles(sources))).toEqual([]);
});

test("an exported name is imported by another file or belongs to a public entry", () => {
  expect(report(checkUnusedExports(sources))).toEqual([]);
});

test("no two files export different things under one name", () => {
  expect(report(checkDuplicateNames(sources, knownOffenders.exportNames))).toEqual([]);
});

test("every file of src/ is shipped code or a test", () => {
  expect(report(checkTestOnlyFiles(sources))).toEqual([]);
});

test("only the listed files use time, randomness and the outside world", () => {
  expect(report(checkBannedGlobals(sources))).toEqual([]);
});

test("no module keeps state", () => {
  expect(report(checkModuleState(sources))).toEqual([]);
});

test("files, functions, interfaces and tests stay within the limits on their size and complexity", () => {
  expect(report(checkShapes(sources, knownOffenders.shapes))).toEqual([]);
});

test("CONTRIBUTING.md lists the limits with their numbers", () => {
  expect(report(checkListedLimits(files))).toEqual([]);
});

test("an exported error class sets its own name", () => {
  expect(report(checkErrorNames(sources))).toEqual([]);
});

test("no catch block is empty", () => {
  expect(report(checkEmptyCatches(sources))).toEqual([]);
});

test("no code uses the type any without a reason", () => {
  expect(report(checkAny(sources))).toEqual([]);
});

test("differences between releases are named release gates, not comparisons of release numbers", () => {
  expect(report(checkReleaseComparisons(sources))).toEqual([]);
});

test("comments use only the four allowed tags", () => {
  expect(report(checkTags(sources))).toEqual([]);
});

test("a document has one heading of the first level", () => {
  expect(report(checkHeadings(files))).toEqual([]);
});

test("documents have at most as many lines as their budgets allow", () => {
  expect(report(checkBudgets(files))).toEqual([]);
});

test("a path that a document names exists", () => {
  expect(report(checkNamedPaths(files))).toEqual([]);
});

test("docs/request-flow.md lists the filters and the routes in the order of the code", () => {
  expect(report(checkRequestFlow(files))).toEqual([]);
});

test("a walk of docs/request-flow.md has at most twelve stops, each a file of src/", () => {
  expect(report(checkWalks(files))).toEqual([]);
});

test("the code map of docs/ARCHITECTURE.md, the module table and the folders of src/ are equal", () => {
  expect(report(checkRooms(files))).toEqual([]);
});

test("a row of the module table imports only from rows above it", () => {
  expect(report(checkTableOrder())).toEqual([]);
});

test("no file names a private path, a folder beside the project or a package registry", () => {
  expect(report(checkPrivateText(files))).toEqual([]);
});

test("comments, test names, messages and documents use none of the rejected words and phrases", () => {
  expect(report(checkLanguage(sources, files))).toEqual([]);
});
