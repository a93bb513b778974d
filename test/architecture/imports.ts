/**
 * Checks the import graph: direction of imports, cycles, internal/ folders, files that only re-export, default exports
 * and dead files.
 */
import {
  isCallExpression,
  isExportAssignment,
  isExportDeclaration,
  isExportSpecifier,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isLiteralTypeNode,
  isNewExpression,
  isStringLiteral,
  SyntaxKind,
  type Node,
} from "typescript/unstable/ast";
import { ENTRIES, MODULE_TABLE, PUBLIC_ENTRIES, type ModuleRule } from "./module-table.ts";
import { isTestCode, violation, walk, type Source, type Violation } from "./sources.ts";

export interface Import {
  readonly from: Source;
  readonly node: Node;
  readonly specifier: string;
  /** The path of the imported file; undefined if the specifier is not relative. */
  readonly target: string | undefined;
  /** Whether the import exists only for the type checker. */
  readonly typeOnly: boolean;
}

export function importsOf(source: Source): readonly Import[] {
  const imports: Import[] = [];
  walk(source.ast, (node) => {
    const found = specifierOf(node);
    if (found === undefined) return;
    const { specifier, typeOnly } = found;
    const target = specifier.startsWith(".") ? resolvePath(source.path, specifier) : undefined;
    imports.push({ from: source, node, specifier, target, typeOnly });
  });
  return imports;
}

export function checkAllowedImports(
  sources: readonly Source[],
  table: Readonly<Record<string, ModuleRule>> = MODULE_TABLE,
): readonly Violation[] {
  const violations: Violation[] = [];
  for (const source of sources) {
    const module = moduleOf(source.path, table);
    if (module === undefined || isTestCode(source.path)) continue;
    const rule = table[module];
    if (rule === undefined) {
      violations.push(
        violation(source, 0, `is in src/${module}/, which has no row in test/architecture/module-table.ts: add one`),
      );
      continue;
    }
    for (const edge of importsOf(source)) {
      const message = rejection(edge, module, rule);
      if (message !== undefined) violations.push(violation(source, edge.node, message));
    }
  }
  return violations;
}

function rejection(edge: Import, module: string, rule: ModuleRule): string | undefined {
  const { target, typeOnly, specifier } = edge;
  if (target === undefined) return undefined;
  if (!target.startsWith("src/")) return `imports "${specifier}" from outside src/: move the needed code into src/`;
  if (isTestCode(target)) return `imports test code "${specifier}": move shared code out of the test`;
  const other = moduleOf(target);
  if (other === module) return undefined;
  if (other === undefined) return `imports the public entry "${specifier}": import the file that declares it`;
  const allowed = [...rule.imports, ...(typeOnly ? (rule.types ?? []) : [])];
  if (allowed.includes(other) || allowed.some((entry) => target === `src/${entry}`)) return undefined;
  const kind = typeOnly ? "the types of" : "";
  return `${module}/ may not import ${kind} ${other}/ ("${specifier}"): declare a function type and let server/ pass the function in`.replace(
    "  ",
    " ",
  );
}

/**
 * Checks that a row of the module table imports only rows above it, or files in them. Inside a room, types may be
 * imported in the other direction.
 */
export function checkTableOrder(table: Readonly<Record<string, ModuleRule>> = MODULE_TABLE): readonly Violation[] {
  const rows = Object.keys(table);
  return Object.entries(table).flatMap(([row, { imports, types = [] }], index) => {
    const roomOf = (name: string): string | undefined => name.split("/")[0];
    const isAbove = (name: string): boolean =>
      rows.slice(0, index).includes(name.endsWith(".ts") ? (moduleOf(`src/${name}`, table) ?? "") : name);
    const wrong = [
      ...imports.filter((name) => !isAbove(name)),
      ...types.filter((name) => !isAbove(name) && !(rows.includes(name) && roomOf(name) === roomOf(row))),
    ];
    return wrong.map((name) => ({
      path: "test/architecture/module-table.ts",
      line: 1,
      message: `lets ${row} import ${name}, which has no row above it: reverse the dependency`,
    }));
  });
}

export function checkInternalFolders(sources: readonly Source[]): readonly Violation[] {
  return sources.flatMap((source) =>
    isTestCode(source.path)
      ? []
      : importsOf(source)
          .filter(({ target }) => target?.includes("/internal/") === true && moduleOf(target) !== moduleOf(source.path))
          .map(({ node, specifier }) =>
            violation(
              source,
              node,
              `imports "${specifier}" from another module's internal/ folder: use that module's other files`,
            ),
          ),
  );
}

export function checkImportCycles(sources: readonly Source[]): readonly Violation[] {
  const edges = new Map(
    sources.map((source) => [
      source.path,
      importsOf(source).filter((edge) => !edge.typeOnly && edge.target !== undefined),
    ]),
  );
  const violations: Violation[] = [];
  const done = new Set<string>();
  const trail: string[] = [];
  const visit = (path: string): void => {
    if (done.has(path)) return;
    trail.push(path);
    for (const { from, node, target } of edges.get(path) ?? []) {
      const start = trail.indexOf(target as string);
      if (start === -1) visit(target as string);
      else {
        const cycle = [...trail.slice(start), target].join(" → ");
        violations.push(
          violation(from, node, `closes the import cycle ${cycle}: replace one import by a parameter or a type`),
        );
      }
    }
    trail.pop();
    done.add(path);
  };
  for (const path of edges.keys()) visit(path);
  return violations;
}

