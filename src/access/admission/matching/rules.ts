/** Matches writes against the rules of a webhook or policy. */
import { objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { Attributes, ServedVersion } from "../admission.ts";

/** A parsed RuleWithOperations or NamedRuleWithOperations of admissionregistration.k8s.io. */
export interface Rule {
  readonly operations: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  readonly versions: ReadonlySet<string>;
  readonly resources: readonly (readonly [resource: string, subresource: string])[];
  readonly scope: string;
  /** Empty if the rule matches all names. */
  readonly names: ReadonlySet<string>;
}

/**
 * "Equivalent", the default in kubernetes, also matches a rule that names another served version of the requested
 * resource.
 */
export type MatchPolicy = "Exact" | "Equivalent";

/** The attributes of a write that are compared with rules. */
type RuleSubject = Pick<
  Attributes,
  "operation" | "name" | "namespace" | "groupVersion" | "resource" | "subresource" | "kind" | "versions"
>;

const ANY = "*";

export function readRules(parent: JsonObject, key: string): readonly Rule[] {
  return objectsAt(parent, key).map((rule) => ({
    operations: new Set(stringsAt(rule, "operations")),
    groups: new Set(stringsAt(rule, "apiGroups")),
    versions: new Set(stringsAt(rule, "apiVersions")),
    resources: stringsAt(rule, "resources").map(splitResource),
    scope: stringAt(rule, "scope"),
    names: new Set(stringsAt(rule, "resourceNames")),
  }));
}

/**
 * Returns the requested version if any rule matches it. Otherwise, unless the policy is Exact, returns another served
 * version that the first matching rule names.
 */
export function matchRules(
  rules: readonly Rule[],
  policy: MatchPolicy,
  attributes: RuleSubject,
): ServedVersion | undefined {
  const requested = requestedVersion(attributes);
  if (rules.some((rule) => isMatch(rule, requested, attributes))) return requested;
  if (policy === "Exact") return undefined;
  const others = attributes.versions.served.filter((version) => !isSameResource(version, requested));
  for (const rule of rules) for (const version of others) if (isMatch(rule, version, attributes)) return version;
  return undefined;
}

export function requestedVersion({ groupVersion, resource, kind }: RuleSubject): ServedVersion {
  return { groupVersion, resource, kind };
}

function isMatch(rule: Rule, version: ServedVersion, attributes: RuleSubject): boolean {
  return (
    isInScope(rule.scope, version, attributes.namespace) &&
    isListed(rule.operations, attributes.operation) &&
    isListed(rule.groups, version.groupVersion.group) &&
    isListed(rule.versions, version.groupVersion.version) &&
    rule.resources.some(
      ([resource, subresource]) =>
        (resource === ANY || resource === version.resource) &&
        (subresource === ANY || subresource === attributes.subresource),
    ) &&
    (rule.names.size === 0 || rule.names.has(attributes.name))
  );
}

function isListed(items: ReadonlySet<string>, item: string): boolean {
  return items.has(ANY) || items.has(item);
}

/** In the attributes, the namespace of a Namespace is its own name, but the resource is cluster-scoped. */
function isInScope(scope: string, { groupVersion, resource }: ServedVersion, namespace: string): boolean {
  if (scope === "" || scope === ANY) return true;
  const isNamespace = groupVersion.group === "" && groupVersion.version === "v1" && resource === "namespaces";
  const isNamespaced = !isNamespace && namespace !== "";
  if (scope === "Namespaced") return isNamespaced;
  return scope === "Cluster" && !isNamespaced;
}

function isSameResource(left: ServedVersion, right: ServedVersion): boolean {
  return (
    left.resource === right.resource &&
    left.groupVersion.group === right.groupVersion.group &&
    left.groupVersion.version === right.groupVersion.version
  );
}

function splitResource(text: string): [resource: string, subresource: string] {
  const slash = text.indexOf("/");
  return slash < 0 ? [text, ""] : [text.slice(0, slash), text.slice(slash + 1)];
}
