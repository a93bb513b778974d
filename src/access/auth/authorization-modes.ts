/** Creates the authorizers of the configured modes, and the watches on roles and bindings that RBAC needs. */
import type { Authorization, RulesOf } from "./authorization.ts";
import type { AuthorizationDecision } from "./authorize.ts";
import { withPrivilegedGroups } from "./rbac/privileged-groups.ts";
import { createRbac, type RuleResolver } from "./rbac/rbac.ts";
import { whenReset, type ObjectTable } from "../../meta/object-table.ts";
import type { BackgroundTask } from "../../base/background.ts";
import { watchObjects, type StoredObjectParts } from "../../serving/resources/stored-objects.ts";

export const AUTHORIZATION_MODES = ["AlwaysAllow", "AlwaysDeny", "RBAC", "Node"] as const;
export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number];

export interface ConfiguredAuthorization {
  readonly authorization: Authorization;
  /** Resolves the rules of roles, even if RBAC is not an enabled mode. */
  readonly resolver: RuleResolver;
  readonly tasks: readonly BackgroundTask[];
  /** True after all stored roles and bindings have been read. */
  isLoaded(): boolean;
}

const RBAC_GROUP = "rbac.authorization.k8s.io";

export function createAuthorization(
  parts: StoredObjectParts,
  modes: readonly AuthorizationMode[],
): ConfiguredAuthorization {
  const rbac = createRbac();
  const due = new Set(["roles", "clusterroles", "rolebindings", "clusterrolebindings"]);
  const follow = (resource: string, table: ObjectTable): BackgroundTask[] => {
    const task = watchObjects(
      parts,
      { group: RBAC_GROUP, resource },
      whenReset(table, () => due.delete(resource)),
    );
    // The watch of a resource that is not served never syncs, so it is not waited for.
    if (task === undefined) due.delete(resource);
    return task === undefined ? [] : [task];
  };
  return {
    authorization: withPrivilegedGroups(inOrder(modes.map((mode) => authorizationOf(mode, rbac.authorization)))),
    resolver: rbac.resolver,
    tasks: [
      ...follow("roles", rbac.roles),
      ...follow("clusterroles", rbac.clusterRoles),
      ...follow("rolebindings", rbac.roleBindings),
      ...follow("clusterrolebindings", rbac.clusterRoleBindings),
    ],
    isLoaded: () => due.size === 0,
  };
}

const ALLOWED: AuthorizationDecision = { allowed: true, reason: "" };
const DENIED: AuthorizationDecision = { allowed: false, reason: "Everything is forbidden." };
const NO_OPINION: AuthorizationDecision = { allowed: false, reason: "" };
const EVERYTHING: RulesOf = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
  evaluationError: "",
};
const NOTHING: RulesOf = { resourceRules: [], nonResourceRules: [], incomplete: false, evaluationError: "" };

function authorizationOf(mode: AuthorizationMode, rbac: Authorization): Authorization {
  switch (mode) {
    case "AlwaysAllow":
      return { authorize: () => ALLOWED, rulesFor: () => EVERYTHING };
    case "AlwaysDeny":
      return { authorize: () => DENIED, rulesFor: () => NOTHING };
    case "RBAC":
      return rbac;
    // DIFFERS: kubelets get no permissions by their names. The mode is accepted, because it can only allow requests.
    case "Node":
      return { authorize: () => NO_OPINION, rulesFor: () => NOTHING };
  }
}

/** Allows a request if any mode allows it. Otherwise the reason joins the reasons of all modes. */
function inOrder(all: readonly Authorization[]): Authorization {
  const [only] = all;
  if (all.length === 1 && only !== undefined) return only;
  return {
    authorize(user, asked) {
      const reasons: string[] = [];
      for (const { authorize } of all) {
        const decision = authorize(user, asked);
        if (decision.allowed) return decision;
        if (decision.reason !== "") reasons.push(decision.reason);
      }
      return { allowed: false, reason: reasons.join("\n") };
    },
    rulesFor(user, namespace) {
      const rules = all.map((one) => one.rulesFor(user, namespace));
      return {
        resourceRules: rules.flatMap(({ resourceRules }) => resourceRules),
        nonResourceRules: rules.flatMap(({ nonResourceRules }) => nonResourceRules),
        incomplete: rules.some(({ incomplete }) => incomplete),
        evaluationError: rules
          .map(({ evaluationError }) => evaluationError)
          .filter((text) => text !== "")
          .join(", "),
      };
    },
  };
}
