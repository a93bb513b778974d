/** Indexes the rules of a role by resource and path, so that a decision checks only few of them. */
import type { AccessAttributes } from "../authorize.ts";
import { ALL, pathPrefix, type PolicyRule } from "./policy-rule.ts";

/** The conditions of a rule that remain to be checked after it was found by its resource or path. */
export interface RuleTerms {
  readonly verbs: ReadonlySet<string>;
  readonly apiGroups: ReadonlySet<string>;
  /** Undefined if the rule applies to all names. */
  readonly resourceNames: ReadonlySet<string> | undefined;
}

export interface RuleMatcher {
  /** Number of path prefixes. The lookup of a path checks each of them. */
  readonly pathPrefixCount: number;
  allows(asked: AccessAttributes, resource: string): boolean;
  /**
   * Calls `isWanted` for each rule of the resource until one returns true. `resource` may include a subresource, such
   * as "pods/log".
   */
  someForResource(resource: string, subresource: string | undefined, isWanted: (rule: RuleTerms) => boolean): boolean;
  someForPath(path: string, isWanted: (rule: RuleTerms) => boolean): boolean;
}

export const hasTerm = (terms: ReadonlySet<string>, value: string): boolean => terms.has(ALL) || terms.has(value);

interface RuleIndex {
  readonly everyResource: RuleTerms[];
  readonly byResource: Map<string, RuleTerms[]>;
  /** Rules for one subresource of all resources, such as "*" + "/status", keyed by the subresource. */
  readonly bySubresource: Map<string, RuleTerms[]>;
  readonly byPath: Map<string, RuleTerms[]>;
  readonly byPathPrefix: Map<string, RuleTerms[]>;
}

/** The resource with its subresource: "pods" or "pods/log". */
export function combinedResource({ resource, subresource }: AccessAttributes): string {
  return subresource === "" ? resource : `${resource}/${subresource}`;
}

export function compilePolicyRules(rules: readonly PolicyRule[]): RuleMatcher {
  const index = indexRules(rules);
  return {
    pathPrefixCount: index.byPathPrefix.size,
    allows(asked, resource) {
      if (!asked.isResourceRequest) return allowsPath(index, asked);
      const { everyResource, byResource, bySubresource } = index;
      return (
        anyAllows(everyResource, asked) ||
        anyAllows(byResource.get(resource), asked) ||
        (asked.subresource !== "" && anyAllows(bySubresource.get(asked.subresource), asked))
      );
    },
    someForResource(resource, subresource, isWanted) {
      return (
        index.everyResource.some(isWanted) ||
        (index.byResource.get(resource)?.some(isWanted) ?? false) ||
        (subresource !== undefined && (index.bySubresource.get(subresource)?.some(isWanted) ?? false))
      );
    },
    someForPath(path, isWanted) {
      if (index.byPath.get(path)?.some(isWanted) === true) return true;
      for (const [prefix, terms] of index.byPathPrefix)
        if (path.startsWith(prefix) && terms.some(isWanted)) return true;
      return false;
    },
  };
}

function indexRules(rules: readonly PolicyRule[]): RuleIndex {
  const index: RuleIndex = {
    everyResource: [],
    byResource: new Map(),
    bySubresource: new Map(),
    byPath: new Map(),
    byPathPrefix: new Map(),
  };
  for (const rule of rules) {
    const terms: RuleTerms = {
      verbs: new Set(rule.verbs),
      apiGroups: new Set(rule.apiGroups),
      resourceNames: rule.resourceNames.length === 0 ? undefined : new Set(rule.resourceNames),
    };
    for (const resource of new Set(rule.resources)) addResource(index, resource, terms);
    for (const path of new Set(rule.nonResourceURLs)) addPath(index, path, terms);
  }
  return index;
}

function addResource(index: RuleIndex, resource: string, terms: RuleTerms): void {
  if (resource === ALL) index.everyResource.push(terms);
  else {
    add(index.byResource, resource, terms);
    if (resource.startsWith("*/")) add(index.bySubresource, resource.slice(2), terms);
  }
}

function addPath(index: RuleIndex, path: string, terms: RuleTerms): void {
  const prefix = pathPrefix(path);
  if (prefix === undefined) add(index.byPath, path, terms);
  else add(index.byPathPrefix, prefix, terms);
}

function add(to: Map<string, RuleTerms[]>, key: string, terms: RuleTerms): void {
  const list = to.get(key);
  if (list === undefined) to.set(key, [terms]);
  else list.push(terms);
}

function anyAllows(rules: readonly RuleTerms[] | undefined, asked: AccessAttributes): boolean {
  if (rules === undefined) return false;
  for (const { verbs, apiGroups, resourceNames } of rules) {
    if (!hasTerm(verbs, asked.verb) || !hasTerm(apiGroups, asked.group)) continue;
    if (resourceNames === undefined || resourceNames.has(asked.name)) return true;
  }
  return false;
}

function allowsPath({ byPath, byPathPrefix }: RuleIndex, { path, verb }: AccessAttributes): boolean {
  const exact = byPath.get(path);
  if (exact !== undefined && anyHasVerb(exact, verb)) return true;
  for (const [prefix, rules] of byPathPrefix) if (path.startsWith(prefix) && anyHasVerb(rules, verb)) return true;
  return false;
}

function anyHasVerb(rules: readonly RuleTerms[], verb: string): boolean {
  for (const { verbs } of rules) if (hasTerm(verbs, verb)) return true;
  return false;
}
