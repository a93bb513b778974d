/**
 * The interface of quota evaluators, which compute how much of a quota the objects of one resource use, and the
 * evaluator that counts objects.
 */
import type { GroupResource } from "../../../../meta/group-version.ts";
import type { JsonObject } from "../../../../meta/json.ts";
import type { Attributes } from "../../admission.ts";
import { type Amount, type Amounts, ONE_AMOUNT } from "../../../../meta/amounts.ts";
import type { ScopeRequirement } from "./scopes.ts";

export interface UsageEvaluator {
  /** Whether the write can change the usage. */
  handles(attributes: Attributes): boolean;
  /** Whether objects of this resource use the quota resource with this name, such as requests.cpu. */
  isCounted(resourceName: string): boolean;
  matchesScope(requirement: ScopeRequirement, object: JsonObject): boolean;
  /**
   * Describes the required fields that the object omits although their quota resources are limited; undefined if there
   * are none.
   */
  missing(limited: readonly string[], object: JsonObject): string | undefined;
  usage(object: JsonObject): Amounts;
}

/** The quota resource name for the object count of a resource. */
function objectCountName({ group, resource }: GroupResource): string {
  return group === "" ? `count/${resource}` : `count/${resource}.${group}`;
}

const COUNT_PREFIX = "count/";

/** The resource whose objects are counted under this name; undefined if the name does not begin with count/. */
export function countedResource(resourceName: string): GroupResource | undefined {
  if (!resourceName.startsWith(COUNT_PREFIX)) return undefined;
  const [resource = "", ...group] = resourceName.slice(COUNT_PREFIX.length).split(".");
  return { group: group.join("."), resource };
}

/** Counts every object as one, under the name count/RESOURCE and, if given, under `alias`. */
export function objectCountEvaluator(resource: GroupResource, alias?: string): UsageEvaluator {
  const names = new Set([objectCountName(resource), ...(alias === undefined ? [] : [alias])]);
  return {
    handles: ({ operation, subresource }) => operation === "CREATE" && subresource === "",
    isCounted: (name) => names.has(name),
    matchesScope: () => false,
    missing: () => undefined,
    usage: () => new Map<string, Amount>([...names].map((name) => [name, ONE_AMOUNT])),
  };
}
