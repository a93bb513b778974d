/** Defaults and validation of PodDisruptionBudgets. */
import { invalidValue, unsupportedValue } from "../../../meta/field-errors.ts";
import { isJsonObject, specOf, statusOf, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelSelectorErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { conditionErrors, conditionsOf } from "../storage-versions/conditions.ts";
import { intOrPercentErrors, over100PercentErrors } from "./int-or-percent.ts";
import { negativeCountErrors, setStatusCounts } from "./status-counts.ts";
import { structAt } from "../defaults.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const COUNTS: readonly string[] = ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"];

export const DISRUPTION_BUDGET: Kind = {
  setDefaults(budget) {
    structAt(budget, "spec");
    setStatusCounts(budget, COUNTS);
  },
  prepareCreate(budget) {
    budget["status"] = {};
    setStatusCounts(budget, COUNTS);
  },
  createErrors: (budget) => budgetErrors(specOf(budget)),
  updateErrors: (budget) => budgetErrors(specOf(budget)),
  *statusUpdateErrors(budget) {
    const status = statusOf(budget);
    yield* conditionErrors(conditionsOf(status), "lastTransitionTime");
    yield* negativeCountErrors(status, COUNTS);
  },
};

function* budgetErrors(spec: JsonObject): Generator<FieldError> {
  const { minAvailable, maxUnavailable, unhealthyPodEvictionPolicy: policy, selector } = spec;
  if (minAvailable !== undefined && maxUnavailable !== undefined)
    yield invalidValue(
      "spec",
      internalValue(spec, "PodDisruptionBudgetSpec"),
      "minAvailable and maxUnavailable cannot be both set",
    );
  for (const count of ["minAvailable", "maxUnavailable"]) {
    if (spec[count] === undefined) continue;
    yield* intOrPercentErrors(spec[count], `spec.${count}`);
    yield* over100PercentErrors(spec[count], `spec.${count}`);
  }
  if (isJsonObject(selector)) yield* labelSelectorErrors(selector, "spec.selector");
  if (policy !== undefined && policy !== "AlwaysAllow" && policy !== "IfHealthyBudget")
    yield unsupportedValue("spec.unhealthyPodEvictionPolicy", policy, ["AlwaysAllow", "IfHealthyBudget"]);
}
