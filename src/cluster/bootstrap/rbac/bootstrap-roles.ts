/**
 * The default roles and bindings, as objects that the server ensures. Without them only members of system:masters have
 * permissions.
 */
import { RBAC_GROUP } from "../../../access/auth/rbac/policy-rule.ts";
import type { JsonObject } from "../../../meta/json.ts";
import type { OwnedObject } from "../owned-object.ts";
import type { ServedAt, Serves } from "../served-version.ts";
import { bindings, CONTROLLER_PREFIX, type BindingData } from "./bindings.ts";
import { AGGREGATED_INTO, AGGREGATED_ROLES, CLUSTER_ROLES } from "./cluster-roles.ts";
import { controllerRoles } from "./controller-roles.ts";
import { NAMESPACED_ROLES } from "./namespaced-roles.ts";
import { EVENKEEL_ROLES } from "./evenkeel-roles.ts";
import { AUTO_UPDATE, bindingCorrection, mustBeReplaced, roleCorrection } from "./reconcile.ts";

const LABELS: JsonObject = { "kubernetes.io/bootstrapping": "rbac-defaults" };

export function bootstrapRoles(serves: Serves): OwnedObject[] {
  return [
    ...clusterRoles(serves),
    ...namespacedRoles(serves),
    ...bindings(serves).flatMap((data) => binding(serves, data)),
  ];
}

function clusterRoles(serves: Serves): OwnedObject[] {
  const at = serves(RBAC_GROUP, "clusterroles");
  if (at === undefined) return [];
  return [
    ...AGGREGATED_ROLES.map((name) =>
      role(at, { name, labels: aggregationLabels(name), rules: null, aggregationRule: gatheredFor(name) }),
    ),
    ...Object.entries({ ...CLUSTER_ROLES, ...EVENKEEL_ROLES }).map(([name, rules]) =>
      role(at, { name, labels: aggregationLabels(name), rules }),
    ),
    ...Object.entries(controllerRoles(serves)).map(([name, rules]) =>
      role(at, { name: `${CONTROLLER_PREFIX}${name}`, labels: {}, rules }),
    ),
  ];
}

function namespacedRoles(serves: Serves): OwnedObject[] {
  return Object.entries(NAMESPACED_ROLES).flatMap(([namespace, roles]) => {
    const at = serves(RBAC_GROUP, "roles", namespace);
    if (at === undefined) return [];
    return Object.entries(roles).map(([name, rules]) => role(at, { name, labels: {}, rules }));
  });
}

const aggregationLabel = (into: string): JsonObject => ({ [`rbac.authorization.k8s.io/aggregate-to-${into}`]: "true" });

function aggregationLabels(name: string): JsonObject {
  const into = AGGREGATED_INTO[name];
  return into === undefined ? {} : aggregationLabel(into);
}

function gatheredFor(name: string): JsonObject {
  return { clusterRoleSelectors: [{ matchLabels: aggregationLabel(name) }] };
}

interface RoleData {
  readonly name: string;
  readonly labels: JsonObject;
  readonly rules: readonly JsonObject[] | null;
  readonly aggregationRule?: JsonObject;
}

function role(at: ServedAt, { name, labels, rules, aggregationRule }: RoleData): OwnedObject {
  const object: JsonObject = {
    apiVersion: at.apiVersion,
    kind: at.namespace === "" ? "ClusterRole" : "Role",
    metadata: metadata(at, name, labels),
    rules,
    ...(aggregationRule === undefined ? {} : { aggregationRule }),
  };
  return { at, object, correct: (existing) => roleCorrection(object, existing) };
}

function binding(serves: Serves, { name, namespace, role: referred, subjects }: BindingData): OwnedObject[] {
  const isNamespaced = namespace !== "";
  const at = isNamespaced ? serves(RBAC_GROUP, "rolebindings", namespace) : serves(RBAC_GROUP, "clusterrolebindings");
  if (at === undefined) return [];
  const object: JsonObject = {
    apiVersion: at.apiVersion,
    kind: isNamespaced ? "RoleBinding" : "ClusterRoleBinding",
    metadata: metadata(at, name, {}),
    roleRef: { apiGroup: RBAC_GROUP, kind: isNamespaced ? "Role" : "ClusterRole", name: referred },
    ...(subjects.length === 0 ? {} : { subjects }),
  };
  return [
    {
      at,
      object,
      correct: (existing) => bindingCorrection(object, existing),
      isToBeReplaced: (existing) => mustBeReplaced(object, existing),
    },
  ];
}

function metadata({ namespace }: ServedAt, name: string, labels: JsonObject): JsonObject {
  return {
    name,
    ...(namespace === "" ? {} : { namespace }),
    annotations: { [AUTO_UPDATE]: "true" },
    labels: { ...LABELS, ...labels },
  };
}
