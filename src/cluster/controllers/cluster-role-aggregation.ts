/**
 * Sets the rules of a cluster role with an aggregation rule to the rules of all cluster roles that its selectors
 * select.
 */
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { ResourceType, UnstructuredObject } from "../../client/objects.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject, objectsAt } from "../../meta/json.ts";
import { informerSource, type KeySource } from "../controller-runtime/controller.ts";

interface ClusterRoleAggregationController {
  readonly name: "clusterrole-aggregation-controller";
  readonly reconcile: (name: string, signal: AbortSignal) => Promise<undefined>;
  sources(): readonly KeySource[];
}

const NAME = "clusterrole-aggregation-controller";
const CLUSTER_ROLES: ResourceType = {
  group: "rbac.authorization.k8s.io",
  version: "v1",
  resource: "clusterroles",
  namespaced: false,
};
/** The name of the index of roles with an aggregation rule. */
const AGGREGATED = "aggregated";

export function createClusterRoleAggregationController(options: {
  readonly client: Client;
  readonly log: Log;
}): ClusterRoleAggregationController {
  const { client, log } = options;
  const clusterRoles = client.resource<UnstructuredObject>(CLUSTER_ROLES);
  const onError = (thrown: unknown): void => log.warn("cluster role watch failed", { error: messageOf(thrown) });
  let roles: Informer<UnstructuredObject> | undefined;
  return {
    name: NAME,
    sources() {
      const followed = client.informer<UnstructuredObject>(CLUSTER_ROLES, {
        indexes: { [AGGREGATED]: (role) => (isJsonObject(role["aggregationRule"]) ? [AGGREGATED] : []) },
        onError,
      });
      roles = followed;
      // Any aggregated role may select the changed role, so each change enqueues all aggregated roles.
      return [informerSource(followed, () => followed.byIndex(AGGREGATED, AGGREGATED).map(nameOf))];
    },
    async reconcile(name, signal) {
      const role = roles?.get({ name });
      if (roles === undefined || role === undefined || !isJsonObject(role["aggregationRule"])) return;
      const rules = gatheredRules(role, roles.list());
      if (isSameRules(rules, objectsAt(role, "rules"))) return;
      const applied: UnstructuredObject = {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRole",
        metadata: { name },
        ...(rules.length === 0 ? {} : { rules }),
      };
      await clusterRoles.apply(applied, { fieldManager: NAME, force: true, signal });
    },
  };
}

/** The rules of the selected roles: selector by selector, in the order of the role names, each rule once. */
function gatheredRules(role: UnstructuredObject, roles: readonly UnstructuredObject[]): JsonObject[] {
  const others = roles
    .filter((other) => nameOf(other) !== nameOf(role))
    .sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
  const gathered = new Map<string, JsonObject>();
  for (const selector of objectsAt(objectAt(role, "aggregationRule"), "clusterRoleSelectors")) {
    const isSelected = selectorOf(selector);
    const selected = others.filter((other) => isSelected(objectAt(objectAt(other, "metadata"), "labels")));
    for (const rule of selected.flatMap((other) => objectsAt(other, "rules"))) {
      const key = ruleKey(rule);
      if (!gathered.has(key)) gathered.set(key, rule);
    }
  }
  return [...gathered.values()];
}

function isSameRules(left: readonly JsonObject[], right: readonly JsonObject[]): boolean {
  return left.length === right.length && left.every((rule, index) => ruleKey(rule) === ruleKey(right[index] ?? {}));
}

const RULE_MEMBERS: readonly string[] = ["verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs"];

/** A text that is equal for equal rules. An absent list equals an empty one. */
function ruleKey(rule: JsonObject): string {
  return JSON.stringify(RULE_MEMBERS.map((member) => stringsAt(rule, member)));
}

type IsSelected = (labels: JsonObject) => boolean;

/** Throws if the selector is invalid. */
function selectorOf(selector: JsonObject): IsSelected {
  const labels = Object.entries(objectAt(selector, "matchLabels"));
  const expressions = objectsAt(selector, "matchExpressions").map(expressionOf);
  return (of) =>
    labels.every(([key, value]) => Object.hasOwn(of, key) && of[key] === value) &&
    expressions.every((isMet) => isMet(of));
}

function expressionOf(expression: JsonObject): IsSelected {
  const key = stringAt(expression, "key");
  const operator = stringAt(expression, "operator");
  const values: ReadonlySet<unknown> = new Set(stringsAt(expression, "values"));
  switch (operator) {
    case "In":
      return (labels) => Object.hasOwn(labels, key) && values.has(labels[key]);
    case "NotIn":
      return (labels) => !Object.hasOwn(labels, key) || !values.has(labels[key]);
    case "Exists":
      return (labels) => Object.hasOwn(labels, key);
    case "DoesNotExist":
      return (labels) => !Object.hasOwn(labels, key);
    default:
      throw new Error(`${JSON.stringify(operator)} is not a valid label selector operator`);
  }
}

function nameOf({ metadata }: UnstructuredObject): string {
  return metadata?.name ?? "";
}
