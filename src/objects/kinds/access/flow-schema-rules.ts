/** Validation of the spec of a FlowSchema. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const PRECEDENCE_MAX = 10_000;
const DISTINGUISHER_METHODS: readonly string[] = ["ByNamespace", "ByUser"];
const SUBJECT_KINDS: readonly string[] = ["Group", "ServiceAccount", "User"];
const VERBS: readonly string[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "proxy",
  "update",
  "watch",
];

export function* flowSchemaSpecErrors(spec: JsonObject, name: string): Generator<FieldError> {
  yield* precedenceErrors(numberAt(spec, "matchingPrecedence") ?? 0, name);
  const method = stringAt(objectAt(spec, "distinguisherMethod"), "type");
  if (spec["distinguisherMethod"] !== undefined && !DISTINGUISHER_METHODS.includes(method))
    yield unsupportedValue(
      "spec.distinguisherMethod.type",
      internalValue(spec["distinguisherMethod"], "*FlowDistinguisherMethod"),
      DISTINGUISHER_METHODS,
    );
  const level = stringAt(objectAt(spec, "priorityLevelConfiguration"), "name");
  const levelField = "spec.priorityLevelConfiguration.name";
  if (level === "") yield required(levelField, "must reference a priority level");
  else yield* nameErrors(level, levelField, dnsSubdomainErrors);
  for (const [index, rule] of objectsAt(spec, "rules").entries()) yield* ruleErrors(rule, `spec.rules[${index}]`);
}

function* precedenceErrors(precedence: number, name: string): Generator<FieldError> {
  const field = "spec.matchingPrecedence";
  if (precedence <= 0) yield invalidValue(field, precedence, "must be a positive value");
  if (precedence > PRECEDENCE_MAX) yield invalidValue(field, precedence, `must not be greater than ${PRECEDENCE_MAX}`);
  if (precedence === 1 && name !== "exempt")
    yield invalidValue(field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
}

function* ruleErrors(rule: JsonObject, field: string): Generator<FieldError> {
  const subjects = objectsAt(rule, "subjects");
  if (subjects.length === 0) yield required(`${field}.subjects`, "subjects must contain at least one value");
  for (const [index, subject] of subjects.entries()) yield* subjectErrors(subject, `${field}.subjects[${index}]`);
  const resourceRules = objectsAt(rule, "resourceRules");
  const otherRules = objectsAt(rule, "nonResourceRules");
  if (resourceRules.length === 0 && otherRules.length === 0)
    yield required(field, "at least one of resourceRules and nonResourceRules has to be non-empty");
  for (const [index, one] of resourceRules.entries())
    yield* resourceRuleErrors(one, `${field}.resourceRules[${index}]`);
  for (const [index, one] of otherRules.entries())
    yield* nonResourceRuleErrors(one, `${field}.nonResourceRules[${index}]`);
}

/**
 * Keyed by subject kind: the field that identifies the subject, then the fields that are forbidden for this kind, in
 * the order in which kubernetes checks them.
 */
const SUBJECT_MEMBERS: ReadonlyMap<string, readonly [own: string, ...others: string[]]> = new Map([
  ["ServiceAccount", ["serviceAccount", "user", "group"]],
  ["User", ["user", "serviceAccount", "group"]],
  ["Group", ["group", "serviceAccount", "user"]],
]);

function* subjectErrors(subject: JsonObject, field: string): Generator<FieldError> {
  const kind = stringAt(subject, "kind");
  const members = SUBJECT_MEMBERS.get(kind);
  if (members === undefined) {
    yield unsupportedValue(`${field}.kind`, kind, SUBJECT_KINDS);
    return;
  }
  const [own, ...others] = members;
  if (subject[own] === undefined)
    yield required(`${field}.${own}`, `${own} is required when subject kind is '${kind}'`);
  else yield* namedErrors(objectAt(subject, own), `${field}.${own}`, kind);
  for (const other of others)
    if (subject[other] !== undefined)
      yield forbiddenField(
        `${field}.${other}`,
        `${other} is forbidden when subject kind is not '${other.charAt(0).toUpperCase()}${other.slice(1)}'`,
      );
}