/**
 * Finds files that no entry, test or script reaches through imports. `checkTestOnlyFiles` finds files that only tests
 * and scripts reach.
 */
export function checkDeadFiles(sources: readonly Source[]): readonly Violation[] {
  const alive = reachable(sources, [...ENTRIES, ...testsAndScripts(sources)]);
  return sources
    .filter(({ path }) => isImportedCode(path) && !alive.has(path))
    .map((source) => violation(source, 0, "is not reachable from any entry or test: use or delete it"));
}

/**
 * Finds files of src/ that only tests and scripts import. They belong in test/, so that src/ contains only shipped code
 * and the tests beside it.
 */
export function checkTestOnlyFiles(sources: readonly Source[]): readonly Violation[] {
  const shipped = reachable(sources, ENTRIES);
  const others = reachable(sources, testsAndScripts(sources));
  return sources
    .filter(({ path }) => path.startsWith("src/") && !isTestCode(path) && others.has(path) && !shipped.has(path))
    .map((source) => violation(source, 0, "is imported by tests and scripts only: move it to test/testing/"));
}

/** Whether a file has an effect only if another file imports it: source files, and helpers of tests. */
function isImportedCode(path: string): boolean {
  return /^(src|test\/testing|test\/simulator)\//.test(path) && !path.endsWith(".test.ts");
}

function testsAndScripts(sources: readonly Source[]): readonly string[] {
  return sources.map(({ path }) => path).filter((path) => !isImportedCode(path));
}

function reachable(sources: readonly Source[], roots: readonly string[]): ReadonlySet<string> {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const seen = new Set<string>();
  const waiting = [...roots];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const source = byPath.get(path);
    if (source === undefined || seen.has(path)) continue;
    seen.add(path);
    for (const { target } of importsOf(source)) if (target !== undefined) waiting.push(target);
  }
  return seen;
}

/** Finds default exports. Configuration files are exempt, because their tools read the default export. */
export function checkDefaultExports(sources: readonly Source[]): readonly Violation[] {
  const violations: Violation[] = [];
  for (const source of sources) {
    if (source.path.endsWith(".config.ts")) continue;
    walk(source.ast, (node) => {
      const renamed = isExportSpecifier(node) && node.name.getText(source.ast) === "default";
      const isDefault = node.kind === SyntaxKind.DefaultKeyword && node.parent.kind !== SyntaxKind.DefaultClause;
      if (isExportAssignment(node) || renamed || isDefault) {
        violations.push(violation(source, node, "has a default export: export it by name"));
      }
    });
  }
  return violations;
}

export function checkBarrels(sources: readonly Source[]): readonly Violation[] {
  return sources
    .filter(({ path, ast }) => {
      const reexports = ast.statements.filter((node) => isExportDeclaration(node));
      const imports = ast.statements.filter((node) => isImportDeclaration(node));
      return (
        reexports.length > 0 &&
        reexports.length + imports.length === ast.statements.length &&
        !PUBLIC_ENTRIES.includes(path)
      );
    })
    .map((source) => violation(source, 0, "only re-exports: delete it and import the original files"));
}

/** The longest row of the module table that matches the path; undefined for files outside src/ and directly in src/. */
export function moduleOf(path: string, table: Readonly<Record<string, ModuleRule>> = MODULE_TABLE): string | undefined {
  const [top, ...folders] = path.split("/").slice(0, -1);
  if (top !== "src" || folders.length === 0) return undefined;
  for (let length = folders.length; length > 0; length -= 1) {
    const row = folders.slice(0, length).join("/");
    if (row in table) return row;
  }
  return folders[0];
}

function specifierOf(node: Node): { readonly specifier: string; readonly typeOnly: boolean } | undefined {
  if (isImportDeclaration(node) && isStringLiteral(node.moduleSpecifier)) {
    const typeOnly = node.importClause?.phaseModifier === SyntaxKind.TypeKeyword;
    return { specifier: node.moduleSpecifier.text, typeOnly };
  }
  if (isExportDeclaration(node) && node.moduleSpecifier !== undefined && isStringLiteral(node.moduleSpecifier)) {
    return { specifier: node.moduleSpecifier.text, typeOnly: node.isTypeOnly };
  }
  if (isImportTypeNode(node) && isLiteralTypeNode(node.argument) && isStringLiteral(node.argument.literal)) {
    return { specifier: node.argument.literal.text, typeOnly: true };
  }
  // Dynamic imports: `import("./x.ts")`, and `new URL("./x.ts", import.meta.url)`, which starts a worker.
  const dynamic = isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword;
  const url = isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === "URL";
  if (!dynamic && !url) return undefined;
  const first = node.arguments?.[0];
  if (first === undefined || !isStringLiteral(first) || !/^\..*\.tsx?$/.test(first.text)) return undefined;
  return { specifier: first.text, typeOnly: false };
}

function resolvePath(from: string, specifier: string): string {
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}
