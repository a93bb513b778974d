/** Formats the issues of an expression as cel-go does. */

export interface Issue {
  /** Offset in UTF-16 units; -1 for the expression as a whole. */
  readonly position: number;
  readonly message: string;
}

const ISSUES_SHOWN_MAX = 100;
const SNIPPET_BYTES_MAX = 16384;

interface Place {
  readonly line: number;
  /** Zero-based; counts code points. */
  readonly column: number;
  readonly snippet: string | undefined;
}

function placeOf(source: string, position: number): Place {
  if (position < 0) return { line: -1, column: -1, snippet: undefined };
  const before = source.slice(0, position);
  const line = before.split("\n").length;
  const start = before.lastIndexOf("\n") + 1;
  const end = source.indexOf("\n", position);
  const snippet = source.slice(start, end < 0 ? source.length : end);
  return { line, column: [...source.slice(start, position)].length, snippet };
}

function isWide(character: string): boolean {
  return character.charCodeAt(0) > 0x7f;
}

function pointer(snippet: string, column: number): string {
  const characters = [...snippet];
  const dots = characters.slice(0, column).map((character) => (isWide(character) ? "\uff0e" : "."));
  const next = characters[column];
  return dots.join("") + (next !== undefined && isWide(next) ? "\uff3e" : "^");
}

function shown(source: string, issue: Issue): string {
  const { line, column, snippet } = placeOf(source, issue.position);
  const head = `ERROR: <input>:${line}:${column + 1}: ${issue.message}`;
  if (snippet === undefined || Buffer.byteLength(snippet) > SNIPPET_BYTES_MAX) return head;
  return `${head}\n | ${snippet.replaceAll("\t", " ")}\n | ${pointer(snippet, column)}`;
}

/** Formats all issues in the order of their positions. */
export function issuesText(source: string, issues: readonly Issue[]): string {
  const inOrder = issues.slice(0, ISSUES_SHOWN_MAX).toSorted((left, right) => left.position - right.position);
  const lines = inOrder.map((issue) => shown(source, issue));
  const cut = issues.length - ISSUES_SHOWN_MAX;
  if (cut > 0) lines.push(`${cut} more errors were truncated`);
  return lines.join("\n");
}
