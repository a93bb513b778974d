/** Prevents privilege escalation: checks that the author of a role or binding has every permission that it grants. */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { formatGroupResource, type GroupResource } from "../../../meta/group-version.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest, forbidden, notFound, StatusError } from "../../../meta/status-error.ts";
import type { Authorizer } from "../authorize.ts";
import type { User } from "../user.ts";
import { readRoleRef, type RoleRef } from "./bindings.ts";
import { compacted, uncovered } from "./escalation.ts";
import { ALL, compactText, policyRules, quotedList, RBAC_GROUP, type PolicyRule } from "./policy-rule.ts";
import { SYSTEM_MASTERS } from "./privileged-groups.ts";
import type { RuleResolver } from "./rbac.ts";
import { isSameButForOwnership } from "./ownership.ts";

export interface RoleWrite {
  readonly user: User;
  readonly authorize: Authorizer;
  readonly resolver: RuleResolver;
  /** Reads a role from the store. Called before a binding is rejected because the cache does not contain its role. */
  readonly newest: (resource: GroupResource, namespace: string, name: string) => Promise<JsonObject | undefined>;
  /** The written resource of the group rbac.authorization.k8s.io. */
  readonly resource: "roles" | "clusterroles" | "rolebindings" | "clusterrolebindings";
  /** The namespace in the request path; empty for cluster-scoped requests. */
  readonly namespace: string;
  /** The name in the request path; empty for a POST. */
  readonly name: string;
  readonly object: JsonObject;
  /** Undefined for a create. */
  readonly existing: JsonObject | undefined;
}

const CHECKED: readonly RoleWrite["resource"][] = ["roles", "clusterroles", "rolebindings", "clusterrolebindings"];

/** The resource if its writes are checked; undefined if they grant no permissions. */
export function checkedResource({ group, resource }: GroupResource): RoleWrite["resource"] | undefined {
  return group === RBAC_GROUP ? CHECKED.find((checked) => checked === resource) : undefined;
}

/** Throws a StatusError if the write would grant permissions that the user does not have. */
export async function checkRoleWrite(write: RoleWrite): Promise<void> {
  const { user, resource, object, existing } = write;
  if (user.groups.includes(SYSTEM_MASTERS)) return;
  const isRole = resource === "roles" || resource === "clusterroles";
  if (isRole && mayEscalate(write)) return;
  if (existing !== undefined && isSameButForOwnership(object, existing)) return;
  if (isRole) checkRole(write);
  else await checkBinding(write);
}

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: [ALL], apiGroups: [ALL], resources: [ALL], resourceNames: [], nonResourceURLs: [] },
  { verbs: [ALL], apiGroups: [], resources: [], resourceNames: [], nonResourceURLs: [ALL] },
];

function checkRole(write: RoleWrite): void {
  const { object, existing } = write;
  const escalation = escalationText(write, policyRules(object));
  if (escalation !== undefined) throw escalationError(write, escalation);
  const isAggregated = hasAggregationRule(object) || (existing !== undefined && hasAggregationRule(existing));
  if (write.resource !== "clusterroles" || !isAggregated) return;
  // The aggregation controller can add any rule to such a role, so the user must have all permissions.
  if (escalationText(write, EVERYTHING) !== undefined)
    throw escalationError(write, "must have cluster-admin privileges to use the aggregationRule");
}

function hasAggregationRule(role: JsonObject): boolean {
  const { clusterRoleSelectors } = objectAt(role, "aggregationRule");
  return Array.isArray(clusterRoleSelectors) && clusterRoleSelectors.length > 0;
}

async function checkBinding(write: RoleWrite): Promise<void> {
  const ref = readRoleRef(write.object);
  if (mayBind(write, ref)) return;
  const escalation = escalationText(write, await referencedRules(write, ref));
  if (escalation !== undefined) throw escalationError(write, escalation);
}

async function referencedRules(write: RoleWrite, ref: RoleRef): Promise<readonly PolicyRule[]> {
  const { resolver, newest, namespace } = write;
  const resource = roleResource(ref);
  // As kubernetes: this check precedes validation, which would also reject the reference.
  if (resource === undefined) throw new StatusError("", `unsupported role reference kind: ${goQuote(ref.kind)}`);
  if (ref.kind === "Role" && namespace === "") throw badRequest("Namespace parameter required.");
  const known = resolver.roleRules(ref, namespace);
  if (known !== undefined) return known;
  const role = await newest(resource, ref.kind === "Role" ? namespace : "", ref.name);
  // As kubernetes: the message about the missing role names the resource of the written object.
  if (role === undefined) throw notFound(writtenResource(write), ref.name);
  return policyRules(role);
}

function roleResource({ kind }: RoleRef): GroupResource | undefined {
  if (kind === "Role") return { group: RBAC_GROUP, resource: "roles" };
  return kind === "ClusterRole" ? { group: RBAC_GROUP, resource: "clusterroles" } : undefined;
}

function mayEscalate({ user, authorize, resource, namespace, name }: RoleWrite): boolean {
  return authorize(user, { ...ASKED, verb: "escalate", group: RBAC_GROUP, resource, namespace, name }).allowed;
}

function mayBind({ user, authorize, namespace }: RoleWrite, ref: RoleRef & { readonly apiGroup: string }): boolean {
  const resource = roleResource(ref)?.resource;
  if (resource === undefined) return false;
  const asked = { ...ASKED, verb: "bind", group: ref.apiGroup, resource, namespace, name: ref.name };
  return authorize(user, asked).allowed;
}

const ASKED = { isResourceRequest: true, version: ALL, subresource: "", path: "" } as const;

/** The error message about missing permissions; undefined if the user has all permissions of the rules. */
function escalationText(write: RoleWrite, rules: readonly PolicyRule[]): string | undefined {
  const { user, resolver, namespace } = write;
  const { rules: held, unresolved } = resolver.policyRulesFor(user, namespace);
  const { missing, isComplete } = uncovered(held, rules);
  if (missing.length === 0 && isComplete) return undefined;
  const lines = [...new Set(compacted(missing).map(compactText))].sort();
  // DIFFERS: kubernetes compares all permissions. Here, a write with too many permissions to compare is rejected.
  if (!isComplete) lines.push("...");
  const who = `user ${goQuote(user.name)} (groups=${quotedList(user.groups)})`;
  const errors = unresolved.map((ref) => unresolvedError(write, ref));
  const because = errors.length === 0 ? "" : `; resolution errors: [${aggregateText(errors)}]`;
  return `${who} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}${because}`;
}

function unresolvedError(write: RoleWrite, ref: RoleRef): string {
  return roleResource(ref) === undefined
    ? `unsupported role reference kind: ${goQuote(ref.kind)}`
    : `${formatGroupResource(writtenResource(write))} ${goQuote(ref.name)} not found`;
}

function writtenResource({ resource }: RoleWrite): GroupResource {
  return { group: RBAC_GROUP, resource };
}

function escalationError(write: RoleWrite, why: string): StatusError {
  return forbidden(writtenResource(write), stringAt(objectAt(write.object, "metadata"), "name"), why);
}
