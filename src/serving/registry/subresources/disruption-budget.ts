/** Checks whether a PodDisruptionBudget allows an eviction, and decrements its allowed disruptions. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { parseLabelSelector, SelectorError, type Labels } from "../../../meta/label-selector.ts";
import { forbidden, notFound, StatusError, type CauseReason, type StatusCause } from "../../../meta/status-error.ts";
import { timestamp, type RegistryContext } from "../context.ts";
import { guaranteedUpdate } from "../guaranteed-update.ts";
import { list } from "../list.ts";
import { withManagedFields } from "../managed-fields.ts";
import { objectIn } from "../representation.ts";
import { objectKey, type ServedResource } from "../resource.ts";
import { scaleSelectorText } from "./label-selector-text.ts";
import { podConditions, isPodConditionTrue } from "./pod-conditions.ts";

/** This reason belongs to the policy group and is not one of the reasons of field errors. */
const DISRUPTION_BUDGET = "DisruptionBudget" satisfies CauseReason;
const DISRUPTED_PODS_MAX = 2000;
const RETRY_AFTER_SECONDS = 10;
const VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget.";
const SERVER_MANAGER = "kube-apiserver";

/** The budgets of the namespace that select the pod. */
export async function budgetsOf(
  context: RegistryContext,
  budgets: ServedResource,
  pod: JsonObject,
): Promise<JsonObject[]> {
  const namespace = stringAt(objectAt(pod, "metadata"), "namespace");
  const listed = await list(context, budgets, {
    namespace,
    labels: undefined,
    fields: [],
    state: { kind: "newest" },
    limit: 0,
  });
  const labels = objectAt(objectAt(pod, "metadata"), "labels") as Labels;
  return listed.entries
    .map((entry) => objectIn(entry, budgets))
    .filter((budget) => isSelected(labels, objectAt(budget, "spec")["selector"]));
}

/** An absent or invalid selector selects no pod, an empty selector selects all pods. */
function isSelected(labels: Labels, selector: unknown): boolean {
  if (!isJsonObject(selector)) return false;
  try {
    return parseLabelSelector(scaleSelectorText(selector))(labels);
  } catch (thrown) {
    if (thrown instanceof SelectorError) return false;
    throw thrown;
  }
}

/**
 * True if the pod is unready and its budget need not be charged, because enough other pods are healthy or the budget
 * always allows it.
 */
