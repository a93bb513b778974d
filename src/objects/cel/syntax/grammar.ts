/** Parts of the CEL grammar: keywords, operators, and the tokens that may begin an expression. */
import type { Value } from "../values/value.ts";
import type { Call, Expression } from "./expression.ts";
import { bytesLiteral, doubleLiteral, intLiteral, stringLiteral, uintLiteral } from "./literals.ts";
import type { Token } from "./tokens.ts";

export const RESERVED: ReadonlySet<string> = new Set(
  (
    "as break const continue else false for function if import in let loop package namespace null return true var void " +
    "while"
  ).split(" "),
);

export const OPERATOR_FUNCTIONS: ReadonlyMap<string, string> = new Map([
  ...["<", "<=", ">=", ">", "==", "!=", "*", "/", "%", "+", "-"].map((symbol) => [symbol, `_${symbol}_`] as const),
  ["in", "@in"],
]);
export const RELATIONS: ReadonlySet<string> = new Set(["<", "<=", ">=", ">", "==", "!=", "in"]);
export const PRODUCTS: ReadonlySet<string> = new Set(["*", "/", "%"]);
export const SUMS: ReadonlySet<string> = new Set(["+", "-"]);

const STARTS_MIDDLE = "'.', '-', '!', ";
const STARTS_END = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
export const EXPECTING_EXPRESSION = `{'[', '{', '(', ${STARTS_MIDDLE}${STARTS_END}`;
export const EXPECTING_ARGUMENT = `{'[', '{', '(', ')', ${STARTS_MIDDLE}${STARTS_END}`;
export const EXPECTING_INDEX = `{'[', '{', '(', ${STARTS_MIDDLE}'?', ${STARTS_END}`;

export function isOneOf(token: Token, symbols: ReadonlySet<string>): boolean {
  return (token.kind === "symbol" || token.kind === "keyword") && symbols.has(token.text);
}

export function isNumber(token: Token): boolean {
  return token.kind === "int" || token.kind === "double";
}

export function isLiteral(token: Token): boolean {
  return isNumber(token) || ["uint", "string", "bytes"].includes(token.kind) || isWord(token);
}

function isWord(token: Token): boolean {
  return token.kind === "keyword" && token.text !== "in";
}

export function canStart(token: Token): boolean {
  return isLiteral(token) || token.kind === "identifier" || /^[[{(.\-!]$/.test(token.text);
}

/**
 * The message for a token after a dot that is not a field name. As cel-go, reports the literals true, false and null as
 * mismatched input.
 */
export function badSelection(name: Token): string {
  if (isWord(name)) return `mismatched input '${name.text}' expecting IDENTIFIER`;
  return `no viable alternative at input '.${name.kind === "end" ? "" : name.text}'`;
}

export function literalValue(token: Token, isNegative: boolean): Value | { readonly problem: string } {
  switch (token.kind) {
    case "int":
      return intLiteral(token.text, isNegative) ?? { problem: "invalid int literal" };
    case "uint":
      return uintLiteral(token.text) ?? { problem: "invalid uint literal" };
    case "double":
      return doubleLiteral(token.text, isNegative) ?? { problem: "invalid double literal" };
    case "string": {
      const unescaped = stringLiteral(token.text);
      return "text" in unescaped ? unescaped.text : unescaped;
    }
    case "bytes": {
      const unescaped = bytesLiteral(token.text);
      return "bytes" in unescaped ? unescaped.bytes : unescaped;
    }
    default:
      return token.text === "null" ? null : token.text === "true";
  }
}

export function operatorCall(at: Token, name: string, args: readonly Expression[]): Call {
  return { kind: "call", position: at.position, name, target: undefined, args };
}

/** Builds a balanced tree of calls, so that a chain of a thousand terms is not a thousand levels deep. */
export function balanced(name: string, terms: readonly Expression[], operators: readonly Token[]): Expression {
  const between = (low: number, high: number): Expression => {
    const middle = Math.floor((low + high + 1) / 2);
    const left = middle === low ? terms[middle] : between(low, middle - 1);
    const right = middle === high ? terms[middle + 1] : between(middle + 1, high);
    return operatorCall(operators[middle] as Token, name, [left as Expression, right as Expression]);
  };
  return between(0, operators.length - 1);
}
