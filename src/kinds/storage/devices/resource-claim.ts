/** Claims on devices, and templates of them. */
import { duplicateValue, forbiddenField, invalidValue, required, tooMany } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { objectsAt } from "../../checks.ts";
import type { Kind, KindContext } from "../../kind.ts";
import { ownStruct } from "../defaults.ts";
import { goValue, isSemanticallyEqual, type GoType } from "../go-value.ts";
import {
  claimSpecErrors,
  DEVICE_CLAIM_SPEC,
  generalClaimSpec,
  setDeviceClaimDefaults,
  type RequestForm,
} from "./device-claim.ts";

const RESERVED_FOR_MAX = 256;
/** The release from which constraints can ask for different values without asking for it. */
const DISTINCT_ATTRIBUTE_FROM_MINOR = 36;

const TEMPLATE_SPEC: GoType = {
  struct: [
    ["labels", "labels", { map: "string" }],
    ["annotations", "annotations", { map: "string" }],
    ["Spec", "spec", DEVICE_CLAIM_SPEC],
  ],
};

export function resourceClaimOf(form: RequestForm): Kind {
  return {
    setDefaults(claim) {
      setDeviceClaimDefaults(ownStruct(claim, "spec"), form);
      ownStruct(claim, "status");
    },
    prepareCreate(claim) {
      claim["status"] = {};
    },
    createErrors: (claim, context) => specErrors(objectAt(claim, "spec"), { field: "spec", form, context }),
    *updateErrors(claim, existing) {
      const [spec, before] = [claim, existing].map((one) => generalClaimSpec(objectAt(one, "spec"), form));
      if (!isSemanticallyEqual(spec, before, DEVICE_CLAIM_SPEC))
        yield invalidValue("spec", goValue(spec, DEVICE_CLAIM_SPEC), "field is immutable");
    },
    statusUpdateErrors: reservationErrors,
    keepsMetadataInStatus: true,
  };
}

export function resourceClaimTemplateOf(form: RequestForm): Kind {
  const errors = (template: JsonObject, context: KindContext): Iterable<FieldError> =>
    specErrors(objectAt(objectAt(template, "spec"), "spec"), { field: "spec.spec", form, context });
  return {
    setDefaults(template) {
      const spec = ownStruct(template, "spec");
      ownStruct(spec, "metadata");
      setDeviceClaimDefaults(ownStruct(spec, "spec"), form);
    },
    createErrors: errors,
    *updateErrors(template, existing, context) {
      yield* errors(template, context);
      const [spec, before] = [template, existing].map((one) => shownTemplate(objectAt(one, "spec"), form));
      if (!isSemanticallyEqual(spec, before, TEMPLATE_SPEC))
        yield invalidValue("spec", withoutAbsent(goValue(spec, TEMPLATE_SPEC)), "field is immutable");
    },
  };
}

function specErrors(
  spec: JsonObject,
  { field, form, context }: { field: string; form: RequestForm; context: KindContext },
): Iterable<FieldError> {
  return claimSpecErrors(generalClaimSpec(spec, form), field, {
    hasDistinctAttribute: context.minor >= DISTINCT_ATTRIBUTE_FROM_MINOR,
  });
}

function shownTemplate(spec: JsonObject, form: RequestForm): JsonObject {
  const { labels, annotations } = objectAt(spec, "metadata");
  return { labels, annotations, spec: generalClaimSpec(objectAt(spec, "spec"), form) };
}

/** Metadata is written without what it does not say. */
function withoutAbsent(shown: unknown): unknown {
  return Object.fromEntries(Object.entries(shown as JsonObject).filter(([, value]) => value !== null));
}

/** DIFFERS: of the status only the reservations are looked at. */
function* reservationErrors(claim: JsonObject): Generator<FieldError> {
  const status = objectAt(claim, "status");
  const field = "status.reservedFor";
  const consumers = objectsAt(status, "reservedFor");
  if (consumers.length > RESERVED_FOR_MAX) yield tooMany(field, consumers.length, RESERVED_FOR_MAX);
  else {
    for (const [index, consumer] of consumers.entries())
      for (const key of ["resource", "name", "uid"])
        if (stringAt(consumer, key) === "") yield required(`${field}[${index}].${key}`);
    const uids = new Set<string>();
    for (const [index, consumer] of consumers.entries()) {
      const uid = stringAt(consumer, "uid");
      if (uids.has(uid)) yield duplicateValue(`${field}[${index}]`, uid);
      uids.add(uid);
    }
  }
  if (consumers.length > 0 && status["allocation"] === undefined)
    yield forbiddenField(field, "may not be specified when `allocated` is not set");
}
