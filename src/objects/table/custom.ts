/**
 * Rows of custom resources. The requested version in the CRD defines the columns, each with the JSONPath of its value.
 */
import { timeError } from "../go/go-text.ts";
import { goValueText } from "../../meta/go-fmt.ts";
import { parseJsonPath, type JsonPath } from "../json/json-path.ts";
import { columnDescription } from "./descriptions.ts";
import { ageOf, textAt, type Cell } from "./row.ts";
import type { ColumnDefinition, TableRenderer } from "./table.ts";
import { sortedGoJson } from "../../meta/go-json.ts";

/** A column of additionalPrinterColumns. */
export interface CustomColumn {
  readonly name: string;
  /** One of string, integer, number, boolean and date. */
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
  readonly jsonPath: string;
}

const NAME: ColumnDefinition = {
  name: "Name",
  type: "string",
  format: "name",
  description: columnDescription("Name"),
  priority: 0,
};
const AGE: CustomColumn = {
  name: "Age",
  type: "date",
  format: "",
  description: columnDescription("Age"),
  priority: 0,
  jsonPath: ".metadata.creationTimestamp",
};

/** A column whose path does not parse is omitted, together with all columns after it. */
export function customTableRenderer(columns: readonly CustomColumn[]): TableRenderer {
  const shown: { readonly column: CustomColumn; readonly path: JsonPath }[] = [];
  for (const column of columns.length === 0 ? [AGE] : columns) {
    const path = parseJsonPath(column.jsonPath);
    if (path === undefined) break;
    shown.push({ column, path });
  }
  return {
    columns: [NAME, ...shown.map(({ column }) => toDefinition(column))],
    cells: (object, now) => [
      textAt(object, "metadata", "name"),
      ...shown.map(({ column, path }) => toCell(column.type, path.first(object), now)),
    ],
  };
}

/** The columns of the scale of a custom resource, whose rows are Scale objects. */
export const SCALE_COLUMNS: readonly CustomColumn[] = [
  scaleColumn("Desired", "Number of desired replicas", ".spec.replicas"),
  scaleColumn("Available", "Number of actual replicas", ".status.replicas"),
  AGE,
];

function scaleColumn(name: string, description: string, jsonPath: string): CustomColumn {
  return { name, type: "integer", format: "", description, priority: 0, jsonPath };
}

function toDefinition({ name, type, format, description, priority, jsonPath }: CustomColumn): ColumnDefinition {
  const said = description || `Custom resource definition column (in JSONPath format): ${jsonPath}`;
  return { name, type, format, description: said, priority };
}

function toCell(type: string, value: unknown, now: number): Cell {
  if (value === undefined) return null;
  switch (type) {
    case "string":
      return printed(value);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageText(value, now) : null;
    default:
      return null;
  }
}

/** Lists and maps as Go's JSON with sorted keys; other values as Go prints them. */
function printed(value: unknown): string {
  if (value === null) return "<no value>";
  if (typeof value !== "object") return goValueText(value);
  return sortedGoJson(value);
}

const NO_TIME = Date.parse("0001-01-01T00:00:00Z");

function ageText(text: string, now: number): string {
  const context = { now };
  if (text === "" || text === "null") return ageOf(undefined, context);
  if (timeError(text) !== undefined) return "<invalid>";
  // Go also accepts an hour of one digit and a comma before the fraction.
  const time = Date.parse(text.replace(/T([0-9]):/, "T0$1:").replace(",", "."));
  if (Number.isNaN(time)) return "<invalid>";
  return ageOf(time === NO_TIME ? undefined : time, context);
}
