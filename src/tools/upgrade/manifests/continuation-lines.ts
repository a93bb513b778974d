/**
 * Indents the continuation lines of quoted text, flow lists and flow maps. kubectl accepts them at the indentation of
 * their key, and old CRDs have many of them, but our parser does not accept them. White space at the begin of such a
 * line has no meaning.
 */

const DEFICIENT = /^yaml: line (\d+): deficient indentation$/;
/** The key or list item before the value of a line. */
const BEFORE_VALUE = /^\s*(?:- +)*(?:(?:"[^"]*"|'[^']*'|[^\s"'#[{][^"'#]*?)\s*:\s+)?(?:[!&]\S+\s+)*(?=["'[{])/;
const COLUMN_MAX = 1000;
/** Longer values are not searched. */
const LINES_MAX = 1000;
/** Lines before the rejected one on which the value may begin. */
const CANDIDATES_MAX = 200;
const VALUE_LENGTH_MAX = 50_000;

/** The number of the line that the parser rejects for its indentation, from 1. */
export function deficientLine(message: string): number | undefined {
  const [, line] = DEFICIENT.exec(message) ?? [];
  return line === undefined ? undefined : Number(line);
}

/** Indents the lines of the value to which the line belongs. Returns false if it finds no such value. */
export function indentValue(lines: string[], lineNumber: number): boolean {
  const at = lineNumber - 1;
  for (let begin = at - 1; begin >= Math.max(0, at - CANDIDATES_MAX); begin--) {
    const line = lines[begin] ?? "";
    const column = line.length > VALUE_LENGTH_MAX ? undefined : BEFORE_VALUE.exec(line)?.[0].length;
    if (column === undefined || column > COLUMN_MAX) continue;
    const last = lastLineOf(lines, begin, column);
    if (last === undefined || last < at) continue;
    indent(lines, { first: begin + 1, last, indentation: " ".repeat(column + 1) });
    return true;
  }
  return false;
}

function indent(
  lines: string[],
  { first, last, indentation }: { readonly first: number; readonly last: number; readonly indentation: string },
): void {
  for (let at = first; at <= last; at++) {
    const line = lines[at] ?? "";
    if (line.trim() !== "") lines[at] = indentation + line;
  }
}

/**
 * Quoted text and comments, which begin only after white space or punctuation (unlike the mark in "it's"), brackets,
 * and single characters.
 */
const TOKEN = /(?<![^\s[{,:])(?:'(?:[^']|'')*'|"(?:[^"\\]|\\[^])*"|#[^\n]*)|[[\]{}]|[^]/g;
const LEVELS: ReadonlyMap<string, number> = new Map([
  ["[", 1],
  ["{", 1],
  ["]", -1],
  ["}", -1],
]);

/** The index of the line on which the value ends that begins at the column of a line; undefined if it does not end. */
function lastLineOf(lines: readonly string[], begin: number, column: number): number | undefined {
  const text = lines
    .slice(begin, begin + LINES_MAX)
    .join("\n")
    .slice(column, column + VALUE_LENGTH_MAX);
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    // Quoted text that does not end is a token of one character.
    if (depth === 0 && (token === "'" || token === '"')) return undefined;
    depth += LEVELS.get(token) ?? 0;
    if (depth <= 0) return begin + countLines(text.slice(0, index + token.length));
  }
  return undefined;
}

function countLines(text: string): number {
  return text.split("\n").length - 1;
}
