/** Reads the rules of a role from its object. Tolerates invalid data, which older servers may have stored. */
import { goQuote } from "../../../meta/go-quote.ts";
import { isJsonObject, stringsAt, type JsonObject } from "../../../meta/json.ts";

/** An absent list is read as an empty one. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Empty: all names. */
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export const RBAC_GROUP = "rbac.authorization.k8s.io";

/** The wildcard for verbs, groups, resources and paths. */
export const ALL = "*";

const NO_RULES: readonly PolicyRule[] = [];

export function policyRules(role: JsonObject): readonly PolicyRule[] {
  const { rules } = role;
  if (!Array.isArray(rules)) return NO_RULES;
  return rules.filter(isJsonObject).map((rule) => ({
    verbs: stringsAt(rule, "verbs"),
    apiGroups: stringsAt(rule, "apiGroups"),
    resources: stringsAt(rule, "resources"),
    resourceNames: stringsAt(rule, "resourceNames"),
    nonResourceURLs: stringsAt(rule, "nonResourceURLs"),
  }));
}

/** A rule as error messages show it. */
export function compactText(rule: PolicyRule): string {
  const members: [name: string, values: readonly string[]][] = [
    ["APIGroups", rule.apiGroups],
    ["Resources", rule.resources],
    ["NonResourceURLs", rule.nonResourceURLs],
    ["ResourceNames", rule.resourceNames],
    ["Verbs", rule.verbs],
  ];
  const shown = members.flatMap(([name, values]) => (values.length === 0 ? [] : [`${name}:${quotedList(values)}`]));
  return `{${shown.join(", ")}}`;
}

/** A list of strings in Go's %q format. */
export function quotedList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(" ")}]`;
}

/** The prefix of a path that ends in stars; undefined for a path without a wildcard. */
export function pathPrefix(path: string): string | undefined {
  let end = path.length;
  while (end > 0 && path[end - 1] === ALL) end--;
  return end === path.length ? undefined : path.slice(0, end);
}
