/** Checks small rules of the style guide that need only the syntax of a file. */
import {
  isBinaryExpression,
  isCallExpression,
  isCatchClause,
  isClassDeclaration,
  isIdentifier,
  isNumericLiteral,
  isPropertyAccessExpression,
  isPropertyDeclaration,
  SyntaxKind,
  type ClassDeclaration,
  type Identifier,
  type Node,
} from "typescript/unstable/ast";
import {
  isTestCode,
  lineAt,
  violation,
  walk,
  type Source,
  type Violation,
  hasModifier,
  isExported,
} from "./sources.ts";

export function checkErrorNames(sources: readonly Source[]): readonly Violation[] {
  return collect(sources, (source, node) => {
    if (!isClassDeclaration(node) || !isExported(node) || !extendsError(source, node)) return undefined;
    const named = node.members.some(
      (member) =>
        isPropertyDeclaration(member) &&
        member.name.getText(source.ast) === "name" &&
        hasModifier(member, SyntaxKind.OverrideKeyword) &&
        hasModifier(member, SyntaxKind.ReadonlyKeyword),
    );
    const name = node.name?.text ?? "";
    return named
      ? undefined
      : `exported error class ${name} has no name of its own: add "override readonly name = "${name}""`;
  });
}

/**
 * Finds catch blocks without a statement or a comment. A comment is sufficient, because it explains why the error is
 * ignored.
 */
export function checkEmptyCatches(sources: readonly Source[]): readonly Violation[] {
  return collect(sources, (source, node) => {
    if (!isCatchClause(node) || node.block.statements.length > 0) return undefined;
    const explained = source.comments.some(
      ({ start }) => start > node.block.getStart(source.ast) && start < node.block.getEnd(),
    );
    return explained
      ? undefined
      : "empty catch block swallows an error: handle it, or explain in the block why it does not matter";
  });
}

/** The only accepted use of `any`: the linter's directive, with a reason, is on the same line. */
const EXCUSED_ANY = /oxlint-disable-line typescript\/no-explicit-any -- \S/;

export function checkAny(sources: readonly Source[]): readonly Violation[] {
  return collect(sources, (source, node) => {
    if (node.kind !== SyntaxKind.AnyKeyword) return undefined;
    const line = lineAt(source, node.getStart(source.ast));
    const excused = source.comments.some(({ start, text }) => EXCUSED_ANY.test(text) && lineAt(source, start) === line);
    return excused ? undefined : "uses the type any: use unknown, and narrow it";
  });
}

const TAG = /(?<!@)\b(?:TODO|FIXME|XXX|HACK|NOTE)\b(?!\w)|@(?:TODO|todo|note|fixme)\b(?!\([^)]+\))|\bDIFFERS\b(?!:)/;

export function checkTags(sources: readonly Source[]): readonly Violation[] {
  return sources.flatMap((source) =>
    source.comments.flatMap(({ start, text }) => {
      const match = TAG.exec(text);
      if (match === null) return [];
      const message = `comment has the tag ${match[0]}: use one of @NOTE, @TODO(issue), DIFFERS: and As kubernetes`;
      return [violation(source, start + match.index, message)];
    }),
  );
}

/** Files that may compare releases. effective-version.ts checks whether a version is within a range. */
const COMPARES_RELEASES: readonly RegExp[] = [/\/effective-version\.ts$/];

const COMPARISONS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.LessThanToken,
  SyntaxKind.LessThanEqualsToken,
  SyntaxKind.GreaterThanToken,
  SyntaxKind.GreaterThanEqualsToken,
  SyntaxKind.EqualsEqualsEqualsToken,
  SyntaxKind.ExclamationEqualsEqualsToken,
]);

/**
 * Finds comparisons of a minor release with a number or a constant, and of any value with a constant whose name
 * contains MINOR.
 */
export function checkReleaseComparisons(sources: readonly Source[]): readonly Violation[] {
  const shipped = sources.filter(
    ({ path }) => path.startsWith("src/") && !isTestCode(path) && !COMPARES_RELEASES.some((file) => file.test(path)),
  );
  return collect(shipped, (_source, node) => {
    if (!isBinaryExpression(node) || !COMPARISONS.has(node.operatorToken.kind)) return undefined;
    const sides = [node.left, node.right];
    const isMinor = sides.some(isMinorNumber) && sides.some(isFixed);
    if (!isMinor && !sides.some((side) => isConstant(side) && /(^|_)MINOR(_|$)/.test(side.text))) return undefined;
    return "compares the number of a release: add a gate to src/objects/release-gates.ts and check whether it is on";
  });
}

/**
 * Whether an expression is a minor release number, such as `minor`, `served.minor`, `serverMinor` or
 * `Number(release.minor)`.
 */
function isMinorNumber(node: Node): boolean {
  if (isCallExpression(node)) return node.arguments.some(isMinorNumber);
  const name = isPropertyAccessExpression(node) ? node.name : node;
  return isIdentifier(name) && /^minor$|Minor$/.test(name.text);
}

function isFixed(node: Node): boolean {
  return isNumericLiteral(node) || isConstant(node);
}

function isConstant(node: Node): node is Identifier {
  return isIdentifier(node) && /^[A-Z][A-Z0-9_]*$/.test(node.text);
}

function collect(
  sources: readonly Source[],
  judge: (source: Source, node: Node) => string | undefined,
): readonly Violation[] {
  const violations: Violation[] = [];
  for (const source of sources) {
    walk(source.ast, (node) => {
      const message = judge(source, node);
      if (message !== undefined) violations.push(violation(source, node, message));
    });
  }
  return violations;
}

function extendsError(source: Source, node: ClassDeclaration): boolean {
  return (
    node.heritageClauses?.some(
      ({ token, types }) =>
        token === SyntaxKind.ExtendsKeyword &&
        types.some(({ expression }) => expression.getText(source.ast).endsWith("Error")),
    ) === true
  );
}
