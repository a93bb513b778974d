/** Validation of references by kind and name: to the object that an autoscaler scales, or that a metric describes. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../meta/json.ts";
import { pathSegmentErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";

export interface ReferenceCheck {
  readonly mayHaveNoGroup: boolean;
  /**
   * Whether to skip the check of the apiVersion: in releases without this check, and if the stored reference is the
   * same or already fails the check.
   */
  readonly mayHaveAnyVersion: boolean;
}

export function* referenceErrors(
  reference: JsonObject,
  field: string,
  { mayHaveNoGroup, mayHaveAnyVersion }: ReferenceCheck,
): Generator<FieldError> {
  for (const member of ["kind", "name"]) {
    const value = stringAt(reference, member);
    if (value === "") yield required(`${field}.${member}`);
    else yield* nameErrors(value, `${field}.${member}`, pathSegmentErrors);
  }
  const apiVersion = stringAt(reference, "apiVersion");
  const why = mayHaveAnyVersion ? undefined : apiVersionError(apiVersion, mayHaveNoGroup);
  if (why !== undefined) yield invalidValue(`${field}.apiVersion`, apiVersion, why);
}

export function apiVersionError(apiVersion: string, mayHaveNoGroup: boolean): string | undefined {
  const parts = apiVersion.split("/");
  if (parts.length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const [group = ""] = parts.length === 2 ? parts : [];
  return group === "" && !mayHaveNoGroup ? "apiVersion must specify API group" : undefined;
}
