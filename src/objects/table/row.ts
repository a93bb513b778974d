/** Helpers for row printers: they read fields that may be absent or of another type, and format cells. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { labelValueErrors, qualifiedNameErrors } from "../../meta/names.ts";
import { humanDuration } from "./duration.ts";
import type { ReleaseGates } from "../release-gates.ts";
import { canonicalQuantity } from "../../meta/quantity.ts";

export type Cell = string | number | boolean | null;

/** A condition of a table row. It marks completed objects, whose rows clients can hide. */
export interface RowCondition {
  readonly type: "Completed";
  readonly status: "True";
  readonly reason: string;
  readonly message: string;
}

export interface RowContext {
  /** Milliseconds since 1970. */
  readonly now: number;
  /** The release gates, on which cells that changed between releases depend. */
  readonly gates: ReleaseGates;
}

/** Returns the cells of one object keyed by column name. The columns of the release decide which of them are shown. */
export type RowPrinter = (object: JsonObject, context: RowContext) => Readonly<Record<string, Cell>>;

/** Printers keyed by "group/Kind". */
export type RowPrinters = Readonly<Record<string, RowPrinter>>;

export function valueAt(parent: unknown, ...path: readonly string[]): unknown {
  let value = parent;
  for (const key of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

export function isSetAt(parent: unknown, ...path: readonly string[]): boolean {
  const value = valueAt(parent, ...path);
  return value !== undefined && value !== null;
}

export function textAt(parent: unknown, ...path: readonly string[]): string {
  const value = valueAt(parent, ...path);
  return typeof value === "string" ? value : "";
}

/** The text at the path, or `absent` if the field is not set; an empty text counts as set. */
export function optionalText(absent: string, parent: unknown, ...path: readonly string[]): string {
  return isSetAt(parent, ...path) ? textAt(parent, ...path) : absent;
}

export function integerAt(parent: unknown, ...path: readonly string[]): number {
  const value = valueAt(parent, ...path);
  return typeof value === "number" && Number.isFinite(value) ? Math.trunc(value) : 0;
}

export function flagAt(parent: unknown, ...path: readonly string[]): boolean {
  return valueAt(parent, ...path) === true;
}

/** The items of a list; an item that is not an object becomes an empty object. */
export function itemsAt(parent: unknown, ...path: readonly string[]): readonly JsonObject[] {
  const value = valueAt(parent, ...path);
  return Array.isArray(value) ? value.map((item) => (isJsonObject(item) ? item : {})) : [];
}

export function textsAt(parent: unknown, ...path: readonly string[]): readonly string[] {
  const value = valueAt(parent, ...path);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The number of items of a list or of entries of a map. */
export function sizeAt(parent: unknown, ...path: readonly string[]): number {
  const value = valueAt(parent, ...path);
  if (Array.isArray(value)) return value.length;
  return isJsonObject(value) ? Object.keys(value).length : 0;
}

const RFC3339 = /^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$/;
/** Go's zero time, which means no time. */
const NO_TIME = Date.parse("0001-01-01T00:00:00Z");

/** The time in milliseconds since 1970; undefined if it is absent or Go's zero time. */
export function timeAt(parent: unknown, ...path: readonly string[]): number | undefined {
  const text = textAt(parent, ...path);
  if (!RFC3339.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) || time === NO_TIME ? undefined : time;
}

export function ageOf(time: number | undefined, { now }: Pick<RowContext, "now">): string {
  return time === undefined ? "<unknown>" : humanDuration(now - time);
}

export function conditionOf(object: JsonObject, type: string): JsonObject | undefined {
  return itemsAt(object, "status", "conditions").find((condition) => condition["type"] === type);
}

export function isConditionTrue(object: JsonObject, type: string): boolean {
  const condition = conditionOf(object, type);
  return condition !== undefined && condition["status"] === "True";
}

export function isDeleting(object: JsonObject): boolean {
  return isSetAt(object, "metadata", "deletionTimestamp");
}

export function joinOr(absent: string, texts: readonly string[]): string {
  return texts.join(",") || absent;
}

/** Joins the first texts, and adds how many are omitted. */
export function joinFirst(texts: readonly string[], max: number): string {
  const shown = texts.slice(0, max).join(",");
  if (texts.length > max) return `${shown} + ${texts.length - max} more...`;
  return shown === "" ? "<unset>" : shown;
}

export function labelsText(labels: unknown): string {
  return joinOr(
    "<none>",
    textMembers(labels)
      .map(([key, value]) => `${key}=${value}`)
      .sort(),
  );
}

export function textMembers(map: unknown): [key: string, value: string][] {
  return isJsonObject(map)
    ? Object.entries(map).filter((entry): entry is [string, string] => typeof entry[1] === "string")
    : [];
}

/** A label selector as clients write it; undefined if it is invalid, empty if it selects everything or nothing. */
export function labelSelectorText(selector: unknown): string | undefined {
  const requirements: [key: string, text: string | undefined][] = textMembers(valueAt(selector, "matchLabels")).map(
    ([key, value]) => [key, labelValueErrors(value).length > 0 ? undefined : `${key}=${value}`],
  );
  for (const expression of itemsAt(selector, "matchExpressions")) {
    requirements.push([textAt(expression, "key"), expressionText(expression)]);
  }
  requirements.sort(([left], [right]) => (left < right ? -1 : Number(left > right)));
  const isValid = requirements.every(([key, text]) => text !== undefined && qualifiedNameErrors(key).length === 0);
  return isValid ? requirements.map(([, text]) => text).join(",") : undefined;
}

function expressionText(expression: JsonObject): string | undefined {
  const key = textAt(expression, "key");
  const values = textsAt(expression, "values");
  if (values.some((value) => labelValueErrors(value).length > 0)) return undefined;
  switch (expression["operator"]) {
    case "In":
      return values.length === 0 ? undefined : `${key} in (${[...values].sort().join(",")})`;
    case "NotIn":
      return values.length === 0 ? undefined : `${key} notin (${[...values].sort().join(",")})`;
    case "Exists":
      return values.length > 0 ? undefined : key;
    case "DoesNotExist":
      return values.length > 0 ? undefined : `!${key}`;
    default:
      return undefined;
  }
}

export function labelSelectorCell(selector: unknown): string {
  const text = labelSelectorText(selector);
  return text === undefined ? "<error>" : text || "<none>";
}

/** The amount of a resource in a map of resource names to amounts; zero if it is absent. */
export function amountOf(resources: unknown, name: string): string {
  return quantityText(valueAt(resources, name)) ?? "0";
}

/** The quantity at the path, or "<nil>" if it is absent. */
export function quantityAt(parent: unknown, ...path: readonly string[]): string {
  return quantityText(valueAt(parent, ...path)) ?? "<nil>";
}

function quantityText(value: unknown): string | undefined {
  if (typeof value === "number") return canonicalQuantity(String(value));
  return typeof value === "string" ? canonicalQuantity(value) : undefined;
}

/** The names and images of a pod's containers, as two cells. */
export function containerCells(podSpec: unknown): { readonly Containers: string; readonly Images: string } {
  const containers = itemsAt(podSpec, "containers");
  return {
    Containers: containers.map((container) => textAt(container, "name")).join(","),
    Images: containers.map((container) => textAt(container, "image")).join(","),
  };
}

/** A name with its group, such as `deployment.apps`; the core group is omitted. */
export function qualifiedBy(group: string, name: string): string {
  return group === "" ? name : `${name}.${group}`;
}
