/** Evaluates the audit policy: the first rule that matches a request determines its level. Pure. */
import type { AccessAttributes } from "../auth/authorize.ts";
import type { User } from "../auth/user.ts";

/** The levels in ascending order. */
export const LEVELS = ["None", "Metadata", "Request", "RequestResponse"] as const;
export type AuditLevel = (typeof LEVELS)[number];

export const STAGES = ["RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"] as const;
export type AuditStage = (typeof STAGES)[number];

export interface GroupResources {
  /** The API group: "" for the core group, "*" for all groups. */
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

export interface AuditRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly GroupResources[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  /** Undefined if the value of the policy applies. */
  readonly omitManagedFields: boolean | undefined;
}

export interface AuditPolicy {
  readonly rules: readonly AuditRule[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

export interface AuditDecision {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

export function isAtLeast(level: AuditLevel, wanted: AuditLevel): boolean {
  return LEVELS.indexOf(level) >= LEVELS.indexOf(wanted);
}

export type EvaluatePolicy = (user: User | undefined, asked: AccessAttributes) => AuditDecision;

/** The returned function receives no user if authentication failed; then only rules without users and groups match. */
export function policyEvaluator(policy: AuditPolicy): EvaluatePolicy {
  const { omitStages, omitManagedFields } = policy;
  const unmatched: AuditDecision = { level: "None", omitStages: new Set(omitStages), omitManagedFields };
  const rules = policy.rules.map((rule) => ({
    rule,
    decision: {
      level: rule.level,
      omitStages: new Set([...omitStages, ...rule.omitStages]),
      omitManagedFields: rule.omitManagedFields ?? omitManagedFields,
    },
  }));
  return (user, asked) => rules.find(({ rule }) => isMatch(rule, user, asked))?.decision ?? unmatched;
}

function isMatch(rule: AuditRule, user: User | undefined, asked: AccessAttributes): boolean {
  const { users, userGroups, verbs, namespaces, resources, nonResourceURLs } = rule;
  if (users.length > 0 && (user === undefined || !users.includes(user.name))) return false;
  if (userGroups.length > 0 && !(user?.groups.some((group) => userGroups.includes(group)) ?? false)) return false;
  if (verbs.length > 0 && !verbs.includes(asked.verb)) return false;
  if (namespaces.length > 0 || resources.length > 0) return isResourceMatch(rule, asked);
  if (nonResourceURLs.length === 0) return true;
  return !asked.isResourceRequest && nonResourceURLs.some((url) => isPathMatch(url, asked.path));
}

function isResourceMatch({ namespaces, resources }: AuditRule, asked: AccessAttributes): boolean {
  if (!asked.isResourceRequest) return false;
  if (namespaces.length > 0 && !namespaces.includes(auditedNamespace(asked))) return false;
  return resources.length === 0 || resources.some((one) => isGroupMatch(one, asked));
}

/** As kubernetes: the namespace of a Namespace object is its own name. */
export function auditedNamespace({ resource, namespace, name }: AccessAttributes): string {
  return resource === "namespaces" && namespace === "" ? name : namespace;
}

function isGroupMatch({ group, resources, resourceNames }: GroupResources, asked: AccessAttributes): boolean {
  if (group !== "*" && group !== asked.group) return false;
  if (resources.length === 0) return true;
  if (resourceNames.length > 0 && !resourceNames.includes(asked.name)) return false;
  return resources.some((resource) => isNamed(resource, asked));
}

function isNamed(wanted: string, { resource, subresource }: AccessAttributes): boolean {
  if (wanted === "*" || wanted === (subresource === "" ? resource : `${resource}/${subresource}`)) return true;
  if (subresource !== "" && wanted.startsWith("*/") && wanted.slice(2) === subresource) return true;
  return wanted.endsWith("/*") && wanted.slice(0, -2) === resource;
}

function isPathMatch(wanted: string, path: string): boolean {
  if (wanted === "*" || wanted === path) return true;
  return wanted.endsWith("*") && path.startsWith(wanted.slice(0, -1));
}
