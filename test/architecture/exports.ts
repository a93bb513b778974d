/**
 * Checks the exported names of src/. An unused export hides dead code from the compiler, and two different things with
 * one name force a reader to open both files.
 */
import {
  isBindingElement,
  isCallExpression,
  isClassDeclaration,
  isEnumDeclaration,
  isExportDeclaration,
  isExportSpecifier,
  isFunctionDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isInterfaceDeclaration,
  isNamedExports,
  isNamedImports,
  isQualifiedName,
  isTypeAliasDeclaration,
  isVariableStatement,
  type BindingName,
  type Node,
  type Statement,
} from "typescript/unstable/ast";
import { importsOf, type Import } from "./imports.ts";
import { checkRatchet, type KnownOffenders, type Offence } from "./ratchet.ts";
import { isExported, isTestCode, violation, type Source, type Violation } from "./sources.ts";

/** The files in "exports" of package.json. Other projects use the names that they export. */
const PUBLIC_ENTRIES: readonly string[] = [
  "src/index.ts",
  "src/client/index.ts",
  "src/client/node-transport.ts",
  "src/client/client-node/with-evenkeel.ts",
];

export interface Export {
  readonly source: Source;
  readonly name: string;
  /** The statement that declares the name, or the `export { name }` specifier. */
  readonly node: Node;
}

export function checkUnusedExports(sources: readonly Source[]): readonly Violation[] {
  return unusedExports(sources).map(({ source, name, node }) =>
    violation(source, node, `exports ${name}, which no other file imports: remove "export", or delete the declaration`),
  );
}

export function unusedExports(sources: readonly Source[]): readonly Export[] {
  const used = new Set(sources.flatMap((source) => importsOf(source).flatMap(usesOf)));
  return sources
    .filter(({ path }) => path.startsWith("src/") && !PUBLIC_ENTRIES.includes(path))
    .flatMap(exportsOf)
    .filter(({ source, name }) => !used.has(`${source.path} ${name}`) && !used.has(`${source.path} *`));
}

/**
 * Files that may export the same names. Each folder's limits.ts contains the limits of that folder, so several export a
 * REQUEST_TIMEOUT_MS.
 */
const SHARED_NAMES = /\/limits\.ts$/;

export function checkDuplicateNames(sources: readonly Source[], known: KnownOffenders): readonly Violation[] {
  return checkRatchet(duplicateNameOffences(sources), known);
}

/**
 * Returns one offence for each name under which several shipped files export different things. Its size is the number
 * of files. Names that no file imports are ignored, because the check of unused exports reports them.
 */
export function duplicateNameOffences(sources: readonly Source[]): readonly Offence[] {
  const unused = new Set(unusedExports(sources).map(({ node }) => node));
  const declared = sources
    .filter(({ path }) => path.startsWith("src/") && !isTestCode(path) && !SHARED_NAMES.test(path))
    .flatMap(exportsOf)
    .filter(({ node }) => !unused.has(node) && !isReexport(node));
  return [...Map.groupBy(declared, ({ name }) => name)].flatMap(([name, all]) => {
    const places = [...new Map(all.map((one) => [one.source.path, one])).values()];
    const [first, second] = places;
    if (first === undefined || second === undefined) return [];
    const others = places.map(({ source }) => source.path).join(", ");
    const message = `exports ${name}, which names ${places.length} different things (${others}): choose a more specific name`;
    return [
      { key: `export-name ${name}`, size: places.length, violation: violation(second.source, second.node, message) },
    ];
  });
}

function isReexport(node: Node): boolean {
  const declaration = isExportSpecifier(node) ? node.parent.parent : node;
  return isExportDeclaration(declaration) && declaration.moduleSpecifier !== undefined;
}

/** Every name that a file exports, except names of `export *`. */
export function exportsOf(source: Source): readonly Export[] {
  return source.ast.statements.flatMap((statement) =>
    exportedNames(statement).map(({ name, node }) => ({ source, name, node })),
  );
}

interface NamedNode {
  readonly name: string;
  readonly node: Node;
}

function exportedNames(statement: Statement): readonly NamedNode[] {
  if (isExportDeclaration(statement)) {
    const clause = statement.exportClause;
    if (clause === undefined) return [];
    return isNamedExports(clause)
      ? clause.elements.map((element) => ({ name: element.name.text, node: element }))
      : [{ name: clause.name.text, node: statement }];
  }
  return isExported(statement) ? declaredNames(statement).map((name) => ({ name, node: statement })) : [];
}

/** The names that a statement at the top of a file declares. */
export function declaredNames(statement: Statement): readonly string[] {
  if (isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  const isNamed =
    isFunctionDeclaration(statement) ||
    isClassDeclaration(statement) ||
    isInterfaceDeclaration(statement) ||
    isTypeAliasDeclaration(statement) ||
    isEnumDeclaration(statement);
  return isNamed && statement.name !== undefined ? [statement.name.text] : [];
}

function boundNames(name: BindingName | undefined): readonly string[] {
  if (name === undefined) return [];
  if (isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (isBindingElement(element) ? boundNames(element.name) : []));
}

/** `path name` for each name that an import uses, or `path *` if it uses all names. */
function usesOf({ node, target }: Import): readonly string[] {
  if (target === undefined) return [];
  return importedNames(node).map((name) => `${target} ${name}`);
}

function importedNames(node: Node): readonly string[] {
  if (isImportDeclaration(node)) {
    const bindings = node.importClause?.namedBindings;
    if (bindings === undefined) return [];
    return isNamedImports(bindings)
      ? bindings.elements.map((element) => (element.propertyName ?? element.name).text)
      : ["*"];
  }
  if (isExportDeclaration(node)) {
    const clause = node.exportClause;
    return clause !== undefined && isNamedExports(clause)
      ? clause.elements.map((element) => (element.propertyName ?? element.name).text)
      : ["*"];
  }
  if (isImportTypeNode(node)) {
    let name: Node | undefined = node.qualifier;
    while (name !== undefined && isQualifiedName(name)) name = name.left;
    return name !== undefined && isIdentifier(name) ? [name.text] : ["*"];
  }
  // `import()` may use any name of the file. The URL of a worker uses none.
  return isCallExpression(node) ? ["*"] : [];
}