function* namedErrors(subject: JsonObject, field: string, kind: string): Generator<FieldError> {
  const name = stringAt(subject, "name");
  if (name === "") yield required(`${field}.name`);
  if (kind !== "ServiceAccount") return;
  if (name !== "" && name !== "*") yield* nameErrors(name, `${field}.name`, dnsSubdomainErrors);
  const namespace = stringAt(subject, "namespace");
  if (namespace === "") yield required(`${field}.namespace`, "must specify namespace for service account");
  else yield* nameErrors(namespace, `${field}.namespace`, dnsLabelErrors);
}

function* verbErrors(rule: JsonObject, field: string): Generator<FieldError> {
  const verbs = stringsAt(rule, "verbs");
  if (verbs.length === 0) yield required(`${field}.verbs`, "verbs must contain at least one value");
  else if (verbs.includes("*")) yield* loneWildcardErrors(verbs, `${field}.verbs`, "verbs");
  else if (!verbs.every((verb) => VERBS.includes(verb))) yield unsupportedValue(`${field}.verbs`, verbs, VERBS);
}

function* loneWildcardErrors(values: readonly string[], field: string, what: string): Generator<FieldError> {
  if (values.length > 1 && values.includes("*"))
    yield invalidValue(field, values, `if '*' is present, must not specify other ${what}`);
}

function* resourceRuleErrors(rule: JsonObject, field: string): Generator<FieldError> {
  yield* verbErrors(rule, field);
  const groups = stringsAt(rule, "apiGroups");
  if (groups.length === 0) yield required(`${field}.apiGroups`, "resource rules must supply at least one api group");
  yield* loneWildcardErrors(groups, `${field}.apiGroups`, "api groups");
  const resources = stringsAt(rule, "resources");
  if (resources.length === 0) yield required(`${field}.resources`, "resource rules must supply at least one resource");
  yield* loneWildcardErrors(resources, `${field}.resources`, "resources");
  yield* namespaceErrors(stringsAt(rule, "namespaces"), `${field}.namespaces`, rule["clusterScope"] === true);
}

function* namespaceErrors(
  namespaces: readonly string[],
  field: string,
  isClusterScoped: boolean,
): Generator<FieldError> {
  if (namespaces.length === 0 && !isClusterScoped)
    yield required(field, "resource rules that are not cluster scoped must supply at least one namespace");
  else if (namespaces.includes("*")) yield* loneWildcardErrors(namespaces, field, "namespaces");
  else
    for (const [index, namespace] of namespaces.entries())
      for (const sentence of dnsLabelErrors(namespace))
        yield invalidValue(
          `${field}[${index}]`,
          namespace,
          `each member of this list must be '*' or a DNS-1123 label; ${sentence}`,
        );
}

function* nonResourceRuleErrors(rule: JsonObject, field: string): Generator<FieldError> {
  yield* verbErrors(rule, field);
  const urls = stringsAt(rule, "nonResourceURLs");
  const at = `${field}.nonResourceURLs`;
  if (urls.length === 0) yield required(at, "nonResourceURLs must contain at least one value");
  else if (urls.includes("*")) yield* loneWildcardErrors(urls, at, "non-resource URLs");
  else
    for (const [index, url] of urls.entries()) {
      const problem = pathProblem(url);
      if (problem !== undefined) yield invalidValue(`${at}[${index}]`, url, problem);
    }
}

function pathProblem(path: string): string | undefined {
  if (path === "") return "must not be empty";
  if (path === "/") return undefined;
  if (!path.startsWith("/")) return "must start with slash";
  if (path.includes(" ")) return "must not contain white-space";
  if (path.includes("//")) return "must not contain double slash";
  const wildcard = path.indexOf("*");
  const isSuffix = wildcard === path.length - 1 && path.endsWith("/*");
  return wildcard < 0 || isSuffix ? undefined : "wildcard can only do suffix matching";
}
