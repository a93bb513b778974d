/** Validation of the claim template of an ephemeral volume. */
import { forbiddenField } from "../../../../meta/field-errors.ts";
import { objectAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { labelsErrors } from "../../checks.ts";
import type { KindContext } from "../../kind.ts";
import { claimSpecErrors } from "../../storage/claim-spec.ts";
import { annotationsErrors } from "./annotation-rules.ts";

const TEMPLATE_METADATA: readonly string[] = ["labels", "annotations"];

export function* claimTemplateErrors(template: JsonObject, field: string, context: KindContext): Generator<FieldError> {
  const metadata = objectAt(template, "metadata");
  yield* annotationsErrors(objectAt(metadata, "annotations"), `${field}.metadata.annotations`);
  yield* labelsErrors(objectAt(metadata, "labels"), `${field}.metadata.labels`);
  for (const [member, value] of Object.entries(metadata))
    if (!TEMPLATE_METADATA.includes(member) && value !== "" && value !== null)
      yield forbiddenField(`${field}.metadata.${member}`, "cannot be set");
  yield* claimSpecErrors(objectAt(template, "spec"), `${field}.spec`, {
    hasAttributesClass: context.gates.isOn("VolumeAttributesClass"),
    allowsInvalidApiGroup: false,
    allowsInvalidSelectorValues: false,
  });
}
