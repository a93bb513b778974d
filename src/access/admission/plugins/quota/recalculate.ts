/** Computes the status of a quota from all objects of its namespace, for the quota controller. */
import { formatGroupResource, type GroupResource } from "../../../../meta/group-version.ts";
import { jsonEquals, objectAt, type JsonObject } from "../../../../meta/json.ts";
import {
  added,
  addTo,
  amountsAt,
  amountsObject,
  isSameAmounts,
  masked,
  ZERO_AMOUNT,
  type Amount,
  type Amounts,
} from "../../../../meta/amounts.ts";
import { createEvaluators, type Evaluators } from "./evaluators.ts";
import type { PodEvaluatorPorts } from "./pod-evaluator.ts";
import { scopesOf } from "./scopes.ts";

interface QuotaCalculator {
  /** The resources whose objects count toward the quota. */
  countedResources(quota: JsonObject): readonly GroupResource[];
  /**
   * Computes the status. `objects` is keyed by formatGroupResource; the usage of a resource that is absent, because it
   * is not served or could not be listed, stays as it is.
   */
  statusOf(quota: JsonObject, objects: ReadonlyMap<string, readonly JsonObject[]>): JsonObject;
  /** Whether the stored status of the quota differs from `status`. */
  isOutdated(quota: JsonObject, status: JsonObject): boolean;
}

export function createQuotaCalculator(ports: PodEvaluatorPorts): QuotaCalculator {
  const evaluators = createEvaluators(ports);
  return {
    countedResources: (quota) => evaluators.countedFor(Object.keys(hardOf(quota))),
    statusOf(quota, objects) {
      const hard = amountsAt(objectAt(quota, "spec"), "hard");
      const before = amountsAt(objectAt(quota, "status"), "used");
      const used = new Map([...before, ...usageOf(quota, objects, evaluators)]);
      return { hard: amountsObject(hard), used: amountsObject(masked(used, hard)) };
    },
    isOutdated(quota, status) {
      const known = objectAt(quota, "status");
      return (
        known["used"] === undefined ||
        !jsonEquals(known["hard"], status["hard"]) ||
        !isSameAmounts(amountsAt(known, "used"), amountsAt(status, "used"))
      );
    },
  };
}

function hardOf(quota: JsonObject): JsonObject {
  return objectAt(objectAt(quota, "spec"), "hard");
}

function usageOf(
  quota: JsonObject,
  objects: ReadonlyMap<string, readonly JsonObject[]>,
  evaluators: Evaluators,
): Amounts {
  const names = Object.keys(hardOf(quota));
  const scopes = scopesOf(quota);
  let usage: Amounts = new Map();
  for (const resource of evaluators.countedFor(names)) {
    const items = objects.get(formatGroupResource(resource));
    if (items === undefined) continue;
    const evaluator = evaluators.of(resource);
    const counted = names.filter((name) => evaluator.isCounted(name));
    const own = new Map<string, Amount>(counted.map((name) => [name, ZERO_AMOUNT]));
    const wanted = new Set(counted);
    for (const item of items)
      if (scopes.every((requirement) => evaluator.matchesScope(requirement, item)))
        addTo(own, masked(evaluator.usage(item), wanted));
    usage = added(usage, own);
  }
  return usage;
}