export function mayEvictUnhealthy(pod: JsonObject, budget: JsonObject): boolean {
  if (isPodConditionTrue(pod, "Ready")) return false;
  if (objectAt(budget, "spec")["unhealthyPodEvictionPolicy"] === "AlwaysAllow") return true;
  const { currentHealthy, desiredHealthy } = counts(budget);
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

/** Decrements the allowed disruptions of the budget, or throws the reason why no disruption is allowed. */
export async function chargeBudget(
  context: RegistryContext,
  budgets: ServedResource,
  charge: { readonly budget: JsonObject; readonly podName: string; readonly dryRun: boolean },
): Promise<void> {
  const metadata = objectAt(charge.budget, "metadata");
  const name = stringAt(metadata, "name");
  await guaranteedUpdate(context, budgets, {
    key: objectKey(budgets.stored, stringAt(metadata, "namespace"), name),
    dryRun: charge.dryRun,
    decide: (budget) => {
      rejectExhausted(budget);
      const next = charged(budget, charge.podName, timestamp(context.clock));
      return {
        kind: "store",
        object: withManagedFields(context, budgets, {
          live: budget,
          next,
          manager: SERVER_MANAGER,
          endpoint: "status",
        }),
      };
    },
    absent: () => {
      throw notFound(budgets.groupResource, name);
    },
  });
}

/** The error for an eviction during which the budget or the pod has changed. The client should retry. */
export function stillProcessing(name: string): StatusError {
  const causes = [cause(`The disruption budget ${name} is still being processed by the server.`)];
  return new StatusError("TooManyRequests", VIOLATED, { details: { causes, retryAfterSeconds: RETRY_AFTER_SECONDS } });
}

function rejectExhausted(budget: JsonObject): void {
  const metadata = objectAt(budget, "metadata");
  const name = stringAt(metadata, "name");
  const { disruptionsAllowed, observedGeneration } = counts(budget);
  if (observedGeneration < Number(metadata["generation"] ?? 0)) throw stillProcessing(name);
  if (disruptionsAllowed < 0)
    throw evictionRejected(name, "pdb disruptions allowed is negative", "pdb disruptions allowed is negative");
  if (Object.keys(objectAt(objectAt(budget, "status"), "disruptedPods")).length > DISRUPTED_PODS_MAX) {
    const why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    throw evictionRejected(name, why, "too many pending evictions not confirmed by PDB controller");
  }
  if (disruptionsAllowed === 0)
    throw new StatusError("TooManyRequests", VIOLATED, { details: { causes: [cause(whyExhausted(budget, name))] } });
}

function evictionRejected(name: string, why: string, detail: string): StatusError {
  const causes = [cause(`The disruption budget ${name} does not allow evicting pods currently: ${detail}`)];
  return forbidden({ group: "policy", resource: "poddisruptionbudget" }, name, why, causes);
}

function whyExhausted(budget: JsonObject, name: string): string {
  const { currentHealthy, desiredHealthy } = counts(budget);
  const condition = podConditions(budget).find(({ type }) => type === "DisruptionAllowed");
  const reason = condition === undefined ? "" : stringAt(condition, "reason");
  const message = condition?.["status"] === "False" ? stringAt(condition, "message") : "";
  // If the controller failed to sync the budget, the counts in its status are invalid.
  if (message !== "" && reason === "SyncFailed")
    return `The disruption budget ${name} does not allow evicting pods currently because it failed sync: ${message}`;
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  if (message !== "")
    return `The disruption budget ${name} does not allow evicting pods currently (${reason}): ${message}`;
  return `The disruption budget ${name} does not allow evicting pods currently`;
}

/** Records the pod in disruptedPods, so that the controller of the budget treats the pod as deleted from now on. */
function charged(budget: JsonObject, podName: string, now: string): JsonObject {
  const status = objectAt(budget, "status");
  const disruptionsAllowed = counts(budget).disruptionsAllowed - 1;
  const disruptedPods = { ...objectAt(status, "disruptedPods"), [podName]: now };
  const conditions = disruptionsAllowed === 0 ? { conditions: withDisallowed(budget, now) } : {};
  return { ...budget, status: { ...status, disruptionsAllowed, disruptedPods, ...conditions } };
}

function withDisallowed(budget: JsonObject, now: string): JsonObject[] {
  const before = podConditions(budget);
  const at = before.findIndex(({ type }) => type === "DisruptionAllowed");
  const since = before[at]?.["status"] === "False" ? before[at]["lastTransitionTime"] : now;
  const { observedGeneration } = counts(budget);
  const condition = {
    type: "DisruptionAllowed",
    status: "False",
    observedGeneration,
    lastTransitionTime: since,
    reason: "InsufficientPods",
    message: "",
  };
  return at < 0 ? [...before, condition] : before.with(at, condition);
}

function counts(
  budget: JsonObject,
): Record<"disruptionsAllowed" | "currentHealthy" | "desiredHealthy" | "observedGeneration", number> {
  const status = objectAt(budget, "status");
  const count = (field: string): number => (typeof status[field] === "number" ? status[field] : 0);
  return {
    disruptionsAllowed: count("disruptionsAllowed"),
    currentHealthy: count("currentHealthy"),
    desiredHealthy: count("desiredHealthy"),
    observedGeneration: count("observedGeneration"),
  };
}

function cause(message: string): StatusCause {
  return { reason: DISRUPTION_BUDGET, message };
}
