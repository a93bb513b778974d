/** The verdict on a certificate signing request: written through a door of its own, so that it can be granted apart. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { forbiddenField, invalidValue, required } from "../../meta/field-errors.ts";
import { passMetadata, type SubresourceDoor } from "./door-update.ts";
import { conditionsOf } from "./pod-conditions.ts";

const FIELD = "status.conditions";
/** Verdicts: once given they stay, and they are never anything but true. */
const VERDICTS: readonly string[] = ["Approved", "Denied", "Failed"];

export const APPROVAL_DOOR: SubresourceDoor = {
  subresource: "approval",
  isTimed: true,
  pass(wish, existing) {
    const { conditions: _before, ...status } = objectAt(existing, "status");
    const { conditions } = objectAt(wish, "status");
    const next = conditions === undefined ? status : { ...status, conditions };
    const { status: _status, ...rest } = existing;
    return {
      ...rest,
      metadata: passMetadata(wish, existing),
      ...(Object.keys(next).length === 0 && existing["status"] === undefined ? {} : { status: next }),
    };
  },
  complete(request, existing, now) {
    const { conditions } = objectAt(request, "status");
    if (!Array.isArray(conditions)) return request;
    const timed = conditions.map((condition: unknown) =>
      isJsonObject(condition) ? withTimes(condition, conditionsOf(existing), now) : condition,
    );
    return { ...request, status: { ...objectAt(request, "status"), conditions: timed } };
  },
  errors: (request, existing) => [
    ...conditionErrors(conditionsOf(request)),
    ...removalErrors(conditionsOf(request), conditionsOf(existing)),
  ],
};

/** A verdict that stays keeps the time it came. */
function withTimes(condition: JsonObject, before: readonly JsonObject[], now: string): JsonObject {
  const same = before.find(({ type, status }) => type === condition["type"] && status === condition["status"]);
  return {
    ...condition,
    lastUpdateTime: condition["lastUpdateTime"] ?? now,
    lastTransitionTime: condition["lastTransitionTime"] ?? same?.["lastTransitionTime"] ?? now,
  };
}

function conditionErrors(conditions: readonly JsonObject[]): FieldError[] {
  const types = conditions.map((condition) => stringAt(condition, "type"));
  return conditions.flatMap((condition, index) => {
    const type = types[index]!;
    const errors: FieldError[] = type === "" ? [required(`${FIELD}[${index}].type`)] : [];
    errors.push(...statusErrors(condition, index));
    const opposite = type === "Approved" ? "Denied" : type === "Denied" ? "Approved" : undefined;
    if (opposite !== undefined && types.slice(0, index).includes(opposite))
      errors.push(invalidValue(FIELD, type, "Approved and Denied conditions are mutually exclusive"));
    if (types.indexOf(type) < index)
      errors.push({
        field: `${FIELD}[${index}].type`,
        reason: "FieldValueDuplicate",
        message: `Duplicate value: ${JSON.stringify(type)}`,
      });
    return errors;
  });
}

function statusErrors(condition: JsonObject, index: number): FieldError[] {
  const field = `${FIELD}[${index}].status`;
  const status = stringAt(condition, "status");
  const supported = VERDICTS.includes(stringAt(condition, "type")) ? ["True"] : ["False", "True", "Unknown"];
  if (status === "") return [required(field)];
  if (supported.includes(status)) return [];
  const list = supported.map((value) => JSON.stringify(value)).join(", ");
  return [
    {
      field,
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(status)}: supported values: ${list}`,
    },
  ];
}

function removalErrors(next: readonly JsonObject[], before: readonly JsonObject[]): FieldError[] {
  const count = (conditions: readonly JsonObject[], verdict: string): number =>
    conditions.filter(({ type }) => type === verdict).length;
  return VERDICTS.filter((verdict) => count(next, verdict) < count(before, verdict)).map((verdict) =>
    forbiddenField(FIELD, `updates may not remove a condition of type ${JSON.stringify(verdict)}`),
  );
}
