/** Validation of one device of a ResourceSlice. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  tooLong,
  tooMany,
} from "../../../../meta/field-errors.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import { versionOf } from "../../../../meta/semantic-version.ts";
import { nodeSelectorErrors } from "../../pods/rules/scheduling-rules.ts";
import { attributeNameErrors, listErrors, deviceTaintErrors, uniquenessErrors } from "./device-checks.ts";
import { requestPolicyErrors } from "./request-policy.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

const ATTRIBUTES_AND_CAPACITIES_MAX = 32;
const ATTRIBUTE_VALUES_MAX = 48;
const ATTRIBUTE_BYTES_MAX = 64;
const KEY_SHOWN_MAX = 96;
const TAINTS_MAX = 16;
const CONSUMPTIONS_MAX = 2;
const COUNTERS_MAX = 32;
const BINDING_CONDITIONS_MAX = 4;
const ONE_PLACE =
  "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec";

interface DeviceContext {
  /** True if each device has a node selection of its own. */
  readonly hasNodeSelectionPerDevice: boolean;
  /** The devices of the stored slice, keyed by name. */
  readonly before: ReadonlyMap<string, JsonObject>;
}

export function* deviceErrors(
  device: JsonObject,
  field: string,
  { hasNodeSelectionPerDevice, before }: DeviceContext,
): Generator<FieldError> {
  const name = stringAt(device, "name");
  yield* nameErrors(name, `${field}.name`, dnsLabelErrors);
  yield* attributeErrors(device, field);
  yield* capacityErrors(device, field);
  const taints = objectsAt(device, "taints");
  if (!jsonEquals(taints, objectsAt(before.get(name) ?? {}, "taints")))
    yield* listErrors(taints, `${field}.taints`, { max: TAINTS_MAX, errors: deviceTaintErrors });
  yield* consumptionErrors(objectsAt(device, "consumesCounters"), `${field}.consumesCounters`);
  if (hasNodeSelectionPerDevice) yield* placeErrors(device, field);
  else if (["nodeName", "nodeSelector", "allNodes"].some((key) => device[key] !== undefined))
    yield invalidValue(
      field,
      null,
      "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec",
    );
  yield* bindingErrors(device, field);
}

const ATTRIBUTE_KEYS: readonly string[] = ["int", "bool", "string", "version"];

function* attributeErrors(device: JsonObject, field: string): Generator<FieldError> {
  const attributes = objectAt(device, "attributes");
  const names = Object.keys(attributes).sort();
  const count = names.length + Object.keys(objectAt(device, "capacity")).length;
  if (count > ATTRIBUTES_AND_CAPACITIES_MAX)
    yield invalidValue(
      field,
      count,
      `the total number of attributes and capacities must not exceed ${ATTRIBUTES_AND_CAPACITIES_MAX}`,
    );
  if (names.length > ATTRIBUTE_VALUES_MAX)
    yield invalidValue(
      field,
      names.length,
      `the total number of attribute values must not exceed ${ATTRIBUTE_VALUES_MAX}`,
    );
  for (const name of names) {
    yield* attributeNameErrors(name, `${field}.attributes`);
    yield* attributeValueErrors(objectAt(attributes, name), keyField(`${field}.attributes`, name, KEY_SHOWN_MAX));
  }
}

function* attributeValueErrors(attribute: JsonObject, field: string): Generator<FieldError> {
  const { version } = attribute;
  if (Buffer.byteLength(stringAt(attribute, "string")) > ATTRIBUTE_BYTES_MAX)
    yield tooLong(`${field}.string`, ATTRIBUTE_BYTES_MAX);
  if (typeof version === "string") {
    if (versionOf(version) === undefined)
      yield invalidValue(`${field}.version`, version, "must be a string compatible with semver.org spec 2.0.0");
    if (Buffer.byteLength(version) > ATTRIBUTE_BYTES_MAX) yield tooLong(`${field}.version`, ATTRIBUTE_BYTES_MAX);
  }
  const present = ATTRIBUTE_KEYS.filter((key) => attribute[key] !== undefined).length;
  if (present !== 1)
    yield invalidValue(
      field,
      present === 0 ? "" : internalValue(attribute, "DeviceAttribute"),
      "exactly one value must be specified",
    );
}

