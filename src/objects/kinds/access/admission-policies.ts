/** Defaults and validation of validating and mutating admission policies and their bindings. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue,
} from "../../../meta/field-errors.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors, pathSegmentErrors, qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { enumErrors, labelSelectorErrors, nameErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { ownPointer, ownStruct, setMissing } from "../defaults.ts";
import { conditionErrors, conditionsOf } from "../storage-versions/conditions.ts";
import { matchConditionErrors, namedRuleErrors, staticSuffixWarnings, withScopes } from "./admission-rules.ts";
import { ExpressionCheck } from "./expressions/expression-errors.ts";
import { paramKindErrors } from "./param-kind.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const FAILURE_POLICIES: readonly string[] = ["Fail", "Ignore"];
const MATCH_POLICIES: readonly string[] = ["Equivalent", "Exact"];
const REINVOCATION_POLICIES: readonly string[] = ["IfNeeded", "Never"];
const REASONS: readonly string[] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const MUTATING_OPERATIONS: readonly string[] = ["*", "CONNECT", "CREATE", "UPDATE"];
const ACTIONS: readonly string[] = ["Audit", "Deny", "Warn"];
const AUDIT_ANNOTATIONS_MAX = 20;
const VALUE_EXPRESSION_BYTES_MAX = 5 * 1024;

export const VALIDATING_ADMISSION_POLICY: Kind = {
  setDefaults(policy) {
    setPolicyDefaults(policy);
    ownStruct(policy, "status");
  },
  prepareCreate(policy) {
    policy["status"] = {};
  },
  createErrors: (policy, context) => validatingPolicyErrors(policy, undefined, context),
  updateErrors: validatingPolicyErrors,
  statusUpdateErrors: policyStatusErrors,
  warnings: staticSuffixWarnings,
  keepsMetadataInStatus: true,
};

export const MUTATING_ADMISSION_POLICY: Kind = {
  setDefaults: setPolicyDefaults,
  createErrors: (policy, context) => mutatingPolicyErrors(policy, undefined, context),
  updateErrors: mutatingPolicyErrors,
  warnings: staticSuffixWarnings,
};

export const VALIDATING_ADMISSION_POLICY_BINDING: Kind = bindingOf(function* (spec) {
  yield* bindingSpecErrors(spec);
  yield* actionErrors(stringsAt(spec, "validationActions"), spec["validationActions"]);
});

export const MUTATING_ADMISSION_POLICY_BINDING: Kind = bindingOf(function* (spec) {
  yield* bindingSpecErrors(spec);
  yield* mutatingOperationErrors(objectAt(spec, "matchResources"), "spec.matchResources");
});

/** Adds the default of `parameterNotFoundAction` that bindings have only in v1alpha1. */
export function withParameterDefault(kind: Kind): Kind {
  return {
    ...kind,
    setDefaults(binding, context) {
      kind.setDefaults?.(binding, context);
      const reference = ownPointer(objectAt(binding, "spec"), "paramRef");
      if (reference !== undefined) setMissing(reference, { parameterNotFoundAction: "Deny" });
    },
  };
}

function bindingOf(errors: (spec: JsonObject) => Iterable<FieldError>): Kind {
  const bindingErrors = (binding: JsonObject): Iterable<FieldError> => errors(objectAt(binding, "spec"));
  return {
    setDefaults: (binding) => setMatchDefaults(ownStruct(binding, "spec"), "matchResources"),
    createErrors: bindingErrors,
    updateErrors: bindingErrors,
    warnings: staticSuffixWarnings,
  };
}

function setPolicyDefaults(policy: JsonObject): void {
  const spec = ownStruct(policy, "spec");
  setMissing(spec, { failurePolicy: "Fail" });
  setMatchDefaults(spec, "matchConstraints");
}

function setMatchDefaults(spec: JsonObject, key: string): void {
  const match = ownPointer(spec, key);
  if (match === undefined) return;
  setMissing(match, { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} });
  for (const rules of ["resourceRules", "excludeResourceRules"])
    if (match[rules] !== undefined) match[rules] = withScopes(match[rules]);
}

