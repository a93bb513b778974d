/** Parses the rules of a role. Tolerates invalid data, which an older server may have stored. */
import { goQuote } from "../../../meta/go-quote.ts";
import { isJsonObject, stringsAt, type JsonObject } from "../../../meta/json.ts";

/** The rule of a role. Absent lists are empty. */
export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Empty if the rule applies to all names. */
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

/** Formats a rule for error messages, as kubernetes does. */
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

/** Formats a list of strings like Go's %q. */
export function quotedList(values: readonly string[]): string {
  return `[${values.map(goQuote).join(" ")}]`;
}

/** The path without its trailing stars; undefined if it does not end in a star. */
export function pathPrefix(path: string): string | undefined {
  let end = path.length;
  while (end > 0 && path[end - 1] === ALL) end--;
  return end === path.length ? undefined : path.slice(0, end);
}