function* capacityErrors(device: JsonObject, field: string): Generator<FieldError> {
  const capacities = objectAt(device, "capacity");
  for (const name of Object.keys(capacities).sort()) {
    yield* attributeNameErrors(name, `${field}.capacity`);
    const capacity = objectAt(capacities, name);
    if (capacity["requestPolicy"] === undefined) continue;
    const at = `${keyField(`${field}.capacity`, name, KEY_SHOWN_MAX)}.requestPolicy`;
    if (device["allowMultipleAllocations"] === true)
      yield* requestPolicyErrors(objectAt(capacity, "requestPolicy"), at, capacity["value"]);
    else yield forbiddenField(at, "allowMultipleAllocations must be true");
  }
}

/** As kubernetes: a key that is too long is shown without its middle part. */
function keyField(field: string, key: string, bytesMax: number): string {
  if (key.length <= bytesMax) return `${field}[${key}]`;
  const rest = bytesMax - "...".length;
  return `${field}[${key.slice(0, Math.floor((rest + 1) / 2))}...${key.slice(key.length - Math.floor(rest / 2))}]`;
}

function* consumptionErrors(consumptions: readonly JsonObject[], field: string): Generator<FieldError> {
  yield* listErrors(consumptions, field, {
    max: CONSUMPTIONS_MAX,
    *errors(consumption, at) {
      yield* counterNameErrors(stringAt(consumption, "counterSet"), `${at}.counterSet`);
      yield* countersErrors(consumption, `${at}.counters`);
    },
  });
  const sets = consumptions.map((consumption) => stringAt(consumption, "counterSet"));
  yield* uniquenessErrors(sets, field, CONSUMPTIONS_MAX);
}

export function* counterNameErrors(name: string, field: string): Generator<FieldError> {
  if (name === "") yield required(field);
  else yield* nameErrors(name, field, dnsLabelErrors);
}

export function* countersErrors(parent: JsonObject, field: string): Generator<FieldError> {
  const names = Object.keys(objectAt(parent, "counters")).sort();
  if (names.length === 0) yield required(field);
  if (names.length > COUNTERS_MAX) yield tooMany(field, names.length, COUNTERS_MAX);
  else for (const name of names) yield* nameErrors(name, field, dnsLabelErrors);
}

function* placeErrors(device: JsonObject, field: string): Generator<FieldError> {
  const places: string[] = [];
  const { nodeName, allNodes } = device;
  if (nodeName === "") yield invalidValue(`${field}.nodeName`, "", "must not be empty");
  else if (typeof nodeName === "string") {
    places.push("`nodeName`");
    yield* nameErrors(nodeName, `${field}.nodeName`, dnsSubdomainErrors);
  }
  if (device["nodeSelector"] !== undefined) {
    places.push("`nodeSelector`");
    yield* nodeSelectorErrors(objectAt(device, "nodeSelector"), `${field}.nodeSelector`);
  }
  if (allNodes === true) places.push("`allNodes`");
  else if (allNodes === false) yield invalidValue(`${field}.allNodes`, false, "must be either unset or set to true");
  if (places.length === 0) yield required(field, ONE_PLACE);
  if (places.length > 1) yield invalidValue(field, `{${places.join(", ")}}`, ONE_PLACE);
}

/** Checks the binding conditions of a device in a slice, or of a device that is allocated to a claim. */
export function* bindingErrors(device: JsonObject, field: string): Generator<FieldError> {
  const conditions = stringsAt(device, "bindingConditions");
  const failures = stringsAt(device, "bindingFailureConditions");
  const lists = [
    [conditions, `${field}.bindingConditions`],
    [failures, `${field}.bindingFailureConditions`],
  ] as const;
  for (const [list, at] of lists)
    yield* listErrors(list, at, {
      max: BINDING_CONDITIONS_MAX,
      errors: (condition, place) => nameErrors(condition, place, qualifiedNameErrors),
    });
  for (const [list, at] of lists) {
    const seen = new Set<string>();
    for (const [index, condition] of list.entries()) {
      if (seen.has(condition)) yield duplicateValue(`${at}[${index}]`, condition);
      seen.add(condition);
      if (list === failures && conditions.includes(condition))
        yield invalidValue(
          `${at}[${index}]`,
          condition,
          "bindingFailureConditions must not overlap with bindingConditions",
        );
    }
  }
  if (conditions.length === 0 && failures.length > 0)
    yield invalidValue(lists[0][1], null, "bindingConditions are required to use bindingFailureConditions");
  if (failures.length === 0 && conditions.length > 0)
    yield invalidValue(lists[1][1], null, "bindingFailureConditions are required to use bindingConditions");
}
