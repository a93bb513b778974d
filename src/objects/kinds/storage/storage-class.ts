/** Defaults, validation and warnings of StorageClasses and VolumeAttributesClasses. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  tooLong,
  unsupportedValue,
} from "../../../meta/field-errors.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { immutableErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { addFinalizer, setMissing } from "../defaults.ts";
import { deprecatedNodeLabel } from "../pods/warnings/deprecated-node-labels.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";

const PARAMETERS_MAX = 512;
const PARAMETERS_BYTES_MAX = 256 * 1024;
const RECLAIM_POLICIES: readonly string[] = ["Delete", "Retain"];
const BINDING_MODES: readonly string[] = ["Immediate", "WaitForFirstConsumer"];

export const STORAGE_CLASS: Kind = {
  setDefaults: (storageClass) => setMissing(storageClass, { reclaimPolicy: "Delete", volumeBindingMode: "Immediate" }),
  createErrors: storageClassErrors,
  *updateErrors(storageClass, existing) {
    yield* storageClassErrors(storageClass);
    if (!isSameInternal(storageClass["parameters"], existing["parameters"], "*"))
      yield invalidValue("parameters", internalValue(storageClass["parameters"], "*"), "field is immutable");
    yield* immutableErrors(stringAt(storageClass, "provisioner"), stringAt(existing, "provisioner"), "provisioner");
    for (const key of ["reclaimPolicy", "volumeBindingMode"])
      yield* immutableErrors(storageClass[key], existing[key], key);
  },
  *warnings(storageClass) {
    for (const [index, term] of objectsAt(storageClass, "allowedTopologies").entries())
      for (const [position, requirement] of objectsAt(term, "matchLabelExpressions").entries()) {
        const why = deprecatedNodeLabel(stringAt(requirement, "key"));
        if (why !== undefined) yield `allowedTopologies[${index}].matchLabelExpressions[${position}].key: ${why}`;
      }
  },
};

export const VOLUME_ATTRIBUTES_CLASS: Kind = {
  prepareCreate(attributesClass, { gates }) {
    if (gates.isOn("VolumeAttributesClass")) addFinalizer(attributesClass, "kubernetes.io/vac-protection");
  },
  createErrors: attributesClassErrors,
  *updateErrors(attributesClass, existing) {
    if (stringAt(attributesClass, "driverName") !== stringAt(existing, "driverName"))
      yield forbiddenField("driverName", "updates to driverName are forbidden.");
    if (!jsonEquals(attributesClass["parameters"], existing["parameters"]))
      yield forbiddenField("parameters", "updates to parameters are forbidden.");
    yield* attributesClassErrors(attributesClass);
  },
};

function* storageClassErrors(storageClass: JsonObject): Generator<FieldError> {
  yield* provisionerErrors(stringAt(storageClass, "provisioner"), "provisioner");
  yield* parameterErrors(objectAt(storageClass, "parameters"));
  const policy = stringAt(storageClass, "reclaimPolicy");
  if (policy !== "" && !RECLAIM_POLICIES.includes(policy))
    yield unsupportedValue("reclaimPolicy", policy, RECLAIM_POLICIES);
  const mode = stringAt(storageClass, "volumeBindingMode");
  if (!BINDING_MODES.includes(mode)) yield unsupportedValue("volumeBindingMode", mode, BINDING_MODES);
  yield* topologyErrors(storageClass);
}

function* attributesClassErrors(attributesClass: JsonObject): Generator<FieldError> {
  yield* provisionerErrors(stringAt(attributesClass, "driverName"), "driverName");
  const parameters = objectAt(attributesClass, "parameters");
  yield* parameterErrors(parameters);
  if (Object.keys(parameters).length === 0) yield required("parameters", "must contain at least one key/value pair");
}

function* provisionerErrors(name: string, field: string): Generator<FieldError> {
  if (name === "") yield required(field);
  else
    for (const sentence of qualifiedNameErrors(name.toLowerCase()))
      yield invalidValue(field, name.toLowerCase(), sentence);
}

function* parameterErrors(parameters: JsonObject): Generator<FieldError> {
  const keys = Object.keys(parameters);
  if (keys.length > PARAMETERS_MAX) {
    yield tooLong("parameters", PARAMETERS_MAX);
    return;
  }
  if (keys.includes("")) yield invalidValue("parameters", "", "field can not be empty.");
  const bytes = keys.reduce((sum, key) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(parameters[key])), 0);
  if (bytes > PARAMETERS_BYTES_MAX) yield tooLong("parameters", PARAMETERS_BYTES_MAX);
}

/** As kubernetes: reports a topology term once for each equal term before it. */
function* topologyErrors(storageClass: JsonObject): Generator<FieldError> {
  const terms = objectsAt(storageClass, "allowedTopologies");
  // As kubernetes, which compares the terms with a list that initially has an empty term for each term.
  const seen = new Map([[termIdentity({}), terms.length]]);
  for (const [index, term] of terms.entries()) {
    const at = `allowedTopologies[${index}].matchLabelExpressions`;
    yield* termErrors(term, at);
    const identity = termIdentity(term);
    const times = seen.get(identity) ?? 0;
    for (let reported = 0; reported < times; reported++) yield duplicateValue(at, "");
    seen.set(identity, times + 1);
  }
}

function termIdentity(term: JsonObject): string {
  const requirements = objectsAt(term, "matchLabelExpressions").map((requirement): [string, string[]] => [
    stringAt(requirement, "key"),
    [...new Set(stringsAt(requirement, "values"))].sort(),
  ]);
  return JSON.stringify([...new Map(requirements)].sort(([left], [right]) => (left < right ? -1 : 1)));
}

function* termErrors(term: JsonObject, field: string): Generator<FieldError> {
  const keys = new Set<string>();
  for (const [index, requirement] of objectsAt(term, "matchLabelExpressions").entries()) {
    const at = `${field}[${index}]`;
    const values = stringsAt(requirement, "values");
    if (values.length === 0) yield required(`${at}.values`);
    const known = new Set<string>();
    for (const [position, value] of values.entries()) {
      if (known.has(value)) yield duplicateValue(`${at}.values[${position}]`, value);
      known.add(value);
    }
    const key = stringAt(requirement, "key");
    for (const sentence of qualifiedNameErrors(key)) yield invalidValue(`${at}.key`, key, sentence);
    if (keys.has(key)) yield duplicateValue(`${at}.key`, key);
    keys.add(key);
  }
}
