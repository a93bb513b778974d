/** Renders the table rows and cells of objects, for tests of tables. */
import { gatesOf } from "../../../../src/objects/catalog/release-gates.ts";
import { DEFAULT_RELEASE, type ReleaseName } from "../../../../src/objects/catalog/release.ts";
import { tableColumns } from "../../../../src/objects/catalog/table-columns.ts";
import type { JsonObject } from "../../../../src/meta/json.ts";
import { tableRenderer, type Cell, type TableRenderer } from "../../../../src/objects/table/table.ts";

export const NOW = Date.parse("2026-03-10T12:00:00Z");

/** The timestamp `seconds` before now. */
export function secondsAgo(seconds: number): string {
  return `${new Date(NOW - seconds * 1_000).toISOString().slice(0, 19)}Z`;
}

/** The table renderer of a release for the kind `key`, such as "apps/Deployment". */
export function rendererOf(key: string, release: ReleaseName = DEFAULT_RELEASE): TableRenderer {
  const [group = "", kind = ""] = key.split("/");
  return tableRenderer({ group, kind, columns: tableColumns(release, group, kind), gates: gatesOf(release) });
}

/** The row of this object, which is named `x` and is an hour old. */
export function rowOf(key: string, object: JsonObject, release: ReleaseName = DEFAULT_RELEASE): Cell[] {
  const metadata = {
    name: "x",
    creationTimestamp: secondsAgo(3_600),
    ...(object["metadata"] as JsonObject | undefined),
  };
  return rendererOf(key, release).cells({ ...object, metadata }, NOW);
}

export function cellOf(key: string, column: string, object: JsonObject, release: ReleaseName = DEFAULT_RELEASE): Cell {
  const index = rendererOf(key, release).columns.findIndex(({ name }) => name === column);
  if (index < 0) throw new Error(`${key} has no column ${column}`);
  return rowOf(key, object, release)[index]!;
}
