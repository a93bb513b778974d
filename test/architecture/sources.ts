/**
 * Reads the project's files and parses its TypeScript with the compiler's own parser, so that the checks see syntax and
 * never treat a string or a comment as code. Files come from the disk or from memory, so that tests can plant
 * violations.
 *
 * TypeScript 7 marks the parser's entry points as unstable, so only this file calls the parser. The checks import its
 * types and type guards.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SyntaxKind, type Node, type SourceFile } from "typescript/unstable/ast";
import { createVirtualFileSystem } from "typescript/unstable/fs";
import { API } from "typescript/unstable/sync";

export interface TextFile {
  /** The path relative to the project's root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

export interface Source extends TextFile {
  readonly ast: SourceFile;
  readonly comments: readonly Comment[];
}

export interface Comment {
  readonly start: number;
  readonly text: string;
}

export interface Violation {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

const PROJECT_ROOT = fileURLToPath(new URL("../../", import.meta.url));
const SKIPPED_DIRECTORIES: ReadonlySet<string> = new Set([
  ".git",
  "node_modules",
  "dist",
  "coverage",
  "bench-results",
  ".evenkeel",
]);
const TEXT_NAME =
  /\.(ts|tsx|js|mjs|cjs|json|jsonc|md|txt|ya?ml|sh|html|css|toml)$|^(\.[a-z]+rc|\.gitignore|Dockerfile)$/;

/** Reads every text file of the project, committed or not. */
export function readProject(root: string = PROJECT_ROOT): readonly TextFile[] {
  const files: TextFile[] = [];
  const enter = (directory: string): void => {
    for (const entry of readdirSync(join(root, directory), { withFileTypes: true })) {
      const path = directory === "" ? entry.name : `${directory}/${entry.name}`;
      if (entry.isDirectory() && !SKIPPED_DIRECTORIES.has(entry.name)) enter(path);
      if (entry.isFile() && TEXT_NAME.test(entry.name))
        files.push({ path, text: readFileSync(join(root, path), "utf8") });
    }
  };
  enter("");
  return files.sort((left, right) => (left.path < right.path ? -1 : 1));
}

export function parseSources(files: readonly TextFile[]): readonly Source[] {
  const typescript = files.filter(({ path }) => /\.tsx?$/.test(path));
  const root = "/project";
  const config = {
    compilerOptions: { noLib: true, noResolve: true, types: [], jsx: "preserve", module: "nodenext" },
    files: typescript.map(({ path }) => `${root}/${path}`),
  };
  const virtual = Object.fromEntries(typescript.map(({ path, text }) => [`${root}/${path}`, text]));
  virtual[`${root}/tsconfig.json`] = JSON.stringify(config);
  virtual[`${root}/package.json`] = '{ "type": "module" }';
  const api = new API({ cwd: root, fs: createVirtualFileSystem(virtual) });
  try {
    using snapshot = api.updateSnapshot({ openProjects: [`${root}/tsconfig.json`] });
    const project = snapshot.getProjects()[0];
    return typescript.map(({ path, text }) => {
      const ast = project?.program.getSourceFile(`${root}/${path}`);
      if (ast === undefined) throw new Error(`the parser did not return ${path}`);
      return { path, text, ast, comments: commentsOf(ast) };
    });
  } finally {
    api.close();
  }
}

export function violation(source: Source, at: Node | number, message: string): Violation {
  const position = typeof at === "number" ? at : at.getStart(source.ast);
  return { path: source.path, line: lineAt(source, position), message };
}

export function lineAt(source: Source, position: number): number {
  return source.ast.getLineAndCharacterOfPosition(position).line + 1;
}

/** Formats one line per violation, with path and line number, so that editors make it clickable. */
export function report(violations: readonly Violation[]): readonly string[] {
  return violations.map(({ path, line, message }) => `${path}:${line} ${message}`);
}

export function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

export function isExported(node: Node): boolean {
  return hasModifier(node, SyntaxKind.ExportKeyword);
}

export function hasModifier(node: Node, kind: SyntaxKind): boolean {
  return (
    "modifiers" in node &&
    (node.modifiers as readonly Node[] | undefined)?.some((modifier) => modifier.kind === kind) === true
  );
}

export function isTestCode(path: string): boolean {
  return /\.test\.tsx?$/.test(path) || path.startsWith("test/");
}

const LITERALS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.StringLiteral,
  SyntaxKind.NoSubstitutionTemplateLiteral,
  SyntaxKind.TemplateHead,
  SyntaxKind.TemplateMiddle,
  SyntaxKind.TemplateTail,
  SyntaxKind.RegularExpressionLiteral,
  SyntaxKind.JsxText,
]);

/** Finds comments: text that looks like a comment and is not inside a literal. */
function commentsOf(ast: SourceFile): readonly Comment[] {
  const literalEnds = new Map<number, number>();
  walk(ast, (node) => {
    if (LITERALS.has(node.kind)) literalEnds.set(node.getStart(ast), node.getEnd());
  });
  const comments: Comment[] = [];
  const { text } = ast;
  for (let position = 0; position < text.length; position += 1) {
    const literalEnd = literalEnds.get(position);
    if (literalEnd !== undefined && literalEnd > position) {
      position = literalEnd - 1;
      continue;
    }
    const closing = text.startsWith("//", position) ? "\n" : text.startsWith("/*", position) ? "*/" : undefined;
    if (closing === undefined) continue;
    const found = text.indexOf(closing, position + 2);
    const end = found === -1 ? text.length : found + (closing === "*/" ? 2 : 0);
    comments.push({ start: position, text: text.slice(position, end) });
    position = end - 1;
  }
  return comments;
}
