/** Converts PodDisruptionBudgets: an empty selector matches no pod in v1beta1 and every pod in v1. */
import { isJsonObject, jsonEquals, type JsonObject } from "../../meta/json.ts";
import { updateObject } from "./members.ts";
import type { KindShapes } from "./shapes.ts";

/**
 * An empty selector matches nothing in v1beta1 and everything in v1. No pod has this label, so "DoesNotExist" on it
 * selects everything in v1beta1, and "Exists" selects nothing in v1.
 */
const EMPTY_SELECTOR_LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

const V1BETA1_MATCH_ALL = selectorOn("DoesNotExist");
const V1_MATCH_NONE = selectorOn("Exists");

export const DISRUPTION_BUDGET_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["PodDisruptionBudget"],
    hub: ["policy/v1"],
    spokes: [
      {
        versions: ["policy/v1beta1"],
        toHub: (budget) => reshapeSelector(budget, toV1Selector),
        fromHub: (budget) => reshapeSelector(budget, toV1beta1Selector),
      },
    ],
  },
]);

function selectorOn(operator: string): JsonObject {
  return Object.freeze({ matchExpressions: Object.freeze([Object.freeze({ key: EMPTY_SELECTOR_LABEL, operator })]) });
}

function reshapeSelector(budget: JsonObject, reshape: (selector: JsonObject) => JsonObject): JsonObject {
  return updateObject(budget, "spec", (spec) => updateObject(spec, "selector", reshape));
}

function toV1Selector(selector: JsonObject): JsonObject {
  if (isEmptySelector(selector)) return V1_MATCH_NONE;
  if (jsonEquals(selector, V1BETA1_MATCH_ALL)) return {};
  return withoutReservedLabel(selector);
}

function toV1beta1Selector(selector: JsonObject): JsonObject {
  if (jsonEquals(selector, V1_MATCH_NONE)) return {};
  return isEmptySelector(selector) ? V1BETA1_MATCH_ALL : selector;
}

function isEmptySelector(selector: JsonObject): boolean {
  return Object.values(selector).every(
    (value) => value === null || (typeof value === "object" && Object.keys(value).length === 0),
  );
}

/**
 * Removes requirements on the reserved label, because next to other requirements they would change which pods the
 * selector matches.
 */
function withoutReservedLabel(selector: JsonObject): JsonObject {
  const expressions = selector["matchExpressions"];
  if (!Array.isArray(expressions)) return selector;
  const kept = expressions.filter(
    (expression: unknown) => !isJsonObject(expression) || expression["key"] !== EMPTY_SELECTOR_LABEL,
  );
  return kept.length === expressions.length ? selector : { ...selector, matchExpressions: kept };
}
