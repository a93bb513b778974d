/**
 * Finds in the schema how strategic merge patch merges a field: the patch strategy and merge key of Go's struct tags.
 */
import { isJsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { internal } from "./strategic-error.ts";

/**
 * The type of a value; undefined if the schema of the release has none: for raw JSON, and for fields that only other
 * releases have.
 */
export type MergeType = StructSchema | OtherType | undefined;

/** A type that is not a struct. */
interface OtherType {
  readonly goKind: string;
}

export interface PatchMeta {
  /** The type of the field, or of its items if it is a list. */
  readonly type: MergeType;
  readonly strategy: "merge" | "replace" | undefined;
  readonly mergeKey: string;
  /** Whether the field is omitted if it is empty. */
  readonly isOptional: boolean;
}

const NOTHING_KNOWN: PatchMeta = { type: undefined, strategy: undefined, mergeKey: "", isOptional: false };

/** Whether the type is a struct without this field. */
export function isUnknownMember(type: MergeType, key: string): boolean {
  return type !== undefined && "fields" in type && !type.preserveUnknown && fieldOf(type, key) === undefined;
}

export function unknownMember(type: MergeType, key: string): Error {
  const name = type !== undefined && "name" in type ? type.name.slice(type.name.lastIndexOf(".") + 1) : "";
  return internal(`unable to find api field in struct ${name} for the json field ${JSON.stringify(key)}`);
}

/**
 * DIFFERS: fields that only other releases have are merged as plain JSON; kube-apiserver has already dropped such
 * fields when it applies the patch.
 */
export function memberMeta(type: MergeType, key: string): PatchMeta {
  const field = memberField(type, key);
  if (field === undefined) return NOTHING_KNOWN;
  return metaOf(field, typeOf(field));
}

/** Whether a field is a struct that always exists in Go, even if it is empty. */
export function isAlwaysPresent(type: MergeType, key: string): boolean {
  if (type === undefined || "goKind" in type) return false;
  const field = type.fields.get(key);
  return field?.type === "struct" && isJsonObject(field.default);
}

export function listMeta(type: MergeType, key: string): PatchMeta {
  const field = memberField(type, key);
  if (field === undefined || field.type === "any") return NOTHING_KNOWN;
  // Here every field that is not a list is an error. kube-apiserver treats a pointer to a struct as a list of that
  // struct, but the schema does not show which fields are pointers.
  if (field.type !== "array") throw internal("expected slice or array type, but got: struct");
  const { items } = field;
  if (items?.type === "array") throw internal("unexpected slice of slice");
  return metaOf(field, items && typeOf(items));
}

function metaOf(field: FieldSchema, type: MergeType): PatchMeta {
  return { type, strategy: strategyOf(field), mergeKey: field.patchMergeKey ?? "", isOptional: !field.required };
}

/** The kind of a type as Go's reflection names it in messages. */
export function kindName(type: MergeType): string {
  if (type === undefined) return "interface";
  return "goKind" in type ? type.goKind : "struct";
}

function memberField(type: MergeType, key: string): FieldSchema | undefined {
  if (type === undefined) return undefined;
  if ("goKind" in type) {
    throw internal(`merging an object in json but data type is not struct, instead is: ${type.goKind}`);
  }
  return fieldOf(type, key);
}

/** Finds a field by its exact name, otherwise by its name in any case. */
function fieldOf({ fields }: StructSchema, key: string): FieldSchema | undefined {
  const exact = fields.get(key);
  if (exact !== undefined) return exact;
  const folded = key.toLowerCase();
  for (const [name, field] of fields) if (name.length === key.length && name.toLowerCase() === folded) return field;
  return undefined;
}

function typeOf(field: FieldSchema): MergeType {
  if (field.type === "struct") return field.struct;
  return field.type === "any" ? undefined : { goKind: goKindOf(field) };
}

function goKindOf({ type, format }: FieldSchema): string {
  switch (type) {
    case "array":
      return "slice";
    case "integer":
      return format === "int32" ? "int32" : "int64";
    case "number":
      return "float64";
    case "boolean":
      return "bool";
    default:
      return type;
  }
}

function strategyOf({ patchStrategy }: FieldSchema): PatchMeta["strategy"] {
  return patchStrategy?.find((strategy) => strategy === "merge" || strategy === "replace");
}
