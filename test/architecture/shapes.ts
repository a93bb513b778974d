/**
 * Limits the size and complexity of code: the imports of a file, the nesting and branches of a function, the
 * parameters, the methods of an interface. The limits on lines are generous, because a tight limit only makes lines
 * denser (docs/adr/025-limits-on-shape.md).
 */
import {
  isArrowFunction,
  isBinaryExpression,
  isCallExpression,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isFunctionTypeNode,
  isGetAccessorDeclaration,
  isIdentifier,
  isIfStatement,
  isImportDeclaration,
  isInterfaceDeclaration,
  isMethodDeclaration,
  isMethodSignatureDeclaration,
  isPropertyAccessExpression,
  isPropertySignatureDeclaration,
  isSetAccessorDeclaration,
  isStringLiteral,
  SyntaxKind,
  type Node,
} from "typescript/unstable/ast";
import { checkRatchet, type KnownOffenders, type Offence } from "./ratchet.ts";
import { isTestCode, lineAt, violation, walk, type Source, type TextFile, type Violation } from "./sources.ts";

/** The limits. CONTRIBUTING.md must list the same numbers. */
export const LIMITS = {
  imports: 25,
  complexity: 15,
  nesting: 3,
  parameters: 4,
  methods: 12,
  sourceLines: 800,
  testFileLines: 1200,
  testLines: 80,
} as const;

type Rule = keyof typeof LIMITS;

interface RuleTexts {
  /** The first word of the rule's keys in known-offenders.json. */
  readonly key: string;
  /** The noun for the counted things, as in CONTRIBUTING.md. */
  readonly counted: string;
  readonly advice: string;
}

const RULES: Readonly<Record<Rule, RuleTexts>> = {
  imports: { key: "imports", counted: "imports", advice: "split the file by dependency" },
  complexity: { key: "complexity", counted: "branches", advice: "move a part of the decision into its own function" },
  nesting: {
    key: "nesting",
    counted: "nested blocks",
    advice: "return early, or move the inner part into its own function",
  },
  parameters: { key: "parameters", counted: "parameters", advice: "use an options object" },
  methods: { key: "interface-methods", counted: "methods", advice: "split the interface by user" },
  sourceLines: { key: "file-lines", counted: "lines", advice: "split the file by topic" },
  testFileLines: { key: "test-file-lines", counted: "lines in a test file", advice: "split the file by topic" },
  testLines: { key: "test-lines", counted: "lines in a test", advice: "split the test by rule" },
};

export function checkShapes(sources: readonly Source[], known: KnownOffenders): readonly Violation[] {
  return checkRatchet(shapeOffences(sources), known);
}

export function shapeOffences(sources: readonly Source[]): readonly Offence[] {
  return sources.flatMap((source) =>
    measurements(source)
      .filter(({ rule, size }) => size > LIMITS[rule])
      .map((measured) => offence(source, measured)),
  );
}

function offence(source: Source, { rule, size, name, node }: Measurement): Offence {
  const { key, counted, advice } = RULES[rule];
  const subject = name === undefined ? "" : `${name} `;
  return {
    key: [key, source.path, ...(name === undefined ? [] : [name])].join(" "),
    size,
    violation: violation(
      source,
      node ?? 0,
      `${subject}has ${size} ${counted}, but at most ${LIMITS[rule]} are allowed: ${advice}`,
    ),
  };
}

interface Measurement {
  readonly rule: Rule;
  readonly size: number;
  /** The name of the function, interface or test; undefined if the file itself is measured. */
  readonly name?: string;
  readonly node?: Node;
}

function measurements(source: Source): readonly Measurement[] {
  const found: Measurement[] = [];
  const isTest = isTestCode(source.path);
  const lines = source.text.split("\n").length - 1;
  found.push({ rule: isTest ? "testFileLines" : "sourceLines", size: lines });
  if (!isTest)
    found.push({ rule: "imports", size: source.ast.statements.filter((node) => isImportDeclaration(node)).length });
  walk(source.ast, (node) => {
    if (isFunctionLike(node) && !isTest) {
      const name = pathOf(source, node);
      found.push({ rule: "complexity", size: complexityOf(node), name, node });
      found.push({ rule: "nesting", size: nestingOf(node), name, node });
    }
    const parameters = positionalParameters(source, node);
    if (parameters > 0) found.push({ rule: "parameters", size: parameters, name: pathOf(source, node), node });
    if (isInterfaceDeclaration(node))
      found.push({ rule: "methods", size: node.members.filter(isMethod).length, name: node.name.text, node });
    const title = testTitle(source, node);
    if (title !== undefined)
      found.push({
        rule: "testLines",
        size: lineAt(source, node.getEnd()) - lineAt(source, node.getStart(source.ast)) + 1,
        name: title,
        node,
      });
  });
  return found;
}

const BRANCHES: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.IfStatement,
  SyntaxKind.ForStatement,
  SyntaxKind.ForInStatement,
  SyntaxKind.ForOfStatement,
  SyntaxKind.WhileStatement,
  SyntaxKind.DoStatement,
  SyntaxKind.SwitchStatement,
  SyntaxKind.CatchClause,
  SyntaxKind.ConditionalExpression,
]);

const BRANCHING_OPERATORS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.AmpersandAmpersandToken,
  SyntaxKind.BarBarToken,
  SyntaxKind.QuestionQuestionToken,
  SyntaxKind.AmpersandAmpersandEqualsToken,
  SyntaxKind.BarBarEqualsToken,
  SyntaxKind.QuestionQuestionEqualsToken,
]);

/**
 * The cyclomatic complexity of a function without its inner functions. A switch counts once, because a flat list of
 * cases reads like a table.
 */
