/** Role-based access control: authorizes requests by the roles and bindings in the store. */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import type { ObjectTable } from "../../../meta/object-table.ts";
import type { Authorization, RulesOf } from "../authorization.ts";
import type { AccessAttributes, AuthorizationDecision } from "../authorize.ts";
import type { User } from "../user.ts";
import { BindingIndex, type BoundRole } from "./binding-index.ts";
import { describeBinding, type RoleRef } from "./bindings.ts";
import type { PolicyRule } from "./policy-rule.ts";
import { RoleIndex, unresolvedText } from "./role-index.ts";
import { combinedResource } from "./rule-matcher.ts";

export interface Rbac {
  readonly roles: ObjectTable;
  readonly clusterRoles: ObjectTable;
  readonly roleBindings: ObjectTable;
  readonly clusterRoleBindings: ObjectTable;
  readonly authorization: Authorization;
  readonly resolver: RuleResolver;
}

/** Resolves the rules of users and roles, for the escalation check of writes to roles and bindings. */
export interface RuleResolver {
  policyRulesFor(user: User, namespace: string): ResolvedRules;
  /** The rules of a role in the cache; undefined if the cache does not contain the role. */
  roleRules(ref: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
}

interface ResolvedRules {
  readonly rules: readonly PolicyRule[];
  /** References of bindings to missing roles, up to a limit. */
  readonly unresolved: readonly RoleRef[];
}

const DENIED: AuthorizationDecision = { allowed: false, reason: "" };

/** DIFFERS: kubernetes lists all missing roles. */
const UNRESOLVED_LISTED_MAX = 100;

/**
 * If a user has more rules than this, the rules of each role are listed once. DIFFERS: kubernetes always repeats them
 * for each binding of the role, so that a few large roles can exhaust the memory.
 */
const REPEATED_RULES_MAX = 1_000;

export function createRbac(): Rbac {
  const roleBook = new RoleIndex();
  const bindings = new BindingIndex(roleBook);
  const resolver: RuleResolver = {
    policyRulesFor: (user, namespace) => resolveRules(bindings.inOrder(user, namespace)),
    roleRules: (ref, namespace) => roleBook.find(ref, namespace),
  };
  return {
    roles: roleBook.table("Role"),
    clusterRoles: roleBook.table("ClusterRole"),
    roleBindings: bindings.table("RoleBinding"),
    clusterRoleBindings: bindings.table("ClusterRoleBinding"),
    authorization: {
      authorize: createAuthorizer(bindings),
      rulesFor: (user, namespace) => rulesOf(resolver.policyRulesFor(user, namespace)),
    },
    resolver,
  };
}

function createAuthorizer(bindings: BindingIndex): Authorization["authorize"] {
  let questions = 0;
  return (user, asked) => {
    const question = ++questions;
    const resource = combinedResource(asked);
    let isAnyUnresolved = false;
    const allowing = bindings.find(user, asked.namespace, (bound) => {
      const { role } = bound;
      // Each role is checked once, even if several bindings refer to it.
      if (role.lastDecision === question) return false;
      role.lastDecision = question;
      const { matcher } = role;
      if (matcher === undefined) isAnyUnresolved = true;
      return matcher !== undefined && matcher.allows(asked, resource);
    });
    if (allowing !== undefined) return allowedBy(allowing, user);
    return isAnyUnresolved ? deniedWithUnresolved(bindings, user, asked) : DENIED;
  };
}

/** A decision whose reason is computed only when it is read, because few callers read it. */
class LazyDecision implements AuthorizationDecision {
  readonly allowed: boolean;
  readonly #reason: () => string;

  constructor(allowed: boolean, reason: () => string) {
    this.allowed = allowed;
    this.#reason = reason;
  }

  get reason(): string {
    return this.#reason();
  }
}

function allowedBy(bound: BoundRole, user: User): AuthorizationDecision {
  if (bound.decision !== undefined) return bound.decision;
  const { binding } = bound;
  const decision = new LazyDecision(true, () => `RBAC: allowed by ${describeBinding(binding, user)}`);
  // If the binding has a single subject, the reason is the same for all users.
  if (binding.subjects.length === 1) bound.decision = decision;
  return decision;
}

function deniedWithUnresolved(
  bindings: BindingIndex,
  user: User,
  { namespace }: AccessAttributes,
): AuthorizationDecision {
  return new LazyDecision(false, () => {
    const { unresolved } = resolveRules(bindings.inOrder(user, namespace));
    return unresolved.length === 0 ? "" : `RBAC: ${aggregateText(unresolved.map(unresolvedText))}`;
  });
}

function resolveRules(bound: readonly BoundRole[]): ResolvedRules {
  const unresolved = bound.filter(({ role }) => role.rules === undefined).map(({ role }) => role.ref);
  const roles = bound.map(({ role }) => role);
  const count = roles.reduce((sum, { rules }) => sum + (rules?.length ?? 0), 0);
  // Above the limit, the rules of each role are listed once.
  const reported = count > REPEATED_RULES_MAX ? [...new Set(roles)] : roles;
  return {
    rules: reported.flatMap(({ rules }) => rules ?? []),
    unresolved: unresolved.slice(0, UNRESOLVED_LISTED_MAX),
  };
}

function rulesOf({ rules, unresolved }: ResolvedRules): RulesOf {
  return {
    resourceRules: rules
      .filter(({ resources }) => resources.length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length === 0 ? {} : { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(({ nonResourceURLs }) => nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
    evaluationError: unresolved.length === 0 ? "" : aggregateText(unresolved.map(unresolvedText)),
  };
}
