/** Combines the defaults and validation of ResourceClaims and ResourceClaimTemplates to the rules of these kinds. */
import { forbiddenField, invalidValue } from "../../../../meta/field-errors.ts";
import { objectAt, objectsAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { labelsErrors } from "../../checks.ts";
import type { Kind, KindContext } from "../../kind.ts";
import { annotationsErrors } from "../../pods/rules/annotation-rules.ts";
import { ownStruct } from "../../defaults.ts";
import { claimStatusErrors, dropDeallocated, setClaimStatusDefaults } from "./claim-status.ts";
import {
  deviceClaimSpecErrors,
  generalClaimSpec,
  requestNamesOf,
  setDeviceClaimDefaults,
  type RequestForm,
} from "./device-claim.ts";
import { internalValue, isSameInternal } from "../../internal-version/internal-value.ts";

export function resourceClaimOf(form: RequestForm): Kind {
  return {
    setDefaults(claim) {
      setDeviceClaimDefaults(ownStruct(claim, "spec"), form);
      setClaimStatusDefaults(ownStruct(claim, "status"));
    },
    prepareCreate(claim) {
      claim["status"] = {};
    },
    createErrors: (claim, context) => specErrors(objectAt(claim, "spec"), { field: "spec", form, context }),
    *updateErrors(claim, existing) {
      const [spec, before] = [claim, existing].map((one) => generalClaimSpec(objectAt(one, "spec"), form));
      if (!isSameInternal(spec, before, "ResourceClaimSpec"))
        yield invalidValue("spec", internalValue(spec, "ResourceClaimSpec"), "field is immutable");
    },
    prepareStatusUpdate: dropDeallocated,
    statusUpdateErrors(claim, existing) {
      const { devices } = generalClaimSpec(objectAt(claim, "spec"), form);
      const names = requestNamesOf(objectsAt(objectAt({ devices }, "devices"), "requests"));
      return claimStatusErrors(claim, existing, names);
    },
    keepsMetadataInStatus: true,
  };
}

export function resourceClaimTemplateOf(form: RequestForm): Kind {
  function* errors(template: JsonObject, context: KindContext): Generator<FieldError> {
    const spec = objectAt(template, "spec");
    yield* templateMetadataErrors(objectAt(spec, "metadata"), "spec.metadata");
    yield* specErrors(objectAt(spec, "spec"), { field: "spec.spec", form, context });
  }
  return {
    setDefaults(template) {
      const spec = ownStruct(template, "spec");
      ownStruct(spec, "metadata");
      setDeviceClaimDefaults(ownStruct(spec, "spec"), form);
    },
    createErrors: errors,
    *updateErrors(template, existing, context) {
      yield* errors(template, context);
      const [spec, before] = [template, existing].map((one) => generalTemplateSpec(objectAt(one, "spec"), form));
      if (!isSameInternal(spec, before, "ResourceClaimTemplateSpec"))
        yield invalidValue("spec", internalValue(spec, "ResourceClaimTemplateSpec"), "field is immutable");
    },
  };
}

const TEMPLATE_METADATA: readonly string[] = ["labels", "annotations"];

function* templateMetadataErrors(metadata: JsonObject, field: string): Generator<FieldError> {
  yield* annotationsErrors(objectAt(metadata, "annotations"), `${field}.annotations`);
  yield* labelsErrors(objectAt(metadata, "labels"), `${field}.labels`);
  for (const [member, value] of Object.entries(metadata))
    if (!TEMPLATE_METADATA.includes(member) && value !== "" && value !== null)
      yield forbiddenField(`${field}.${member}`, "cannot be set");
}

function specErrors(
  spec: JsonObject,
  { field, form, context }: { field: string; form: RequestForm; context: KindContext },
): Iterable<FieldError> {
  return deviceClaimSpecErrors(generalClaimSpec(spec, form), field, {
    hasDistinctAttribute: context.gates.isOn("DRAConsumableCapacity"),
  });
}

function generalTemplateSpec(spec: JsonObject, form: RequestForm): JsonObject {
  return { metadata: spec["metadata"], spec: generalClaimSpec(objectAt(spec, "spec"), form) };
}
