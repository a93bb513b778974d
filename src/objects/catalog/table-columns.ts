/** Looks up the columns of the tables that `kubectl get` prints. */
import type { TableColumn } from "../table/table.ts";
import { storedTables } from "./data-files.ts";
import { valueIn, type ReleaseName } from "./release.ts";
import type { StoredColumn } from "./stored-format.ts";

/**
 * The columns of a kind in Table responses. A kind without columns of its own has the default columns; a kind that is
 * never listed (reviews, bindings) has none.
 */
export function tableColumns(release: ReleaseName, group: string, kind: string): readonly TableColumn[] {
  const key = `${group}/${kind}`;
  return storedColumns(release, key).map(toTableColumn);
}

function storedColumns(release: ReleaseName, key: string): readonly StoredColumn[] {
  const tables = storedTables();
  if (tables.none.includes(key)) return [];
  const points = Object.hasOwn(tables.kinds, key) ? tables.kinds[key] : undefined;
  return (points && valueIn(points, release)) ?? tables.defaultColumns;
}

function toTableColumn([name, type, format, priority, path, as]: StoredColumn): TableColumn {
  const cell = path === undefined ? undefined : Object.freeze({ path, as: as ?? ("text" as const) });
  return Object.freeze({ name, type, format, priority, cell });
}
