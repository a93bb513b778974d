/** Compares our tables with those recorded from a real kube-apiserver, if the recordings are beside the repository. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { storedResources } from "../../src/objects/catalog/data-files.ts";
import { tableColumns } from "../../src/objects/catalog/table-columns.ts";
import type { JsonObject } from "../../src/meta/json.ts";
import { tableRenderer, type Cell } from "../../src/objects/table/table.ts";
import { gatesOf } from "../../src/objects/catalog/release-gates.ts";

const CASES = join(import.meta.dirname, "../../../shared/fidelity/cases");
const RELEASE = "1.36";

interface RecordedColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly priority: number;
}

interface Step {
  readonly request: { readonly method: string; readonly path: string; readonly body?: JsonObject };
  readonly response: { readonly body?: RecordedTable };
}

interface RecordedTable {
  readonly kind?: string;
  readonly columnDefinitions?: readonly RecordedColumn[];
  readonly rows?: readonly { readonly cells?: readonly Cell[] }[];
}

interface Recorded {
  readonly title: string;
  readonly group: string;
  readonly kind: string;
  readonly table: RecordedTable;
  /** Objects that the same case has created before it requested the table. */
  readonly created: readonly JsonObject[];
}

/** The kind of the built-in resource at a path; undefined for other paths. */
function kindOf(path: string): { group: string; kind: string } | undefined {
  const [, group = "", version = "", resource = ""] =
    /^\/api(?:s\/([^/]+))?\/([^/]+)(?:\/namespaces\/[^/]+)?\/([^/?]+)/.exec(path) ?? [];
  const stored = storedResources().resources.find((each) => each.group === group && each.resource === resource);
  const kind = stored?.versions[version]?.kind;
  return kind === undefined ? undefined : { group, kind };
}

function recordedTables(): Recorded[] {
  const found: Recorded[] = [];
  for (const file of readdirSync(CASES).filter((name) => name.endsWith(".json"))) {
    const { cases } = JSON.parse(readFileSync(join(CASES, file), "utf8")) as {
      cases: { name: string; steps: Step[] }[];
    };
    for (const { name, steps } of cases) {
      const created: JsonObject[] = [];
      for (const { request, response } of steps) {
        if (request.method === "POST" && request.body !== undefined) created.push(request.body);
        const about = kindOf(request.path);
        if (about === undefined || response.body?.kind !== "Table") continue;
        found.push({ title: `${name} ${request.path}`, ...about, table: response.body, created: [...created] });
      }
    }
  }
  return found;
}

describe.skipIf(!existsSync(CASES))("our tables (need recordings beside the repository)", () => {
  const recorded = existsSync(CASES) ? recordedTables() : [];

  test("are compared with recorded tables", () => expect(recorded.length).toBeGreaterThan(30));

  test.each(recorded)("have the columns of the recorded table $title", ({ group, kind, table }) => {
    const { columns } = tableRenderer({
      group,
      kind,
      columns: tableColumns(RELEASE, group, kind),
      gates: gatesOf(RELEASE),
    });
    const seen = (table.columnDefinitions ?? []).map(({ name, type, format, priority }) => ({
      name,
      type,
      format,
      priority,
    }));
    expect(columns.map(({ name, type, format, priority }) => ({ name, type, format, priority }))).toEqual(seen);
  });

  const withCells = recorded.filter(({ table }) => table.rows?.some(({ cells }) => cells !== undefined));
  test.each(withCells)("have the cells of the recorded table $title", ({ group, kind, table, created }) => {
    const renderer = tableRenderer({
      group,
      kind,
      columns: tableColumns(RELEASE, group, kind),
      gates: gatesOf(RELEASE),
    });
    const isTimeless = (_: unknown, index: number): boolean => renderer.columns[index]?.name !== "Age";
    for (const { cells = [] } of table.rows ?? []) {
      const name = cells[renderer.columns.findIndex((column) => column.name === "Name")];
      const object = created.find((each) => each["kind"] === kind && (each["metadata"] as JsonObject)["name"] === name);
      // The body of a pod's creation has no phase; the server sets it.
      const stored = kind === "Pod" ? { status: { phase: "Pending" }, ...object } : { ...object };
      expect(renderer.cells(stored, 0).filter(isTimeless)).toEqual(cells.filter(isTimeless));
    }
  });
});