function complexityOf(node: Node): number {
  let complexity = 1;
  const enter = (child: Node): void => {
    if (isFunctionLike(child)) return;
    if (BRANCHES.has(child.kind)) complexity += 1;
    if (isBinaryExpression(child) && BRANCHING_OPERATORS.has(child.operatorToken.kind)) complexity += 1;
    child.forEachChild(enter);
  };
  node.forEachChild(enter);
  return complexity;
}

const BLOCKS: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.IfStatement,
  SyntaxKind.ForStatement,
  SyntaxKind.ForInStatement,
  SyntaxKind.ForOfStatement,
  SyntaxKind.WhileStatement,
  SyntaxKind.DoStatement,
  SyntaxKind.SwitchStatement,
  SyntaxKind.TryStatement,
]);

/** The depth of nested statements in a function. `else if` does not add a level. */
function nestingOf(node: Node): number {
  let deepest = 0;
  const enter = (child: Node, depth: number): void => {
    if (isFunctionLike(child)) return;
    const isElseIf = isIfStatement(child) && isIfStatement(child.parent) && child.parent.elseStatement === child;
    const here = BLOCKS.has(child.kind) && !isElseIf ? depth + 1 : depth;
    deepest = Math.max(deepest, here);
    child.forEachChild((inner) => enter(inner, here));
  };
  node.forEachChild((child) => enter(child, 0));
  return deepest;
}

function isFunctionLike(node: Node): boolean {
  return (
    isFunctionDeclaration(node) ||
    isMethodDeclaration(node) ||
    isConstructorDeclaration(node) ||
    isGetAccessorDeclaration(node) ||
    isSetAccessorDeclaration(node) ||
    isFunctionExpression(node) ||
    isArrowFunction(node)
  );
}

/**
 * The name of the function. A callback has no name, so its path is the name of the surrounding function and "callback".
 */
function pathOf(source: Source, node: Node): string {
  const own = nameOf(source, node);
  if (own !== undefined) return own;
  let outer: Node | undefined = node.parent;
  while (outer !== undefined && (!isFunctionLike(outer) || nameOf(source, outer) === undefined)) outer = outer.parent;
  return outer === undefined ? "callback" : `${nameOf(source, outer)}.callback`;
}

/** The name of a function. A function expression gets the name of the variable or property that it initializes. */
function nameOf(source: Source, node: Node): string | undefined {
  if (isConstructorDeclaration(node)) return `${ownerName(source, node.parent)}.constructor`;
  const named = isArrowFunction(node) || isFunctionExpression(node) || isFunctionTypeNode(node) ? node.parent : node;
  if (!("name" in named) || named.name === undefined) return undefined;
  const name = (named.name as Node).getText(source.ast);
  const owner = ownerName(source, named.parent);
  return owner === undefined ? name : `${owner}.${name}`;
}

function ownerName(source: Source, node: Node): string | undefined {
  const isOwner = node.kind === SyntaxKind.ClassDeclaration || node.kind === SyntaxKind.InterfaceDeclaration;
  return isOwner && "name" in node ? (node.name as Node | undefined)?.getText(source.ast) : undefined;
}

function positionalParameters(source: Source, node: Node): number {
  if (!isFunctionLike(node) && !isMethodSignatureDeclaration(node) && !isFunctionTypeNode(node)) return 0;
  const parameters = (node as unknown as { readonly parameters: readonly { readonly name: Node }[] }).parameters;
  return parameters.filter(({ name }) => name.getText(source.ast) !== "this").length;
}

function isMethod(node: Node): boolean {
  return (
    isMethodSignatureDeclaration(node) ||
    (isPropertySignatureDeclaration(node) && node.type !== undefined && isFunctionTypeNode(node.type))
  );
}

/** The title of a test: of `test("…", body)`, `test.only(…)` or `test.each(table)("…", body)`. */
function testTitle(source: Source, node: Node): string | undefined {
  if (!isCallExpression(node)) return undefined;
  let callee: Node = node.expression;
  while (isPropertyAccessExpression(callee) || isCallExpression(callee)) callee = callee.expression;
  if (!isIdentifier(callee) || (callee.text !== "test" && callee.text !== "it")) return undefined;
  const [title, ...rest] = node.arguments;
  const hasBody = rest.some((argument) => isArrowFunction(argument) || isFunctionExpression(argument));
  if (title === undefined || !hasBody) return undefined;
  return isStringLiteral(title) ? JSON.stringify(title.text) : title.getText(source.ast);
}

/** The list item of CONTRIBUTING.md that lists the limits. */
const LISTED_LIMITS = /^- At most [^]*?(?=\n(?:- |\n|#))/m;

/** Checks that CONTRIBUTING.md lists every limit with its number, and no other number. */
export function checkListedLimits(files: readonly TextFile[]): readonly Violation[] {
  const document = files.find(({ path }) => path === "CONTRIBUTING.md");
  if (document === undefined) return [];
  const { path, text } = document;
  const match = LISTED_LIMITS.exec(text);
  const line = text.slice(0, match?.index ?? 0).split("\n").length;
  const listed = (match?.[0] ?? "").replaceAll(/\s+/g, " ");
  const expected = (Object.keys(LIMITS) as Rule[]).map((rule) => `${LIMITS[rule]} ${RULES[rule].counted}`);
  const missing = expected.filter((limit) => !listed.includes(limit));
  const unknown = [...listed.matchAll(/\d+ \S+/g)]
    .map(([number]) => number.replace(/\W$/, ""))
    .filter((number) => !expected.some((limit) => limit.startsWith(number)));
  const wrong = [...missing, ...unknown];
  return wrong.map((one) => ({
    path,
    line,
    message: `"${one}" is missing here or in test/architecture/shapes.ts: list the same limits in both`,
  }));
}
