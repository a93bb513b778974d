/** Validation of status conditions of any kind, with Kubernetes' messages. */
import { objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { duplicateValue, invalidValue, required, tooLong, unsupportedValue } from "../../../meta/field-errors.ts";

const STATUSES: readonly string[] = ["False", "True", "Unknown"];
const REASON_BYTES_MAX = 1024;
const MESSAGE_BYTES_MAX = 32 * 1024;
const REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?";
const REASON_PATTERN = new RegExp(`^${REASON}$`);
const REASON_SENTENCE = `a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '${REASON}')`;
/** Go's zero time, as Go writes it. */
const ZERO_TIME_MS = Date.parse("0001-01-01T00:00:00Z");

/** The field that holds the time of the condition. */
type TimeField = "lastTransitionTime" | "lastUpdateTime";

export function conditionsOf(status: JsonObject): JsonObject[] {
  return objectsAt(status, "conditions");
}

/** Whether the condition of this type is True. If several conditions have the type, the first one counts. */
export function isTrue(conditions: readonly JsonObject[], type: string): boolean {
  return conditions.find((condition) => condition["type"] === type)?.["status"] === "True";
}

export function* conditionErrors(
  conditions: readonly JsonObject[],
  timeField: TimeField,
  list = "status.conditions",
): Generator<FieldError> {
  const types = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const field = `${list}[${index}]`;
    const type = stringAt(condition, "type");
    if (types.has(type)) yield duplicateValue(`${field}.type`, type);
    types.add(type);
    for (const sentence of qualifiedNameErrors(type)) yield invalidValue(`${field}.type`, type, sentence);
    const status = stringAt(condition, "status");
    if (!STATUSES.includes(status)) yield unsupportedValue(`${field}.status`, status, STATUSES);
    const generation = Number(condition["observedGeneration"] ?? 0);
    if (generation < 0)
      yield invalidValue(`${field}.observedGeneration`, generation, "must be greater than or equal to zero");
    // As kubernetes: the error names lastTransitionTime, even if the field has the other name.
    if (timeOf(condition, timeField) === null) yield required(`${field}.lastTransitionTime`);
    yield* reasonErrors(stringAt(condition, "reason"), `${field}.reason`);
    if (Buffer.byteLength(stringAt(condition, "message")) > MESSAGE_BYTES_MAX)
      yield tooLong(`${field}.message`, MESSAGE_BYTES_MAX);
  }
}

function* reasonErrors(reason: string, field: string): Generator<FieldError> {
  if (reason === "") {
    yield required(field);
    return;
  }
  if (!REASON_PATTERN.test(reason)) yield invalidValue(field, reason, REASON_SENTENCE);
  if (Buffer.byteLength(reason) > REASON_BYTES_MAX) yield tooLong(field, REASON_BYTES_MAX);
}

/** The time as kubernetes shows it: in UTC, in whole seconds; null if the condition has no time. */
export function timeOf(condition: JsonObject, timeField: TimeField): string | null {
  const time = stringAt(condition, timeField);
  if (time === "") return null;
  const milliseconds = Date.parse(time);
  if (Number.isNaN(milliseconds)) return time;
  return milliseconds === ZERO_TIME_MS ? null : new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}
