/** Validation of ControllerRevisions. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { isJsonObject, jsonEquals, numberAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nonNegativeErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";

export const CONTROLLER_REVISION: Kind = {
  setDefaults(revision) {
    revision["revision"] ??= 0;
  },
  *createErrors(revision) {
    yield* numberErrors(revision);
    const { data } = revision;
    if (data === undefined || data === null) yield required("data", "data is mandatory");
    else if (!isJsonObject(data)) yield required("data", "data must be a valid JSON object");
  },
  *updateErrors(revision, existing) {
    yield* numberErrors(revision);
    if (!jsonEquals(revision["data"], existing["data"]))
      yield invalidValue("data", revision["data"], "field is immutable");
  },
};

function* numberErrors(revision: JsonObject): Generator<FieldError> {
  yield* nonNegativeErrors(numberAt(revision, "revision"), "revision");
}
