/**
 * Creates errors that show a list of strings: as JSON if the gate ServiceErrorsWithJSONLists is on, otherwise as Go
 * prints it.
 */
import { invalidList, invalidValue } from "../../../../meta/field-errors.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { KindContext } from "../../kind.ts";

export function invalidStrings(
  field: string,
  values: readonly string[],
  why: string,
  { gates }: Pick<KindContext, "gates">,
): FieldError {
  if (!gates.isOn("ServiceErrorsWithJSONLists")) return invalidList(field, values, why);
  return invalidValue(field, values.length === 0 ? null : values, why);
}