function* validatingPolicyErrors(
  policy: JsonObject,
  existing: JsonObject | undefined,
  { gates }: KindContext,
): Generator<FieldError> {
  const spec = objectAt(policy, "spec");
  const check = new ExpressionCheck(gates, spec);
  if (existing !== undefined) check.addStoredPolicy(existing);
  yield* commonErrors(spec);
  yield* policyConditionErrors(spec, existing, check);
  yield* variableErrors(spec, check);
  const annotations = objectsAt(spec, "auditAnnotations");
  const validations = objectsAt(spec, "validations");
  const atLeastOne = "validations or auditAnnotations must contain at least one item";
  if (validations.length === 0 && annotations.length === 0) {
    yield required("spec.validations", atLeastOne);
    yield required("spec.auditAnnotations", atLeastOne);
  }
  for (const [index, validation] of validations.entries())
    yield* validationErrors(validation, `spec.validations[${index}]`, check);
  yield* auditAnnotationErrors(annotations, stringAt(objectAt(policy, "metadata"), "name"), check);
}

function* mutatingPolicyErrors(
  policy: JsonObject,
  existing: JsonObject | undefined,
  { gates }: KindContext,
): Generator<FieldError> {
  const spec = objectAt(policy, "spec");
  const check = new ExpressionCheck(gates, spec);
  if (existing !== undefined) check.addStoredPolicy(existing);
  yield* commonErrors(spec);
  yield* mutatingOperationErrors(objectAt(spec, "matchConstraints"), "spec.matchConstraints");
  yield* policyConditionErrors(spec, existing, check);
  yield* variableErrors(spec, check);
  const mutations = objectsAt(spec, "mutations");
  if (mutations.length === 0) yield required("spec.mutations", "mutations must contain at least one item");
  for (const [index, mutation] of mutations.entries())
    yield* mutationErrors(mutation, `spec.mutations[${index}]`, check);
  yield* enumErrors(stringAt(spec, "reinvocationPolicy"), "spec.reinvocationPolicy", REINVOCATION_POLICIES);
}

/** Checks that validating and mutating policies share. */
function* commonErrors(spec: JsonObject): Generator<FieldError> {
  const policy = stringAt(spec, "failurePolicy");
  if (!FAILURE_POLICIES.includes(policy)) yield unsupportedValue("spec.failurePolicy", policy, FAILURE_POLICIES);
  if (spec["paramKind"] !== undefined) yield* paramKindErrors(objectAt(spec, "paramKind"), "spec.paramKind");
  if (spec["matchConstraints"] === undefined) {
    yield required("spec.matchConstraints");
    return;
  }
  const constraints = objectAt(spec, "matchConstraints");
  yield* matchResourceErrors(constraints, "spec.matchConstraints");
  if (objectsAt(constraints, "resourceRules").length === 0) yield required("spec.matchConstraints.resourceRules");
}

/** Checks the match conditions, unless both they and the parameter kind are unchanged. */
function* policyConditionErrors(
  spec: JsonObject,
  existing: JsonObject | undefined,
  check: ExpressionCheck,
): Generator<FieldError> {
  const before = objectAt(existing ?? {}, "spec");
  const conditions = objectsAt(spec, "matchConditions");
  const isSame =
    existing !== undefined &&
    jsonEquals(spec["paramKind"], before["paramKind"]) &&
    jsonEquals(conditions, objectsAt(before, "matchConditions"));
  if (!isSame) yield* matchConditionErrors(conditions, "spec.matchConditions", check);
}

function* matchResourceErrors(match: JsonObject, field: string): Generator<FieldError> {
  const policy = stringAt(match, "matchPolicy");
  if (!MATCH_POLICIES.includes(policy)) yield unsupportedValue(`${field}.matchPolicy`, policy, MATCH_POLICIES);
  for (const key of ["namespaceSelector", "objectSelector"])
    yield* labelSelectorErrors(objectAt(match, key), `${field}.${key}`);
  for (const key of ["resourceRules", "excludeResourceRules"])
    for (const [index, rule] of objectsAt(match, key).entries())
      yield* namedRuleErrors(rule, `${field}.${key}[${index}]`);
}

