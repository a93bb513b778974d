import { isJsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";

/**
 * How a field that is not there compares. `zero`: objects of built-in kinds are structs, in which fields
 * that are always written exist with their zero value even before anybody set them, so that nobody comes
 * to own `spec` or `status` as such. `none`: custom resources have only what was written.
 */
export type AbsentFields = "zero" | "none";

/**
 * Required lists and maps are written as null when empty, optional ones not at all, except these. Only
 * the ones owned by their items matter here.
 */
const WRITTEN_WHEN_EMPTY: ReadonlyMap<string, boolean> = new Map([
  ["ValidatingAdmissionPolicyBindingSpec.validationActions", false],
  ["CustomResourceDefinitionStatus.conditions", true],
]);

/** What the side without the field has in its place; undefined for nothing. */
export function absentValue({
  struct,
  name,
  present,
  absent,
}: {
  readonly struct: StructSchema | undefined;
  readonly name: string;
  /** What the other side has there. */
  readonly present: unknown;
  readonly absent: AbsentFields;
}): unknown {
  const field = struct?.fields.get(name);
  if (absent === "none" || struct === undefined || field === undefined) return undefined;
  // Only fields that are always written can be null.
  if (present === null) return null;
  if (field.type === "array" || field.type === "map") return isWrittenWhenEmpty(struct, name, field) ? null : undefined;
  return isZero(field.default) ? field.default : undefined;
}

function isWrittenWhenEmpty(struct: StructSchema, name: string, field: FieldSchema): boolean {
  const type = struct.name.slice(struct.name.lastIndexOf(".") + 1);
  return WRITTEN_WHEN_EMPTY.get(`${type}.${name}`) ?? field.required;
}

function isZero(value: unknown): boolean {
  return value === "" || value === 0 || value === false || (isJsonObject(value) && Object.keys(value).length === 0);
}
