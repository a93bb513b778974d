/**
 * Sizes with a ratchet: what is too large today is listed with its size, a new offender fails, a listed one
 * may only shrink, and one that is fixed leaves the list.
 */
import {
  isArrowFunction,
  isCallExpression,
  isConstructorDeclaration,
  isFunctionDeclaration,
  isFunctionExpression,
  isFunctionTypeNode,
  isGetAccessorDeclaration,
  isIdentifier,
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
import { isExported, isTestCode, lineAt, violation, walk, type Source, type Violation } from "./sources.ts";

export const LIMITS = {
  sourceFileLines: 600,
  sourceFileLinesWithoutReason: 400,
  testFileLines: 1_200,
  functionLines: 70,
  testBodyLines: 80,
  positionalParameters: 4,
  interfaceMethods: 12,
} as const;

/** `rule path name` → size. */
export type KnownOffenders = Readonly<Record<string, number>>;

interface Offence {
  readonly key: string;
  readonly size: number;
  readonly violation: Violation;
}

export function checkSizes(sources: readonly Source[], known: KnownOffenders): readonly Violation[] {
  const offences = sources.flatMap((source) => [...fileOffences(source), ...nodeOffences(source)]);
  const found = new Set(offences.map(({ key }) => key));
  const violations: Violation[] = [];
  for (const { key, size, violation: offence } of offences) {
    const listed = known[key];
    if (listed === undefined || size > listed) violations.push(offence);
    else if (size < listed)
      violations.push({
        ...offence,
        message: `shrank from ${listed} to ${size}: write ${size} for "${key}" in known-offenders.json`,
      });
  }
  for (const key of Object.keys(known)) {
    if (!found.has(key))
      violations.push({
        path: key.split(" ")[1] ?? "",
        line: 1,
        message: `is no longer too large: remove "${key}" from known-offenders.json`,
      });
  }
  return violations;
}

/** What the list of known offenders would have to say today. */
export function currentOffenders(sources: readonly Source[]): KnownOffenders {
  const offences = sources.flatMap((source) => [...fileOffences(source), ...nodeOffences(source)]);
  return Object.fromEntries(offences.map(({ key, size }) => [key, size]));
}

function fileOffences(source: Source): readonly Offence[] {
  const size = source.text.split("\n").length - 1;
  const offence = (rule: string, advice: string): readonly Offence[] => [
    { key: `${rule} ${source.path}`, size, violation: violation(source, 0, `has ${size} lines: ${advice}`) },
  ];
  if (isTestCode(source.path)) {
    return size > LIMITS.testFileLines
      ? offence("test-file-lines", `at most ${LIMITS.testFileLines} in a test file, split it by topic`)
      : [];
  }
  if (size > LIMITS.sourceFileLines) return offence("file-lines", `at most ${LIMITS.sourceFileLines}, split it`);
  const explained = source.comments[0]?.start === 0;
  if (size <= LIMITS.sourceFileLinesWithoutReason || explained) return [];
  return offence("file-lines", `past ${LIMITS.sourceFileLinesWithoutReason} a head comment says why, or split it`);
}

function nodeOffences(source: Source): readonly Offence[] {
  const offences: Offence[] = [];
  const add = (
    rule: string,
    size: number,
    at: { readonly node: Node; readonly name: string; readonly advice: string },
  ): void => {
    offences.push({ key: `${rule} ${source.path} ${at.name}`, size, violation: violation(source, at.node, at.advice) });
  };
  walk(source.ast, (node) => {
    const lines = lineAt(source, node.getEnd()) - lineAt(source, node.getStart(source.ast)) + 1;
    if (isFunctionLike(node)) {
      const name = nameOf(source, node);
      if (name !== undefined && lines > LIMITS.functionLines) {
        add("function-lines", lines, {
          node,
          name,
          advice: `${name} has ${lines} lines, at most ${LIMITS.functionLines}: move pure parts out`,
        });
      }
    }
    const parameters = positionalParameters(source, node);
    if (parameters > LIMITS.positionalParameters) {
      const name = nameOf(source, node) ?? "anonymous";
      add("parameters", parameters, {
        node,
        name,
        advice: `${name} has ${parameters} parameters, at most ${LIMITS.positionalParameters}: take an options object`,
      });
    }
    if (isInterfaceDeclaration(node) && isExported(node)) {
      const methods = node.members.filter(isMethod).length;
      const name = node.name.text;
      if (methods > LIMITS.interfaceMethods)
        add("interface-methods", methods, {
          node,
          name,
          advice: `${name} has ${methods} methods, at most ${LIMITS.interfaceMethods}: split it by user`,
        });
    }
    const title = testTitle(source, node);
    if (title !== undefined && lines > LIMITS.testBodyLines) {
      add("test-lines", lines, {
        node,
        name: title,
        advice: `the test ${title} has ${lines} lines, at most ${LIMITS.testBodyLines}: split it by rule`,
      });
    }
  });
  return offences;
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

/** A function expression is named by the variable or property it initialises; an argument has no name. */
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

/** `test("…", body)`, `test.only(…)`, `test.each(table)("…", body)`. */
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
