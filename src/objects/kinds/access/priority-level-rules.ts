/** Validation of the spec of a PriorityLevelConfiguration. */
import { forbiddenField, invalidValue, required } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { enumErrors } from "../checks.ts";

const QUEUES_MAX = 10_000_000;
/** Bits of a hash value that shuffle sharding may use. */
const HASH_BITS_MAX = 60;

export type SharesField = "nominalConcurrencyShares" | "assuredConcurrencyShares";

export function* priorityLevelSpecErrors(
  spec: JsonObject,
  name: string,
  sharesField: SharesField,
): Generator<FieldError> {
  const type = stringAt(spec, "type");
  if ((name === "exempt") !== (type === "Exempt"))
    yield invalidValue("spec.type", type, "must be 'Exempt' if and only if `name` is 'exempt'");
  const { limited, exempt } = spec;
  switch (type) {
    case "Exempt":
      if (limited !== undefined) yield forbiddenField("spec.limited", "must be nil if the type is not Limited");
      if (exempt !== undefined) yield* exemptErrors(objectAt(spec, "exempt"));
      return;
    case "Limited":
      if (exempt !== undefined) yield forbiddenField("spec.exempt", "must be nil if the type is Limited");
      if (limited === undefined) yield required("spec.limited", "must not be empty when type is Limited");
      else yield* limitedErrors(objectAt(spec, "limited"), sharesField);
      return;
    default:
      yield* enumErrors(type, "spec.type", ["Exempt", "Limited"]);
  }
}

function* exemptErrors(exempt: JsonObject): Generator<FieldError> {
  const shares = numberAt(exempt, "nominalConcurrencyShares") ?? 0;
  if (shares < 0) yield invalidValue("spec.exempt.nominalConcurrencyShares", shares, "must be a non-negative integer");
  yield* lendableErrors(exempt, "spec.exempt.lendablePercent");
}

function* lendableErrors(level: JsonObject, field: string): Generator<FieldError> {
  const percent = numberAt(level, "lendablePercent") ?? 0;
  if (percent < 0 || percent > 100) yield invalidValue(field, percent, "must be between 0 and 100, inclusive");
}

function* limitedErrors(limited: JsonObject, sharesField: SharesField): Generator<FieldError> {
  const shares = numberAt(limited, sharesField) ?? 0;
  if (shares < 0) yield invalidValue(`spec.limited.${sharesField}`, shares, "must be a non-negative integer");
  yield* limitResponseErrors(objectAt(limited, "limitResponse"), "spec.limited.limitResponse");
  yield* lendableErrors(limited, "spec.limited.lendablePercent");
  const borrowed = numberAt(limited, "borrowingLimitPercent") ?? 0;
  if (borrowed < 0)
    yield invalidValue("spec.limited.borrowingLimitPercent", borrowed, "if specified, must be a non-negative integer");
}

function* limitResponseErrors(response: JsonObject, field: string): Generator<FieldError> {
  const { queuing } = response;
  const type = stringAt(response, "type");
  if (type === "Reject") {
    if (queuing !== undefined)
      yield forbiddenField(`${field}.queuing`, "must be nil if limited.limitResponse.type is not Limited");
  } else if (type === "Queue") {
    if (queuing === undefined)
      yield required(`${field}.queuing`, "must not be empty if limited.limitResponse.type is Limited");
    else yield* queuingErrors(objectAt(response, "queuing"), `${field}.queuing`);
  } else yield* enumErrors(type, `${field}.type`, ["Queue", "Reject"]);
}

function* queuingErrors(queuing: JsonObject, field: string): Generator<FieldError> {
  const length = numberAt(queuing, "queueLengthLimit") ?? 0;
  const queues = numberAt(queuing, "queues") ?? 0;
  const hand = numberAt(queuing, "handSize") ?? 0;
  if (length <= 0) yield invalidValue(`${field}.queueLengthLimit`, length, "must be positive");
  if (queues <= 0) yield invalidValue(`${field}.queues`, queues, "must be positive");
  else if (queues > QUEUES_MAX) yield invalidValue(`${field}.queues`, queues, `must not be greater than ${QUEUES_MAX}`);
  if (hand <= 0) yield invalidValue(`${field}.handSize`, hand, "must be positive");
  else if (hand > queues)
    yield invalidValue(`${field}.handSize`, hand, `should not be greater than queues (${queues})`);
  else if (Math.ceil(Math.log2(queues) * hand) > HASH_BITS_MAX)
    yield invalidValue(
      `${field}.handSize`,
      hand,
      `required entropy bits of deckSize ${queues} and handSize ${hand} should not be greater than ${HASH_BITS_MAX}`,
    );
}
