/**
 * The behavior of a custom resource in one version: the defaults and validations of its schema, and the validation of
 * replicas for the scale subresource.
 */
import type { Kind } from "../../../objects/kinds/kind.ts";
import { invalidValue } from "../../../meta/field-errors.ts";
import { objectAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { splitFieldPath } from "../../../objects/json/json-path.ts";
import { nestedInteger, nestedText } from "../../../objects/json/nested-field.ts";
import type { CustomSchema } from "../structural-schema/custom-schema.ts";
import type { CrdVersion, ScalePaths } from "../crd.ts";
import { finalizerWarnings } from "./finalizer-warnings.ts";

export function customKind({ scale }: CrdVersion, schema: () => CustomSchema): Kind {
  return {
    keepsMetadataInStatus: true,
    setDefaults: (object) => schema().setDefaults(object),
    createErrors: (object) => schema().errors(object, { others: () => scaleErrors(object, scale) }),
    updateErrors: (object, existing) => schema().errors(object, { existing, others: () => scaleErrors(object, scale) }),
    statusUpdateErrors: (object, existing) =>
      schema().statusErrors(object, { existing, others: () => scaleStatusErrors(object, scale) }),
    warnings(object, existing) {
      const before = new Set(existing === undefined ? [] : stringsAt(objectAt(existing, "metadata"), "finalizers"));
      const added = stringsAt(objectAt(object, "metadata"), "finalizers").filter((name) => !before.has(name));
      return finalizerWarnings(added);
    },
  };
}

function* scaleErrors(object: JsonObject, scale: ScalePaths | undefined): Generator<FieldError> {
  if (scale === undefined) return;
  yield* replicasErrors(object, scale.specReplicasPath);
  yield* scaleStatusErrors(object, scale);
}

function* scaleStatusErrors(object: JsonObject, scale: ScalePaths | undefined): Generator<FieldError> {
  if (scale === undefined) return;
  yield* replicasErrors(object, scale.statusReplicasPath);
  const { labelSelectorPath: path } = scale;
  if (path === "") return;
  const { problem } = nestedText(object, splitFieldPath(path));
  if (problem !== undefined) yield invalidValue(path, "", problem);
}

const INT32_MAX = 2_147_483_647;

function* replicasErrors(object: JsonObject, path: string): Generator<FieldError> {
  const { value = 0, problem } = nestedInteger(object, splitFieldPath(path));
  if (problem !== undefined) yield invalidValue(path, 0, problem);
  else if (value < 0) yield invalidValue(path, value, "should be a non-negative integer");
  else if (value > INT32_MAX) yield invalidValue(path, value, `should be less than or equal to ${INT32_MAX}`);
}