function* mutatingOperationErrors(match: JsonObject, field: string): Generator<FieldError> {
  for (const rule of objectsAt(match, "resourceRules"))
    for (const operation of stringsAt(rule, "operations"))
      if (!MUTATING_OPERATIONS.includes(operation))
        yield unsupportedValue(`${field}.resourceRules.operations`, operation, MUTATING_OPERATIONS);
}

const CEL_IDENTIFIER = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const CEL_RESERVED: ReadonlySet<string> = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

function* variableErrors(spec: JsonObject, check: ExpressionCheck): Generator<FieldError> {
  for (const [index, variable] of objectsAt(spec, "variables").entries()) {
    const field = `spec.variables[${index}]`;
    const name = stringAt(variable, "name");
    if (name.trim() === "") yield required(`${field}.name`, "name is not specified");
    else if (!CEL_IDENTIFIER.test(name) || CEL_RESERVED.has(name))
      yield invalidValue(`${field}.name`, name, "must be a valid CEL identifier");
    const source = stringAt(variable, "expression");
    if (source.trim() === "") yield required(`${field}.expression`, "expression is not specified");
    else yield* check.variableErrors({ name, source }, `${field}.expression`);
  }
}

function* validationErrors(validation: JsonObject, field: string, check: ExpressionCheck): Generator<FieldError> {
  const source = stringAt(validation, "expression");
  if (source.trim() === "") yield required(`${field}.expression`, "expression is not specified");
  else yield* check.validationErrors(source, `${field}.expression`);
  const messageExpression = stringAt(validation, "messageExpression");
  if (messageExpression !== "" && messageExpression.trim() === "")
    yield invalidValue(`${field}.messageExpression`, messageExpression, "must be non-empty if specified");
  else if (messageExpression !== "") yield* check.messageErrors(messageExpression, `${field}.messageExpression`);
  const message = stringAt(validation, "message");
  if (message !== "" && message.trim() === "")
    yield invalidValue(`${field}.message`, message, "must be non-empty if specified");
  else if (/[\n\r]/.test(message.trim()))
    yield invalidValue(`${field}.message`, message, "must not contain line breaks");
  const { reason } = validation;
  if (typeof reason === "string" && !REASONS.includes(reason))
    yield unsupportedValue(`${field}.reason`, reason, REASONS);
}

function* auditAnnotationErrors(
  annotations: readonly JsonObject[],
  policyName: string,
  check: ExpressionCheck,
): Generator<FieldError> {
  const field = "spec.auditAnnotations";
  if (annotations.length > AUDIT_ANNOTATIONS_MAX)
    yield invalidValue(
      field,
      annotations.map((annotation) => internalValue(annotation, "AuditAnnotation")),
      `must not have more than ${AUDIT_ANNOTATIONS_MAX} auditAnnotations`,
    );
  const keys = new Set<string>();
  for (const [index, annotation] of annotations.entries()) {
    const key = stringAt(annotation, "key");
    if (policyName === "") yield invalidValue(`${field}[${index}].key`, key, "requires metadata.name be non-empty");
    else yield* nameErrors(`${policyName}/${key}`, `${field}[${index}].key`, qualifiedNameErrors);
    const source = stringAt(annotation, "valueExpression");
    const expression = source.trim();
    const expressionField = `${field}[${index}].valueExpression`;
    if (expression === "") yield required(expressionField, "valueExpression is not specified");
    else if (Buffer.byteLength(expression) > VALUE_EXPRESSION_BYTES_MAX)
      yield required(expressionField, `must not exceed ${VALUE_EXPRESSION_BYTES_MAX} bytes in length`);
    else yield* check.annotationErrors(source, expressionField);
    if (keys.has(key)) yield duplicateValue(`${field}[${index}].key`, key);
    keys.add(key);
  }
}

type PatchKey = "applyConfiguration" | "jsonPatch";

