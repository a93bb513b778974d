/** Validation of the scheduling constraints of a pod. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, labelValueErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { labelSelectorErrors, nameErrors } from "../../checks.ts";
import { qualifiedNameFieldErrors } from "./formats.ts";
import { labelKeysErrors } from "./label-keys-rules.ts";

const REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution";
const EFFECTS: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
const NOT_AN_OPERATOR = "not a valid selector operator";

export function* affinityErrors(affinity: JsonObject, field: string): Generator<FieldError> {
  const { nodeAffinity } = affinity;
  if (isJsonObject(nodeAffinity)) yield* nodeAffinityErrors(nodeAffinity, `${field}.nodeAffinity`);
  for (const member of ["podAffinity", "podAntiAffinity"] as const) {
    const pods = affinity[member];
    if (!isJsonObject(pods)) continue;
    for (const [index, term] of objectsAt(pods, REQUIRED).entries())
      yield* podAffinityTermErrors(term, `${field}.${member}.${REQUIRED}[${index}]`);
    for (const [index, weighted] of objectsAt(pods, PREFERRED).entries()) {
      const at = `${field}.${member}.${PREFERRED}[${index}]`;
      yield* weightErrors(weighted, `${at}.weight`);
      yield* podAffinityTermErrors(objectAt(weighted, "podAffinityTerm"), `${at}.podAffinityTerm`);
    }
  }
}

function* nodeAffinityErrors(affinity: JsonObject, field: string): Generator<FieldError> {
  const selector = affinity[REQUIRED];
  if (isJsonObject(selector)) yield* nodeSelectorErrors(selector, `${field}.${REQUIRED}`);
  for (const [index, preferred] of objectsAt(affinity, PREFERRED).entries()) {
    const at = `${field}.${PREFERRED}[${index}]`;
    yield* weightErrors(preferred, `${at}.weight`);
    // Preferred terms may have values that are not valid label values.
    yield* nodeSelectorTermErrors(objectAt(preferred, "preference"), `${at}.preference`, ANY_VALUE);
  }
}

function* weightErrors(weighted: JsonObject, field: string): Generator<FieldError> {
  const weight = numberAt(weighted, "weight") ?? 0;
  if (weight <= 0 || weight > 100) yield invalidValue(field, weight, "must be in the range 1-100");
}

interface NodeSelectorOptions {
  /** True if values need not be valid label values. */
  readonly allowsInvalidValues: boolean;
}

const ANY_VALUE: NodeSelectorOptions = { allowsInvalidValues: true };
const LABEL_VALUES: NodeSelectorOptions = { allowsInvalidValues: false };

export function* nodeSelectorErrors(
  selector: JsonObject,
  field: string,
  options: NodeSelectorOptions = LABEL_VALUES,
): Generator<FieldError> {
  const terms = objectsAt(selector, "nodeSelectorTerms");
  if (terms.length === 0) yield required(`${field}.nodeSelectorTerms`, "must have at least one node selector term");
  for (const [index, term] of terms.entries())
    yield* nodeSelectorTermErrors(term, `${field}.nodeSelectorTerms[${index}]`, options);
}

function* nodeSelectorTermErrors(term: JsonObject, field: string, options: NodeSelectorOptions): Generator<FieldError> {
  for (const [index, requirement] of objectsAt(term, "matchExpressions").entries())
    yield* nodeRequirementErrors(requirement, `${field}.matchExpressions[${index}]`, options);
  for (const [index, requirement] of objectsAt(term, "matchFields").entries())
    yield* nodeFieldErrors(requirement, `${field}.matchFields[${index}]`);
}

