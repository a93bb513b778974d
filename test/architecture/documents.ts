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

/** Files by their ending; folders only where the text marks them as code, since much else ends with a slash. */
const NAMED_FILE = /(?<![\w/.@…*:-])[\w.-][\w./-]*\.(?:ts|mjs)(?![\w*])/g;
const NAMED_FOLDER = /(?<=`)[\w.-][\w./-]*\/(?=`)/g;

/** Folders of a running server, and keys of the store. */
const NOT_IN_THE_PROJECT: readonly string[] = [".evenkeel/", "pki/", "ranges/evenkeel/"];

/**
 * A path that a document names leads somewhere: from the document's folder, the project's root or src/. A file or a folder
 * may also be named without the folder it is in.
 */
export function checkNamedPaths(files: readonly TextFile[]): readonly Violation[] {
  const known = new Set<string>(NOT_IN_THE_PROJECT);
  for (const { path } of files) {
    const parts = path.split("/");
    known.add(path);
    known.add(parts.at(-1) ?? "");
    for (let length = 1; length < parts.length; length += 1) {
      known.add(`${parts.slice(0, length).join("/")}/`);
      known.add(`${parts[length - 1]}/`);
    }
  }
  return files
    .filter(({ path }) => /^(docs\/.*|README|CONTRIBUTING|AGENTS)(\.md)?$/.test(path))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) =>
        [...line.matchAll(NAMED_FILE), ...line.matchAll(NAMED_FOLDER)]
          .map(([name]) => name)
          .filter((name) => !["", "src/", path.replace(/[^/]*$/, "")].some((from) => known.has(from + name)))
          .map((name) => ({ path, line: index + 1, message: `names ${name}, which is not there: name its new place` })),
      ),
    );
}

/**
 * docs/request-flow.md has a table of the filters and one of the routes. Each row is `name`, `file`, and what it does; the names
 * are those of the code, in its order.
 */
export function checkRequestFlow(files: readonly TextFile[]): readonly Violation[] {
  const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? "";
  const filters = textOf("src/server/handler-chain.ts").matchAll(/\.through\(filters\.(\w+)\)/g);
  const routes = textOf("src/server/routes.ts").matchAll(/\broutes\.(\w+)/g);
  const path = "docs/request-flow.md";
  const document = textOf(path);
  return [
    ...compareRows({ path, document, heading: "## Filters", source: "src/server/handler-chain.ts", matches: filters }),
    ...compareRows({ path, document, heading: "## Routes", source: "src/server/routes.ts", matches: routes }),
  ];
}

interface Rows {
  readonly path: string;
  readonly document: string;
  readonly heading: string;
  readonly source: string;
  /** The first group is a name; one that comes again is the same. */
  readonly matches: Iterable<RegExpMatchArray>;
}

function compareRows({ path, document, heading, source, matches }: Rows): readonly Violation[] {
  const expected = [...new Set([...matches].map(([, name = ""]) => name))];
  const [before = "", section = ""] = document.split(`${heading}\n`);
  const [table = ""] = section.split(/^## /m);
  const rows = [...table.matchAll(/^\| `(\w+)` *\| `[^`]+\.ts` *\| *[^| ]/gm)].map(([, name = ""]) => name);
  if (expected.length > 0 && rows.join() === expected.join()) return [];
  const message = `lists under "${heading}" ${rows.join(", ")}: ${source} has ${expected.join(", ")}`;
  return [{ path, line: before.split("\n").length, message }];
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
