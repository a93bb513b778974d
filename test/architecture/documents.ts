/** Checks on documents and on the text of every file. */
import type { TextFile, Violation } from "./sources.ts";

const BUDGETS: readonly (readonly [path: RegExp, lines: number])[] = [
  [/^README\.md$/, 120],
  [/^CONTRIBUTING\.md$/, 100],
  [/^AGENTS\.md$/, 100],
  [/^docs\/ARCHITECTURE\.md$/, 300],
  [/^docs\/adr\/[^/]+\.md$/, 60],
];

export function checkHeadings(files: readonly TextFile[]): readonly Violation[] {
  return files
    .filter(({ path }) => /^(docs\/.*|[^/]+)\.md$/.test(path))
    .flatMap(({ path, text }) => {
      const headings = headingLines(text);
      if (headings.length === 1) return [];
      const message = `has ${headings.length} headings of the first level: a document has one`;
      return [{ path, line: headings[1] ?? 1, message }];
    });
}

/** Lines, counted from one; a `#` inside a fenced block is a shell comment. */
function headingLines(text: string): readonly number[] {
  const lines: number[] = [];
  let fence: string | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (fence === undefined && line.startsWith("# ")) lines.push(index + 1);
    if (fence === undefined) fence = mark;
    else if (line.trim() === fence) fence = undefined;
  }
  return lines;
}

export function checkBudgets(files: readonly TextFile[]): readonly Violation[] {
  return files.flatMap(({ path, text }) => {
    const budget = BUDGETS.find(([pattern]) => pattern.test(path))?.[1];
    const lines = text.split("\n").length - 1;
    return budget === undefined || lines <= budget
      ? []
      : [{ path, line: budget + 1, message: `has ${lines} lines, at most ${budget}: shorten it` }];
  });
}

const PRIVATE_PATH = /(?<![\w.)}\]-])\/(?:work|root)\//;
const NEIGHBOUR = /\.\.\/shared(?!\w)(?:\/(\w+))?/g;
const REGISTRY_HOST = /registry\.(?:npmjs\.org|yarnpkg\.com)/;
const RESOLVED_URL = /"resolved":\s*"http/;

/** What is true on one machine only has no place in the project; facts beside it may be used when present. */
export function checkPrivateText(files: readonly TextFile[]): readonly Violation[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const found = (message: string): Violation => ({ path, line: index + 1, message });
      const violations: Violation[] = [];
      if (PRIVATE_PATH.test(line)) violations.push(found("names a path of one machine: make it relative or a setting"));
      for (const [, folder] of line.matchAll(NEIGHBOUR)) {
        const allowed = /^(test|scripts)\//.test(path) && (folder === "facts" || folder === "fidelity");
        if (!allowed)
          violations.push(
            found(
              "names a folder outside the project: only test/ and scripts/ may, and only for facts used when present",
            ),
          );
      }
      if (REGISTRY_HOST.test(line))
        violations.push(found("names a package registry: leave the choice to whoever installs"));
      if (path === "package-lock.json" && RESOLVED_URL.test(line)) {
        violations.push(found("pins a download address: install with omit-lockfile-registry-resolved"));
      }
      return violations;
    }),
  );
}
