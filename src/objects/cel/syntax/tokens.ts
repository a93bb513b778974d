/** Lexer: splits a CEL expression into tokens. */
import type { Issue } from "./issues.ts";

type TokenKind =
  | "end"
  | "identifier"
  | "keyword"
  | "escaped-identifier"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "symbol";

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
  readonly position: number;
}

const KEYWORDS: ReadonlySet<string> = new Set(["in", "true", "false", "null"]);

const SPACE = /[\t \r\n\f]+|\/\/[^\n]*/y;
const IDENTIFIER = /[A-Za-z_][A-Za-z0-9_]*/y;
const ESCAPED_IDENTIFIER = /`[A-Za-z0-9_.\-/ ]+`/y;
const DOUBLE = /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y;
const INTEGER = /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?/y;
const SYMBOL = /==|!=|<=|>=|&&|\|\||[<>[\]{}().,\-!?:+*/%]/y;
const STRING_STARTS = [/([bB]?)([rR]?)("""|''')/y, /([bB]?)([rR]?)("|')/y] as const;
const ESCAPE = /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y;

function matchAt(pattern: RegExp, source: string, position: number): RegExpExecArray | null {
  pattern.lastIndex = position;
  return pattern.exec(source);
}

/** The end of the string literal that begins at `start`; -1 if the literal is not terminated. */
function stringEnd(source: string, start: RegExpExecArray): number {
  const quote = start[3] ?? "";
  const isRaw = start[2] !== "";
  let position = start.index + start[0].length;
  while (position < source.length) {
    if (source.startsWith(quote, position)) return position + quote.length;
    const character = source[position];
    if (quote.length === 1 && (character === "\n" || character === "\r")) return -1;
    if (character === "\\" && !isRaw) {
      const escape = matchAt(ESCAPE, source, position);
      if (escape === null) return -1;
      position += escape[0].length;
    } else position++;
  }
  return -1;
}

/**
 * Tries quotes of three characters first. If such a literal is not terminated, its first two quotes are an empty
 * string.
 */
function stringToken(source: string, position: number): Token | undefined {
  for (const pattern of STRING_STARTS) {
    const start = matchAt(pattern, source, position);
    const end = start === null ? -1 : stringEnd(source, start);
    if (end >= 0) return { kind: start?.[1] === "" ? "string" : "bytes", text: source.slice(position, end), position };
  }
  return undefined;
}

/** An integer or a double, whichever pattern has the longer match. */
function numberToken(source: string, position: number): Token | undefined {
  const double = matchAt(DOUBLE, source, position);
  const integer = matchAt(INTEGER, source, position);
  if (double !== null && double[0].length > (integer?.[0].length ?? 0))
    return { kind: "double", text: double[0], position };
  if (integer === null) return undefined;
  const isUnsigned = /[uU]$/.test(integer[0]);
  return { kind: isUnsigned ? "uint" : "int", text: integer[0], position };
}

function tokenAt(source: string, position: number): Token | undefined {
  const literal = stringToken(source, position) ?? numberToken(source, position);
  if (literal !== undefined) return literal;
  const kinds = [
    ["identifier", IDENTIFIER],
    ["escaped-identifier", ESCAPED_IDENTIFIER],
    ["symbol", SYMBOL],
  ] as const;
  for (const [kind, pattern] of kinds) {
    const match = matchAt(pattern, source, position);
    if (match !== null) return { kind: KEYWORDS.has(match[0]) ? "keyword" : kind, text: match[0], position };
  }
  return undefined;
}

/** The position after the character that makes the string literal invalid. */
function badStringEnd(source: string, start: RegExpExecArray): number {
  let position = start.index + start[0].length;
  for (; position < source.length; position++) {
    const character = source[position];
    if ((character === "\n" || character === "\r") && start[3]?.length === 1) return position + 1;
    if (character !== "\\" || start[2] !== "") continue;
    const escape = matchAt(ESCAPE, source, position);
    if (escape === null) return Math.min(position + 2, source.length);
    position += escape[0].length - 1;
  }
  return source.length;
}

/** The invalid text at this position, which is reported and skipped. */
function badText(source: string, position: number): string {
  const start = matchAt(STRING_STARTS[1], source, position);
  if (start === null) {
    const length = /[=&|]/.test(source[position] ?? "") ? 2 : 1;
    return [...source.slice(position, position + 4)].slice(0, length).join("");
  }
  const end = badStringEnd(source, start);
  return source.slice(position, end);
}

function shownText(text: string): string {
  return text
    .replaceAll("\n", String.raw`\n`)
    .replaceAll("\r", String.raw`\r`)
    .replaceAll("\t", String.raw`\t`);
}

export function tokensOf(source: string, issues: Issue[]): Token[] {
  const tokens: Token[] = [];
  let position = 0;
  while (position < source.length) {
    const space = matchAt(SPACE, source, position);
    if (space !== null) {
      position += space[0].length;
      continue;
    }
    const token = tokenAt(source, position);
    if (token === undefined) {
      const bad = badText(source, position);
      issues.push({ position, message: `Syntax error: token recognition error at: '${shownText(bad)}'` });
      position += bad.length;
      continue;
    }
    tokens.push(token);
    position += token.text.length;
  }
  tokens.push({ kind: "end", text: "<EOF>", position: source.length });
  return tokens;
}
