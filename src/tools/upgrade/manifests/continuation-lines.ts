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
const QUOTES = new Set(['"', "'"]) as ReadonlySet<string>;

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

/** The index of the line on which the value ends that begins at the column of a line; undefined if it does not end. */
function lastLineOf(lines: readonly string[], begin: number, column: number): number | undefined {
  let depth = 0;
  let quote = "";
  let length = 0;
  for (let at = begin; at < Math.min(lines.length, begin + LINES_MAX); at++) {
    const line = lines[at] ?? "";
    length += line.length;
    if (length > VALUE_LENGTH_MAX) return undefined;
    for (let index = at === begin ? column : 0; index < line.length; index++) {
      const character = line.charAt(index);
      if (quote !== "") {
        if (character === "\\" && quote === '"') index += 1;
        else if (character === quote && quote === "'" && line.charAt(index + 1) === "'") index += 1;
        else if (character === quote) quote = "";
      } else if (isComment(line, index)) break;
      else if (QUOTES.has(character) && isTokenStart(line, index)) quote = character;
      else if (character === "[" || character === "{") depth += 1;
      else if (character === "]" || character === "}") depth -= 1;
      if (quote === "" && depth <= 0) return at;
    }
  }
  return undefined;
}

function isComment(line: string, index: number): boolean {
  return line.charAt(index) === "#" && (index === 0 || /\s/.test(line.charAt(index - 1)));
}

/** A quotation mark within plain text, as in "it's", does not begin quoted text. */
function isTokenStart(line: string, index: number): boolean {
  return index === 0 || /[\s[{,:]/.test(line.charAt(index - 1));
}
