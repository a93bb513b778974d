/** Checks documents against the code, and checks the text of every file for private paths. */
import { MODULE_TABLE, type ModuleRule } from "./module-table.ts";
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
      const message = `has ${headings.length} headings of the first level: keep exactly one`;
      return [{ path, line: headings[1] ?? 1, message }];
    });
}

/**
 * The line numbers of headings of the first level, from 1. A `#` inside a fenced block is a shell comment, not a
 * heading.
 */
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
      : [{ path, line: budget + 1, message: `has ${lines} lines, but at most ${budget} are allowed: shorten it` }];
  });
}

/**
 * Paths in documents. A file is recognized by its extension, a folder only in backquotes, because much other text ends
 * with a slash.
 */
const NAMED_FILE = /(?<![\w/.@…*:-])[\w.-][\w./-]*\.(?:ts|mjs)(?![\w*])/g;
const NAMED_FOLDER = /(?<=`)[\w.-][\w./-]*\/(?=`)/g;

/** Paths that documents name but that are not in the project: folders of a running server, and keys of the store. */
const NOT_IN_THE_PROJECT: readonly string[] = [".evenkeel/", "pki/", "ranges/evenkeel/"];

/**
 * Checks that a path in a document exists relative to the document's folder, the project's root or src/. A file or a
 * folder may also be named without its parent folder.
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
          .map((name) => ({ path, line: index + 1, message: `names ${name}, which does not exist: correct the path` })),
      ),
    );
}

/**
 * Checks that the tables of filters and routes in docs/request-flow.md have the names of the code, in the same order.
 * Each row contains `name`, `file`, and a description.
 */
export function checkRequestFlow(files: readonly TextFile[]): readonly Violation[] {
  const textOf = (path: string): string => files.find((file) => file.path === path)?.text ?? "";
  const filters = textOf("src/server/handler-chain.ts").matchAll(/\.through\(filters\.(\w+)\)/g);
  const members = /interface Routes \{([^}]*)\}/.exec(textOf("src/server/router.ts"))?.[1] ?? "";
  const routes = members.matchAll(/readonly (\w+):/g);
  const path = "docs/request-flow.md";
  const document = textOf(path);
  return [
    ...compareRows({ path, document, heading: "## Filters", source: "src/server/handler-chain.ts", matches: filters }),
    ...compareRows({ path, document, heading: "## Routes", source: "src/server/router.ts", matches: routes }),
  ];
}

interface Rows {
  readonly path: string;
  readonly document: string;
  readonly heading: string;
  readonly source: string;
  /** Matches whose first group is a name. Repeated names count once. */
  readonly matches: Iterable<RegExpMatchArray>;
}

