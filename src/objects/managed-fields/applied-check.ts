/**
 * Checks whether an object can be applied: values must have the types of the schema, fields must be declared, and list
 * items must have distinct keys. The messages are those of Kubernetes.
 */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { heldSyntax, heldText, typeText } from "./go-values.ts";
import { FieldSetError, parseElementKey, pathText, type PathElement } from "./path-element.ts";
import { itemKey, itemSchema, listKeys, memberSchema, rootSchema } from "./shape.ts";

interface AppliedCheck {
  /** Undefined if the object can be applied. */
  readonly problem: string | undefined;
  /** Whether one of the problems is a field that the schema does not declare. */
  readonly hasUndeclaredField: boolean;
  /** Whether the object contains null, which is different from an absent field. */
  readonly hasNull: boolean;
}

export function checkApplied(object: JsonObject, schema: StructSchema): AppliedCheck {
  const walk = new Walk();
  walk.map(object, rootSchema(schema));
  return { problem: problemText(walk.problems), hasUndeclaredField: walk.hasUndeclaredField, hasNull: walk.hasNull };
}

function problemText(problems: readonly string[]): string | undefined {
  return problems.length > 1 ? ["errors:", ...problems.map((problem) => `  ${problem}`)].join("\n") : problems[0];
}

/** DIFFERS: only this many problems are reported. */
const PROBLEMS_MAX = 100;

class Walk {
  readonly problems: string[] = [];
  hasUndeclaredField = false;
  hasNull = false;
  /**
   * The path of the value being checked: field names, list positions, and, wrapped in a list, the `k:` or `v:` keys of
   * list items.
   */
  readonly #path: (string | number | readonly [key: string])[] = [];

  value(value: unknown, schema: FieldSchema): void {
    if (value === null) {
      this.hasNull = true;
      return;
    }
    switch (schema.type) {
      case "struct":
      case "map":
        if (isJsonObject(value)) this.map(value, schema);
        else this.#report(`expected map, got ${heldText(value)}`);
        return;
      case "array":
        if (Array.isArray(value)) this.#list(value, schema);
        else this.#report(`expected list, got ${heldText(value)}`);
        return;
      case "any":
        // Raw JSON may be any value, including null.
        return;
      default:
        this.#scalar(value, schema);
    }
  }

  map(object: JsonObject, schema: FieldSchema): void {
    const { struct } = schema;
    const isOpen = struct === undefined || struct.preserveUnknown || struct.fields.size === 0;
    for (const name of Object.keys(object)) {
      this.#path.push(name);
      const isUndeclared = !isOpen && !struct.fields.has(name);
      if (isUndeclared) {
        this.hasUndeclaredField = true;
        this.#report("field not declared in schema");
      } else this.value(object[name], memberSchema(schema, name));
      this.#path.pop();
      // As kubernetes, which does not check the remaining fields of an object with an undeclared field.
      if (isUndeclared || this.#isFull) return;
    }
  }

  #list(list: readonly unknown[], schema: FieldSchema): void {
    const keys = listKeys(schema);
    const items = itemSchema(schema);
    const seen = new Set<string>();
    for (const [index, item] of list.entries()) {
      const key = keys === undefined ? undefined : this.#keyOf(item, { index, schema, keys });
      if (keys !== undefined && key === undefined) return;
      if (key !== undefined && seen.has(key)) this.#report(`duplicate entries for key ${stepText([key])}`);
      if (key !== undefined) seen.add(key);
      this.#path.push(key === undefined ? index : [key]);
      this.value(item, items);
      this.#path.pop();
      if (this.#isFull) return;
    }
  }

  #keyOf(
    item: unknown,
    at: { readonly index: number; readonly schema: FieldSchema; readonly keys: readonly string[] },
  ): string | undefined {
    try {
      return itemKey(item, at.schema, at.keys);
    } catch (error) {
      if (!(error instanceof FieldSetError)) throw error;
      this.#report(`element ${at.index}: ${error.message}`);
      return undefined;
    }
  }

  #scalar(value: unknown, schema: FieldSchema): void {
    const type = scalarType(schema);
    if (type === "untyped") {
      if (typeof value === "object") this.#report(`expected any scalar, got ${heldText(value)}`);
    } else if (typeof value !== type) {
      this.#report(MISMATCH[type](value));
    }
  }

  get #isFull(): boolean {
    return this.problems.length >= PROBLEMS_MAX;
  }

  #report(what: string): void {
    if (this.#isFull) return;
    const path = this.#path.map(stepText).join("");
    this.problems.push(path === "" ? what : `${path}: ${what}`);
  }
}

type ScalarType = "string" | "number" | "boolean" | "untyped";

function scalarType(schema: FieldSchema): ScalarType {
  if (schema.intOrString || schema.quantity) return "untyped";
  switch (schema.type) {
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    default:
      return schema.format === undefined || schema.format === "byte" ? "string" : "untyped";
  }
}

const MISMATCH: Readonly<Record<Exclude<ScalarType, "untyped">, (value: unknown) => string>> = {
  number: (value) => `expected numeric (int or float), got ${typeText(value)}`,
  string: (value) => `expected string, got ${heldSyntax(value)}`,
  boolean: (value) => `expected boolean, got ${heldText(value)}`,
};

function stepText(step: string | number | readonly [key: string]): string {
  if (typeof step === "string") return `.${step}`;
  if (typeof step === "number") return `[${step}]`;
  return pathText([parseElementKey(step[0]) as PathElement]);
}
