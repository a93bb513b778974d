/** Defaults and validation of the rules and match conditions with which webhooks and policies select requests. */
import { duplicateValue, invalidValue, required, tooMany, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { pathSegmentErrors, qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import type { ExpressionCheck } from "./expressions/expression-errors.ts";

const OPERATIONS: readonly string[] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: readonly string[] = ["*", "Cluster", "Namespaced"];
const MATCH_CONDITIONS_MAX = 64;

/** A copy of the list in which rules without a scope have the scope `*`. */
export function withScopes(rules: unknown): unknown {
  if (!Array.isArray(rules)) return rules;
  return rules.map((rule: unknown) =>
    isJsonObject(rule) && rule["scope"] === undefined ? { ...rule, scope: "*" } : rule,
  );
}

export function* namedRuleErrors(rule: JsonObject, field: string): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [index, name] of stringsAt(rule, "resourceNames").entries()) {
    yield* nameErrors(name, `${field}.resourceNames[${index}]`, pathSegmentErrors);
    if (seen.has(name)) yield duplicateValue(`${field}.resourceNames[${index}]`, name);
    seen.add(name);
  }
  yield* ruleErrors(rule, field);
}

export function* ruleErrors(rule: JsonObject, field: string): Generator<FieldError> {
  const operations = stringsAt(rule, "operations");
  yield* wildcardErrors(operations, `${field}.operations`, "operations");
  for (const [index, operation] of operations.entries())
    if (!OPERATIONS.includes(operation)) yield unsupportedValue(`${field}.operations[${index}]`, operation, OPERATIONS);
  yield* wildcardErrors(stringsAt(rule, "apiGroups"), `${field}.apiGroups`, "API groups");
  const versions = stringsAt(rule, "apiVersions");
  yield* wildcardErrors(versions, `${field}.apiVersions`, "API versions");
  for (const [index, version] of versions.entries())
    if (version === "") yield required(`${field}.apiVersions[${index}]`);
  yield* resourcesErrors(stringsAt(rule, "resources"), `${field}.resources`);
  const scope = stringAt(rule, "scope");
  if (!SCOPES.includes(scope)) yield unsupportedValue(`${field}.scope`, scope, SCOPES);
}

function* wildcardErrors(values: readonly string[], field: string, what: string): Generator<FieldError> {
  if (values.length === 0) yield required(field);
  if (values.length > 1 && values.includes("*"))
    yield invalidValue(field, values, `if '*' is present, must not specify other ${what}`);
}

function* resourcesErrors(resources: readonly string[], field: string): Generator<FieldError> {
  if (resources.length === 0) yield required(field);
  const allSubresourcesOf = new Set<string>();
  const ofAllResources = new Set<string>();
  for (const [index, resource] of resources.entries()) {
    const at = `${field}[${index}]`;
    const slash = resource.indexOf("/");
    if (resource === "") yield required(at);
    if (slash < 0) continue;
    const [name, subresource] = [resource.slice(0, slash), resource.slice(slash + 1)];
    if (allSubresourcesOf.has(name))
      yield invalidValue(at, resource, `if '${name}/*' is present, must not specify ${resource}`);
    if (ofAllResources.has(subresource))
      yield invalidValue(at, resource, `if '*/${subresource}' is present, must not specify ${resource}`);
    if (subresource === "*") allSubresourcesOf.add(name);
    if (name === "*") ofAllResources.add(subresource);
  }
  if (resources.length > 1 && resources.includes("*/*"))
    yield invalidValue(field, resources, "if '*/*' is present, must not specify other resources");
  // As kubernetes: `*` is an error only if the last resource without a subresource is another one.
  const last = resources.findLast((resource) => resource !== "" && !resource.includes("/"));
  if (resources.includes("*") && last !== "*")
    yield invalidValue(field, resources, "if '*' is present, must not specify other resources without subresources");
}

export function* matchConditionErrors(
  conditions: readonly JsonObject[],
  field: string,
  check: ExpressionCheck,
): Generator<FieldError> {
  if (conditions.length > MATCH_CONDITIONS_MAX) yield tooMany(field, conditions.length, MATCH_CONDITIONS_MAX);
  const names = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const at = `${field}[${index}]`;
    const expression = stringAt(condition, "expression");
    if (expression.trim() === "") yield required(`${at}.expression`);
    else yield* check.conditionErrors(expression, `${at}.expression`);
    const name = stringAt(condition, "name");
    if (name === "") yield required(`${at}.name`);
    else yield* nameErrors(name, `${at}.name`, qualifiedNameErrors);
    if (name !== "" && names.has(name)) yield duplicateValue(`${at}.name`, name);
    names.add(name);
  }
}

const STATIC_SUFFIX = ".static.k8s.io";

export function* staticSuffixWarnings(
  object: JsonObject,
  _existing: unknown,
  { gates }: KindContext,
): Generator<string> {
  if (
    !gates.isOn("StaticConfigSuffixReserved") ||
    !stringAt(objectAt(object, "metadata"), "name").endsWith(STATIC_SUFFIX)
  )
    return;
  yield `metadata.name: names ending with "${STATIC_SUFFIX}" are reserved for static manifest-based configurations and cannot be managed via the API`;
}