function* nodeRequirementErrors(
  requirement: JsonObject,
  field: string,
  { allowsInvalidValues }: NodeSelectorOptions,
): Generator<FieldError> {
  const operator = stringAt(requirement, "operator");
  const values = stringsAt(requirement, "values");
  if (operator === "In" || operator === "NotIn") {
    if (values.length === 0) yield required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === "Exists" || operator === "DoesNotExist") {
    if (values.length > 0)
      yield forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (operator === "Gt" || operator === "Lt") {
    if (values.length !== 1)
      yield required(`${field}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else yield invalidValue(`${field}.operator`, operator, NOT_AN_OPERATOR);
  yield* qualifiedNameFieldErrors(stringAt(requirement, "key"), `${field}.key`);
  if (allowsInvalidValues) return;
  for (const [index, value] of values.entries())
    yield* nameErrors(value, `${field}.values[${index}]`, labelValueErrors);
}

function* nodeFieldErrors(requirement: JsonObject, field: string): Generator<FieldError> {
  const operator = stringAt(requirement, "operator");
  const values = stringsAt(requirement, "values");
  if (operator !== "In" && operator !== "NotIn") yield invalidValue(`${field}.operator`, operator, NOT_AN_OPERATOR);
  else if (values.length !== 1)
    yield required(
      `${field}.values`,
      "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
    );
  const key = stringAt(requirement, "key");
  if (key !== "metadata.name") yield invalidValue(`${field}.key`, key, "not a valid field selector key");
  else
    for (const [index, value] of values.entries())
      yield* nameErrors(value, `${field}.values[${index}]`, dnsSubdomainErrors);
}

function* podAffinityTermErrors(term: JsonObject, field: string): Generator<FieldError> {
  const { labelSelector, namespaceSelector } = term;
  if (isJsonObject(labelSelector)) yield* labelSelectorErrors(labelSelector, `${field}.labelSelector`);
  if (isJsonObject(namespaceSelector)) yield* labelSelectorErrors(namespaceSelector, `${field}.namespaceSelector`);
  for (const namespace of stringsAt(term, "namespaces"))
    yield* nameErrors(namespace, `${field}.namespace`, dnsLabelErrors);
  yield* labelKeysErrors(term, field);
  const key = stringAt(term, "topologyKey");
  if (key === "") yield required(`${field}.topologyKey`, "can not be empty");
  yield* qualifiedNameFieldErrors(key, `${field}.topologyKey`);
}

export function* tolerationsErrors(tolerations: readonly JsonObject[], field: string): Generator<FieldError> {
  for (const [index, toleration] of tolerations.entries()) yield* tolerationErrors(toleration, `${field}[${index}]`);
}

function* tolerationErrors(toleration: JsonObject, field: string): Generator<FieldError> {
  const key = stringAt(toleration, "key");
  const operator = stringAt(toleration, "operator");
  const effect = stringAt(toleration, "effect");
  if (key !== "") yield* qualifiedNameFieldErrors(key, `${field}.key`);
  if (key === "" && operator !== "Exists")
    yield invalidValue(
      `${field}.operator`,
      operator,
      'operator must be Exists when `key` is empty, which means "match all values and all keys"',
    );
  if (toleration["tolerationSeconds"] !== undefined && effect !== "NoExecute")
    yield invalidValue(`${field}.effect`, effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
  yield* tolerationValueErrors(operator, stringAt(toleration, "value"), `${field}.operator`);
  if (effect !== "" && !EFFECTS.includes(effect)) yield unsupportedValue(`${field}.effect`, effect, EFFECTS);
}

function* tolerationValueErrors(operator: string, value: string, field: string): Generator<FieldError> {
  if (operator === "Equal" || operator === "") {
    const sentences = labelValueErrors(value);
    if (sentences.length > 0) yield invalidValue(field, value, sentences.join(";"));
  } else if (operator === "Exists") {
    if (value !== "") yield invalidValue(field, value, "value must be empty when `operator` is 'Exists'");
  } else if (operator === "Lt" || operator === "Gt")
    yield unsupportedValue(field, operator, ["Equal", "Exists", "Lt", "Gt"]);
  else yield unsupportedValue(field, operator, ["Equal", "Exists"]);
}

export function* gatesErrors(spec: JsonObject, field: string): Generator<FieldError> {
  for (const [index, gate] of objectsAt(spec, "readinessGates").entries())
    yield* qualifiedNameFieldErrors(stringAt(gate, "conditionType"), `${field}.readinessGates[${index}].conditionType`);
  const seen = new Set<string>();
  for (const [index, gate] of objectsAt(spec, "schedulingGates").entries()) {
    const name = stringAt(gate, "name");
    yield* qualifiedNameFieldErrors(name, `${field}.schedulingGates[${index}]`);
    if (seen.has(name)) yield duplicateValue(`${field}.schedulingGates[${index}]`, name);
    seen.add(name);
  }
}
