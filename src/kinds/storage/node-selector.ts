/** Selectors of nodes as volumes have them, and the labels of nodes nobody should select by any more. */
import { forbiddenField, invalidValue, required } from "../../meta/field-errors.ts";
import { stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { dnsSubdomainErrors, labelValueErrors, qualifiedNameErrors } from "../../meta/names.ts";
import type { FieldError } from "../../meta/status-error.ts";
import { objectsAt } from "../checks.ts";

const NOT_AN_OPERATOR = "not a valid selector operator";

/** Values that were stored before they were checked stay. */
export interface SelectorOptions {
  readonly allowsInvalidValues: boolean;
}

export function* nodeSelectorErrors(
  selector: JsonObject,
  field: string,
  options: SelectorOptions,
): Generator<FieldError> {
  const terms = objectsAt(selector, "nodeSelectorTerms");
  if (terms.length === 0) yield required(`${field}.nodeSelectorTerms`, "must have at least one node selector term");
  for (const [index, term] of terms.entries()) {
    const at = `${field}.nodeSelectorTerms[${index}]`;
    for (const [position, requirement] of objectsAt(term, "matchExpressions").entries())
      yield* expressionErrors(requirement, `${at}.matchExpressions[${position}]`, options);
    for (const [position, requirement] of objectsAt(term, "matchFields").entries())
      yield* fieldRequirementErrors(requirement, `${at}.matchFields[${position}]`);
  }
}

export function hasInvalidSelectorValue(selector: JsonObject): boolean {
  return objectsAt(selector, "nodeSelectorTerms").some((term) =>
    objectsAt(term, "matchExpressions").some((requirement) =>
      stringsAt(requirement, "values").some((value) => labelValueErrors(value).length > 0),
    ),
  );
}

function* expressionErrors(
  requirement: JsonObject,
  field: string,
  { allowsInvalidValues }: SelectorOptions,
): Generator<FieldError> {
  const key = stringAt(requirement, "key");
  const values = stringsAt(requirement, "values");
  yield* operatorErrors(stringAt(requirement, "operator"), values, field);
  for (const sentence of qualifiedNameErrors(key)) yield invalidValue(`${field}.key`, key, sentence);
  if (allowsInvalidValues) return;
  for (const [index, value] of values.entries())
    for (const sentence of labelValueErrors(value)) yield invalidValue(`${field}.values[${index}]`, value, sentence);
}

function* operatorErrors(operator: string, values: readonly string[], field: string): Generator<FieldError> {
  switch (operator) {
    case "In":
    case "NotIn":
      if (values.length === 0)
        yield required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
      return;
    case "Exists":
    case "DoesNotExist":
      if (values.length > 0)
        yield forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
      return;
    case "Gt":
    case "Lt":
      if (values.length !== 1)
        yield required(`${field}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
      return;
    default:
      yield invalidValue(`${field}.operator`, operator, NOT_AN_OPERATOR);
  }
}

function* fieldRequirementErrors(requirement: JsonObject, field: string): Generator<FieldError> {
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
      for (const sentence of dnsSubdomainErrors(value))
        yield invalidValue(`${field}.values[${index}]`, value, sentence);
}

const DEPRECATED_NODE_LABELS: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  ["scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
]);

export function deprecatedNodeLabel(key: string): string | undefined {
  return DEPRECATED_NODE_LABELS.get(key);
}

/** Of `matchExpressions`, as terms of node selectors and label selectors have them. */
export function* deprecatedExpressionWarnings(selector: JsonObject, field: string): Generator<string> {
  for (const [index, requirement] of objectsAt(selector, "matchExpressions").entries()) {
    const key = stringAt(requirement, "key");
    const why = deprecatedNodeLabel(key);
    if (why !== undefined) yield `${field}.matchExpressions[${index}].key: ${key} is ${why}`;
  }
}