const PATCHES: ReadonlyMap<string, readonly [own: PatchKey, other: PatchKey]> = new Map([
  ["JSONPatch", ["jsonPatch", "applyConfiguration"]],
  ["ApplyConfiguration", ["applyConfiguration", "jsonPatch"]],
]);

function* mutationErrors(mutation: JsonObject, field: string, check: ExpressionCheck): Generator<FieldError> {
  const patchType = stringAt(mutation, "patchType");
  yield* enumErrors(patchType, `${field}.patchType`, ["ApplyConfiguration", "JSONPatch"]);
  const keys = PATCHES.get(patchType);
  if (keys === undefined) return;
  const [own, other] = keys;
  if (mutation[own] === undefined)
    yield required(`${field}.${own}`, `must be specified when patchType is ${patchType}`);
  else {
    const expression = stringAt(objectAt(mutation, own), "expression");
    if (expression.trim() === "") yield required(`${field}.${own}.expression`);
    else yield* check.mutationErrors(expression, own, `${field}.${own}.expression`);
  }
  if (mutation[other] !== undefined)
    yield invalidValue(`${field}.${other}`, `{${other}}`, `must not be specified when patchType is ${patchType}`);
}

function* bindingSpecErrors(spec: JsonObject): Generator<FieldError> {
  const name = stringAt(spec, "policyName");
  if (name === "") yield required("spec.policyName");
  else yield* nameErrors(name, "spec.policyName", dnsSubdomainErrors);
  if (spec["paramRef"] !== undefined) yield* paramRefErrors(objectAt(spec, "paramRef"), "spec.paramRef");
  if (spec["matchResources"] !== undefined)
    yield* matchResourceErrors(objectAt(spec, "matchResources"), "spec.matchResources");
}

function* paramRefErrors(reference: JsonObject, field: string): Generator<FieldError> {
  const name = stringAt(reference, "name");
  const hasSelector = reference["selector"] !== undefined;
  const exclusive = "name and selector are mutually exclusive";
  if (name !== "") yield* nameErrors(name, `${field}.name`, pathSegmentErrors);
  if (name !== "" && hasSelector) yield forbiddenField(`${field}.name`, exclusive);
  if (hasSelector) yield* labelSelectorErrors(objectAt(reference, "selector"), `${field}.selector`);
  if (name !== "" && hasSelector) yield forbiddenField(`${field}.selector`, exclusive);
  if (name === "" && !hasSelector) yield required(field, "one of name or selector must be specified");
  // The supported values are in the order in which kubernetes lists them.
  const action = stringAt(reference, "parameterNotFoundAction");
  yield* enumErrors(action, `${field}.parameterNotFoundAction`, ["Deny", "Allow"]);
}

function* actionErrors(actions: readonly string[], shown: unknown): Generator<FieldError> {
  const field = "spec.validationActions";
  const seen = new Set<string>();
  for (const [index, action] of actions.entries()) {
    if (!ACTIONS.includes(action)) yield unsupportedValue(`${field}[${index}]`, action, ACTIONS);
    if (seen.has(action)) yield duplicateValue(`${field}[${index}]`, action);
    seen.add(action);
  }
  if (seen.has("Deny") && seen.has("Warn"))
    yield invalidValue(
      field,
      shown,
      "must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)",
    );
  if (seen.size === 0) yield required(field, "at least one validation action is required");
}

/** DIFFERS: does not check that a fieldRef is a JSONPath. */
function* policyStatusErrors(policy: JsonObject): Generator<FieldError> {
  const status = objectAt(policy, "status");
  const warnings = objectsAt(objectAt(status, "typeChecking"), "expressionWarnings");
  for (const [index, warning] of warnings.entries()) {
    const field = `status.typeChecking.expressionWarnings[${index}]`;
    if (stringAt(warning, "warning") === "") yield required(`${field}.warning`);
    if (stringAt(warning, "fieldRef").trim() === "") yield required(`${field}.fieldRef`);
  }
  yield* conditionErrors(conditionsOf(status), "lastTransitionTime");
}
