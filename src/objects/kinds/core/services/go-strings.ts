/** Lists of strings in messages: as JSON since release 1.34, before that as Go writes them. */
import { invalidList, invalidValue } from "../../../../meta/field-errors.ts";
import type { FieldError } from "../../../../meta/status-error.ts";

const JSON_SINCE_MINOR = 34;

export function invalidStrings(
  field: string,
  values: readonly string[],
  why: string,
  { minor }: { readonly minor: number },
): FieldError {
  if (minor < JSON_SINCE_MINOR) return invalidList(field, values, why);
  return invalidValue(field, values.length === 0 ? null : values, why);
}
