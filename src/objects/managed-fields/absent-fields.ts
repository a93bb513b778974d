/** Decides which value a comparison of two objects assumes for a field that one of them lacks. */
import { isJsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";

/**
 * How a comparison treats an absent field. `zero`: objects of built-in kinds are structs, in which fields that are
 * always written exist with their zero value even if no client set them, so that no manager owns `spec` or `status` as
 * such. `none`: custom resources have only the fields that were written.
 */
export type AbsentFields = "zero" | "none";

/**
 * Exceptions from the rule that an empty list or map is written as null if it is required, and omitted if it is
 * optional. Exceptions matter only for lists and maps whose items or entries are owned separately.
 */
const WRITTEN_WHEN_EMPTY: ReadonlyMap<string, boolean> = new Map([
  ["ValidatingAdmissionPolicyBindingSpec.validationActions", false],
  ["CustomResourceDefinitionStatus.conditions", true],
]);

/** The value with which the absent field is compared; undefined if it counts as absent. */
export function absentValue({
  struct,
  name,
  present,
  absent,
}: {
  readonly struct: StructSchema | undefined;
  readonly name: string;
  /** The value of the field in the other object. */
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
