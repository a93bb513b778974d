/** Removes the fields of an object that its schema does not specify. */
import { isJsonObject } from "../../../meta/json.ts";
import { ReportedPaths } from "../../../objects/json/json-text.ts";
import type { StructuralSchema } from "./schema.ts";

/** Fields that every resource has, whether its schema specifies them or not. */
const META_FIELDS: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Removes unknown fields in place. Returns their paths in alphabetical order, for fieldValidation, for example
 * `spec.ports[0].name`.
 */
export function pruneUnknown(
  object: unknown,
  schema: StructuralSchema,
  { isResourceRoot }: { readonly isResourceRoot: boolean },
): string[] {
  const removed = new Removed();
  const isResource = isResourceRoot || schema.embeddedResource;
  if (schema.preserveUnknown) pruneNamed(object, schema, removed, isResource);
  else prune(object, schema, removed, isResource);
  return removed.paths.list().toSorted();
}

class Removed {
  readonly paths = new ReportedPaths();
  readonly path: (string | number)[] = [];

  add(name: string): void {
    if (this.paths.isFull) return;
    let text = "";
    for (const step of [...this.path, name]) text += typeof step === "number" ? `[${step}]` : `.${step}`;
    this.paths.add(text.startsWith(".") ? text.slice(1) : text);
  }
}

/** The schema of a value; undefined if nothing is specified for the value. */
type Names = StructuralSchema | undefined;

function below(value: unknown, names: Names, removed: Removed): void {
  if (typeof value !== "object" || value === null) return;
  if (names?.preserveUnknown === true) pruneNamed(value, names, removed, names.embeddedResource);
  else prune(value, names, removed, names?.embeddedResource === true);
}

function prune(value: unknown, names: Names, removed: Removed, isResource: boolean): void {
  if (Array.isArray(value)) pruneItems(value, names?.items, removed, below);
  if (!isJsonObject(value)) return;
  for (const name of Object.keys(value)) {
    if (isResource && META_FIELDS.has(name)) continue;
    const member = namedBy(names, name);
    if (member === "unknown") {
      if (!META_FIELDS.has(name) || removed.path.length > 0) removed.add(name);
      delete value[name];
    } else pruneMember(value[name], member, removed, name);
  }
}

/** Keeps the unknown fields of this object, but prunes the values of its specified fields. */
function pruneNamed(value: unknown, names: StructuralSchema, removed: Removed, isResource: boolean): void {
  if (Array.isArray(value)) {
    const { items } = names;
    if (items !== undefined) pruneItems(value, items, removed, keepBelow);
  } else if (isJsonObject(value)) {
    if (names.properties.size === 0 && names.additionalProperties === undefined) return;
    for (const name of Object.keys(value)) {
      if (isResource && META_FIELDS.has(name)) continue;
      const member = namedBy(names, name);
      if (member !== "unknown") pruneMember(value[name], member, removed, name);
    }
  }
}

/** As kubernetes: the items of a list that preserves unknown fields keep their own unknown fields too. */
function keepBelow(item: unknown, names: Names, removed: Removed): void {
  if (names !== undefined) pruneNamed(item, names, removed, names.embeddedResource);
}

function pruneMember(value: unknown, names: Names, removed: Removed, name: string): void {
  if (typeof value !== "object" || value === null) return;
  removed.path.push(name);
  below(value, names, removed);
  removed.path.pop();
}

function pruneItems(items: readonly unknown[], names: Names, removed: Removed, pruneItem: typeof below): void {
  for (let index = 0; index < items.length; index++) {
    const item = items[index];
    if (typeof item !== "object" || item === null) continue;
    removed.path.push(index);
    pruneItem(item, names, removed);
    removed.path.pop();
  }
}

function namedBy(schema: Names, name: string): Names | "unknown" {
  if (schema === undefined) return "unknown";
  const property = schema.properties.get(name);
  if (property !== undefined) return property;
  const { additionalProperties } = schema;
  if (additionalProperties === undefined) return "unknown";
  return typeof additionalProperties === "boolean" ? undefined : additionalProperties;
}
