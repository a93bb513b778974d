/**
 * Renders objects as rows of a table for `kubectl get`. The release defines the columns. The cell of a column is the
 * field at the path of the column, or the value that a row printer returns for the name of the column.
 */
import { timestampAt } from "../../meta/timestamp.ts";
import type { JsonObject } from "../../meta/json.ts";
import { ACCESS_PRINTERS } from "./access.ts";
import { AUTOSCALING_PRINTERS } from "./autoscaling.ts";
import { CLUSTER_PRINTERS } from "./cluster.ts";
import { columnDescription } from "./descriptions.ts";
import { POD_PRINTERS, podRowConditions } from "./pods.ts";
import { POLICY_PRINTERS } from "./policy-admission.ts";
import {
  ageOf,
  flagAt,
  integerAt,
  textAt,
  timeAt,
  type Cell,
  type RowCondition,
  type RowContext,
  type RowPrinter,
  type RowPrinters,
} from "./row.ts";
import { SCHEDULING_PRINTERS } from "./scheduling.ts";
import { NETWORKING_PRINTERS } from "./services-networking.ts";
import { STORAGE_PRINTERS } from "./storage.ts";
import { WORKLOAD_PRINTERS } from "./workloads.ts";
import type { ReleaseGates } from "../release-gates.ts";

export type { Cell } from "./row.ts";

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableRenderer {
  readonly columns: readonly ColumnDefinition[];
  /** `now` is in milliseconds since 1970. Never throws, regardless of the content of the object. */
  cells(object: JsonObject, now: number): Cell[];
  /** Absent for kinds whose rows have no conditions. */
  conditions?(object: JsonObject): readonly RowCondition[];
}

/** A column of a release. */
export interface TableColumn {
  readonly name: string;
  readonly type: string;
  /** The format; "" if the column has none. */
  readonly format: string;
  readonly priority: number;
  /** The path of the field that the cell shows, as text or as an age; undefined if a row printer computes the cell. */
  readonly cell: { readonly path: string; readonly as: "text" | "age" } | undefined;
}

interface TableRendererOptions {
  readonly group: string;
  readonly kind: string;
  readonly columns: readonly TableColumn[];
  /** The gates of the release, on which the cells of a few columns depend. */
  readonly gates: ReleaseGates;
}

const PRINTERS: RowPrinters = {
  ...POD_PRINTERS,
  ...WORKLOAD_PRINTERS,
  ...AUTOSCALING_PRINTERS,
  ...NETWORKING_PRINTERS,
  ...STORAGE_PRINTERS,
  ...POLICY_PRINTERS,
  ...ACCESS_PRINTERS,
  ...CLUSTER_PRINTERS,
  ...SCHEDULING_PRINTERS,
};

/** As kube-apiserver: rows of these kinds have one cell more than there are columns. */
const KINDS_WITH_TRAILING_AGE: ReadonlySet<string> = new Set(["networking.k8s.io/IPAddress"]);

/**
 * The renderer of a built-in kind. Callers pass autoscalers as autoscaling/v2 and events as core v1, regardless of the
 * requested version, and all other kinds in any served version.
 */
export function tableRenderer({ group, kind, columns, gates }: TableRendererOptions): TableRenderer {
  const key = `${group}/${kind}`;
  const printer = Object.hasOwn(PRINTERS, key) ? PRINTERS[key] : undefined;
  const hasTrailingAge = KINDS_WITH_TRAILING_AGE.has(key);
  return {
    columns: columnDefinitions(columns),
    cells(object, now) {
      const context = { now, gates };
      const cells = rowCells(object, { columns, printer, context });
      if (hasTrailingAge) cells.push(creationAge(object, context));
      return cells;
    },
    ...(key === "/Pod" && { conditions: podRowConditions }),
  };
}

export function columnDefinitions(columns: readonly TableColumn[]): ColumnDefinition[] {
  return columns.map(({ name, type, format, priority }) => ({
    name,
    type,
    format,
    description: columnDescription(name),
    priority,
  }));
}

interface RowSource {
  readonly columns: readonly TableColumn[];
  readonly printer: RowPrinter | undefined;
  readonly context: RowContext;
}

function rowCells(object: JsonObject, { columns, printer, context }: RowSource): Cell[] {
  const printed = printer?.(object, context) ?? {};
  return columns.map((column) =>
    Object.hasOwn(printed, column.name) ? printed[column.name]! : commonCell(object, column, context),
  );
}

function commonCell(object: JsonObject, { name, type, cell }: TableColumn, context: RowContext): Cell {
  if (cell !== undefined) {
    const path = cell.path.split(".");
    if (cell.as === "age") return ageOf(timeAt(object, ...path), context);
    return plainCell(object, type, path);
  }
  if (name === "Name") return textAt(object, "metadata", "name");
  return name === "Age" ? creationAge(object, context) : null;
}

function plainCell(object: JsonObject, type: string, path: readonly string[]): Cell {
  if (type === "integer") return integerAt(object, ...path);
  if (type === "boolean") return flagAt(object, ...path);
  return type === "date" ? timestampText(timeAt(object, ...path)) : textAt(object, ...path);
}

function creationAge(object: JsonObject, context: RowContext): string {
  return ageOf(timeAt(object, "metadata", "creationTimestamp"), context);
}

function timestampText(time: number | undefined): string {
  return time === undefined ? "0001-01-01T00:00:00Z" : timestampAt(time);
}