function compareRows({ path, document, heading, source, matches }: Rows): readonly Violation[] {
  const expected = [...new Set([...matches].map(([, name = ""]) => name))];
  const [before = "", section = ""] = document.split(`${heading}\n`);
  const [table = ""] = section.split(/^## /m);
  const rows = [...table.matchAll(/^\| `(\w+)` *\| `[^`]+\.ts` *\| *[^| ]/gm)].map(([, name = ""]) => name);
  if (expected.length > 0 && rows.join() === expected.join()) return [];
  const message = `lists under "${heading}" ${rows.join(", ")}: ${source} has ${expected.join(", ")}, so list these in this order`;
  return [{ path, line: before.split("\n").length, message }];
}

const STOPS_MAX = 12;
const STOP = /^\d+\. `([^`]+)` — \S/;

/**
 * Checks the walks of docs/request-flow.md, which follow a request through the code: under "## Walks", a heading of the
 * third level and a numbered list of stops. A stop is `path` — description, and the path of a file starts below src/. A
 * walk with more than twelve stops is hard to read and shows that the code makes a detour.
 */
export function checkWalks(files: readonly TextFile[]): readonly Violation[] {
  const path = "docs/request-flow.md";
  const lines = (files.find((file) => file.path === path)?.text ?? "").split("\n");
  const known = new Set(files.map((file) => file.path));
  const begin = lines.indexOf("## Walks");
  if (begin === -1) return [{ path, line: 1, message: 'has no section "## Walks": add it' }];
  const found = (index: number, message: string): Violation => ({ path, line: index + 1, message });
  const violations: Violation[] = [];
  let walk: { readonly index: number; stops: number } | undefined;
  const close = (): void => {
    if (walk === undefined || (walk.stops > 1 && walk.stops <= STOPS_MAX)) return;
    violations.push(found(walk.index, `has ${walk.stops} stops: use two to ${STOPS_MAX}`));
  };
  for (const [index, line] of lines.entries()) {
    if (index <= begin) continue;
    if (line.startsWith("## ")) break;
    if (line.startsWith("### ")) {
      close();
      walk = { index, stops: 0 };
    }
    if (walk === undefined || !/^\d+\. /.test(line)) continue;
    walk.stops += 1;
    const [, stop = ""] = STOP.exec(line) ?? [];
    if (!known.has(`src/${stop}`))
      violations.push(found(index, "is not a valid stop: write `path from src/` — description"));
  }
  if (walk === undefined)
    violations.push(found(begin, "has no walk: add a heading of the third level and a numbered list"));
  close();
  return violations;
}

const ROOMS_MAX = 12;
const ARCHITECTURE = "docs/ARCHITECTURE.md";
const TABLE_FILE = "test/architecture/module-table.ts";

/**
 * Checks that the folders of src/ match the rows of the module table, and the diagram and the code map of
 * docs/ARCHITECTURE.md. A folder directly in src/ has a row, or each folder inside it has a row.
 */
export function checkRooms(
  files: readonly TextFile[],
  table: Readonly<Record<string, ModuleRule>> = MODULE_TABLE,
): readonly Violation[] {
  const folders = foldersOf(files);
  const rooms = folders.filter((folder) => !folder.includes("/"));
  const rows = Object.keys(table);
  const violations: Violation[] = [];
  if (rooms.length > ROOMS_MAX)
    violations.push({
      path: "src/",
      line: 1,
      message: `has ${rooms.length} folders, but at most ${ROOMS_MAX} are allowed: merge some`,
    });
  for (const row of rows.filter((name) => !folders.includes(name)))
    violations.push({
      path: TABLE_FILE,
      line: 1,
      message: `has the row ${row}, but src/ has no such folder: remove the row`,
    });
  for (const room of rooms.filter((name) => !rows.includes(name))) {
    const parts = folders.filter((folder) => folder.startsWith(`${room}/`) && folder.split("/").length === 2);
    for (const folder of parts.length === 0 ? [room] : parts.filter((part) => !rows.includes(part)))
      violations.push({ path: `src/${folder}/`, line: 1, message: `has no row in ${TABLE_FILE}: add one` });
  }
  return [...violations, ...checkMap(files, rows), ...checkPicture(files, rooms)];
}

/** The paths of all folders below src/, relative to src/. */
function foldersOf(files: readonly TextFile[]): readonly string[] {
  const folders = files.flatMap(({ path }) => {
    const [top, ...inside] = path.split("/").slice(0, -1);
    return top === "src" ? inside.map((_, index) => inside.slice(0, index + 1).join("/")) : [];
  });
  return [...new Set(folders)].toSorted();
}

function checkMap(files: readonly TextFile[], rows: readonly string[]): readonly Violation[] {
  const { line, section } = sectionOf(files, "## Code map");
  const mapped = [...section.matchAll(/^\| `([^`]+)\/` *\| *[^| ]/gm)].map(([, row = ""]) => row);
  if (rows.length > 0 && mapped.join() === rows.join()) return [];
  const missing = rows.filter((row) => !mapped.includes(row));
  const foreign = mapped.filter((row) => !rows.includes(row));
  const difference =
    missing.length + foreign.length === 0
      ? "has the rows in another order"
      : `lacks ${missing.join(", ") || "nothing"} and adds ${foreign.join(", ") || "nothing"}`;
  return [{ path: ARCHITECTURE, line, message: `${difference}: copy the rows of ${TABLE_FILE} in their order` }];
}

/** Checks that the nodes of the diagram are the rooms. */
function checkPicture(files: readonly TextFile[], rooms: readonly string[]): readonly Violation[] {
  const { line, section } = sectionOf(files, "## Rooms");
  const [, picture = ""] = /^```mermaid\n([^]*?)^```/m.exec(section) ?? [];
  const nodes = [...picture.matchAll(/^ *(\w+)\[/gm)].map(([, node = ""]) => node).toSorted();
  if (nodes.join() === rooms.join()) return [];
  return [
    {
      path: ARCHITECTURE,
      line,
      message: `shows ${nodes.join(", ")} in the diagram: show ${rooms.join(", ")}, as in src/`,
    },
  ];
}

function sectionOf(files: readonly TextFile[], heading: string): { readonly line: number; readonly section: string } {
  const text = files.find(({ path }) => path === ARCHITECTURE)?.text ?? "";
  const [before = "", after = ""] = text.split(`${heading}\n`);
  const [section = ""] = after.split(/^## /m);
  return { line: before.split("\n").length, section };
}

const PRIVATE_PATH = /(?<![\w.)}\]-])\/(?:work|root)\//;
const NEIGHBOUR = /\.\.\/shared(?!\w)(?:\/(\w+))?/g;
/** The folders beside the project that tests and scripts use if they are present. */
const FACT_FOLDERS: readonly (string | undefined)[] = ["facts", "fidelity", "snapshots"];
const REGISTRY_HOST = /registry\.(?:npmjs\.org|yarnpkg\.com)/;
const RESOLVED_URL = /"resolved":\s*"http/;

/**
 * Rejects paths that exist on one machine only. Tests and scripts may name folders of facts beside the project, if they
 * do not require them.
 */
export function checkPrivateText(files: readonly TextFile[]): readonly Violation[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const found = (message: string): Violation => ({ path, line: index + 1, message });
      const violations: Violation[] = [];
      if (PRIVATE_PATH.test(line))
        violations.push(found("names a path of one machine: make it relative or configurable"));
      for (const [, folder] of line.matchAll(NEIGHBOUR)) {
        const allowed = /^(test|scripts)\//.test(path) && FACT_FOLDERS.includes(folder);
        if (!allowed)
          violations.push(
            found(
              "names a folder outside the project: only test/ and scripts/ may do so, and only for facts that are used if present",
            ),
          );
      }
      if (REGISTRY_HOST.test(line))
        violations.push(found("names a package registry: leave the choice to the installing user"));
      if (path === "package-lock.json" && RESOLVED_URL.test(line)) {
        violations.push(found("pins a download address: install with omit-lockfile-registry-resolved"));
      }
      return violations;
    }),
  );
}
