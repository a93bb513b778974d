/** Finds the permissions that a role would grant and that its author does not have, to prevent privilege escalation. */
import { ALL, type PolicyRule } from "./policy-rule.ts";
import { compilePolicyRules, hasTerm, type RuleMatcher, type RuleTerms } from "./rule-matcher.ts";

interface Coverage {
  /** The missing permissions, each with one verb and one resource or path. */
  readonly missing: readonly PolicyRule[];
  /**
   * False if the comparison was ended at a limit, so that more permissions may be missing. DIFFERS: kubernetes compares
   * without a limit.
   */
  readonly isComplete: boolean;
}

/**
 * Maximum number of comparisons, which takes about 0.1 s. A rule of a few kilobytes can contain billions of
 * permissions.
 */
const WORK_MAX = 500_000;

/** Comparing long names takes longer, so this many characters count as one more comparison. */
const CHARACTERS_PER_WORK = 64;

/** Maximum number of missing permissions, because the error message lists all of them. */
const MISSING_MAX = 10_000;
const MISSING_CHARACTERS_MAX = 1_000_000;

export function uncovered(owned: readonly PolicyRule[], wanted: readonly PolicyRule[]): Coverage {
  const matcher = compilePolicyRules(owned);
  const ownsAll = { resources: ownsEveryResource(owned), paths: ownsEveryPath(owned) };
  const missing: PolicyRule[] = [];
  let work = 0;
  let characters = 0;
  const counting: Counting = (isMet) => (rule) => ++work <= WORK_MAX && isMet(rule);
  for (const rule of wanted) {
    for (const atom of atoms(rule, ownsAll)) {
      work += workFor(atom, matcher);
      const isHeld = work <= WORK_MAX && holds(matcher, atom, counting);
      if (work > WORK_MAX || missing.length === MISSING_MAX || characters > MISSING_CHARACTERS_MAX)
        return { missing, isComplete: false };
      if (isHeld) continue;
      missing.push(atom);
      characters += charactersOf(atom);
    }
  }
  return { missing, isComplete: true };
}

function workFor({ resources, nonResourceURLs }: PolicyRule, { pathPrefixCount }: RuleMatcher): number {
  const [path] = nonResourceURLs;
  if (path !== undefined) return (1 + pathPrefixCount) * (1 + path.length / CHARACTERS_PER_WORK);
  return 1 + (resources[0]?.length ?? 0) / CHARACTERS_PER_WORK;
}

function charactersOf({ apiGroups, resources, verbs, resourceNames, nonResourceURLs }: PolicyRule): number {
  let characters = 0;
  for (const values of [apiGroups, resources, verbs, resourceNames, nonResourceURLs])
    for (const value of values) characters += value.length;
  return characters;
}

/**
 * The single permissions of a rule: one verb for one resource and name, or for one path. Omits resources or paths if
 * the user has all permissions for them.
 */
function* atoms(rule: PolicyRule, owned: { resources: boolean; paths: boolean }): Generator<PolicyRule> {
  if (!owned.resources) {
    for (const group of rule.apiGroups) for (const resource of rule.resources) yield* atomsFor(rule, group, resource);
  }
  if (!owned.paths) {
    for (const path of rule.nonResourceURLs)
      for (const verb of rule.verbs)
        yield { apiGroups: [], resources: [], verbs: [verb], resourceNames: [], nonResourceURLs: [path] };
  }
}

function* atomsFor(rule: PolicyRule, group: string, resource: string): Generator<PolicyRule> {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  for (const verb of rule.verbs)
    for (const resourceNames of names)
      yield { apiGroups: [group], resources: [resource], verbs: [verb], resourceNames, nonResourceURLs: [] };
}

function ownsEveryResource(rules: readonly PolicyRule[]): boolean {
  return rules.some(
    ({ verbs, apiGroups, resources, resourceNames }) =>
      resourceNames.length === 0 && verbs.includes(ALL) && apiGroups.includes(ALL) && resources.includes(ALL),
  );
}

function ownsEveryPath(rules: readonly PolicyRule[]): boolean {
  return rules.some(
    ({ verbs, nonResourceURLs, resourceNames }) =>
      resourceNames.length === 0 && verbs.includes(ALL) && nonResourceURLs.includes(ALL),
  );
}

type Counting = (isMet: (rule: RuleTerms) => boolean) => (rule: RuleTerms) => boolean;

function holds(matcher: RuleMatcher, atom: PolicyRule, counting: Counting): boolean {
  const { apiGroups, resources, verbs, resourceNames, nonResourceURLs } = atom;
  const [verb = ""] = verbs;
  const [path] = nonResourceURLs;
  if (path !== undefined)
    return matcher.someForPath(
      path,
      counting((rule) => rule.resourceNames === undefined && hasTerm(rule.verbs, verb)),
    );
  const [group = ""] = apiGroups;
  const [resource = ""] = resources;
  const [name] = resourceNames;
  const slash = resource.indexOf("/");
  return matcher.someForResource(
    resource,
    slash < 0 ? undefined : resource.slice(slash + 1),
    counting(
      (rule) =>
        hasTerm(rule.verbs, verb) &&
        hasTerm(rule.apiGroups, group) &&
        (rule.resourceNames === undefined || (name !== undefined && rule.resourceNames.has(name))),
    ),
  );
}

/** Merges rules for the same resource and name that differ only in their verbs. */
export function compacted(rules: readonly PolicyRule[]): PolicyRule[] {
  const others: PolicyRule[] = [];
  const byResource = new Map<string, { readonly rule: PolicyRule; readonly verbs: string[] }>();
  for (const rule of rules) {
    const { apiGroups, resources, resourceNames, nonResourceURLs, verbs } = rule;
    const isSimple =
      nonResourceURLs.length === 0 && apiGroups.length === 1 && resources.length === 1 && resourceNames.length <= 1;
    if (!isSimple) {
      others.push(rule);
      continue;
    }
    const key = JSON.stringify([apiGroups, resources, resourceNames]);
    const same = byResource.get(key);
    if (same === undefined) byResource.set(key, { rule, verbs: [...verbs] });
    else for (const verb of verbs) same.verbs.push(verb);
  }
  return [...others, ...[...byResource.values()].map(({ rule, verbs }) => ({ ...rule, verbs }))];
}
