/** Deletes a pod if its disruption budgets allow it. */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { conflict, isReason, notFound, StatusError } from "../../../meta/status-error.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import { timestamp, type RegistryContext } from "../context.ts";
import { deleteObject, type DeletionOptions } from "../delete.ts";
import { guaranteedUpdate } from "../guaranteed-update.ts";
import { get } from "../read.ts";
import { objectIn } from "../representation.ts";
import { objectKey, type ServedResource } from "../resource.ts";
import { budgetsOf, chargeBudget, mayEvictUnhealthy, stillProcessing } from "./disruption-budget.ts";
import { withPodCondition } from "./pod-conditions.ts";

interface Eviction {
  readonly namespace: string;
  readonly name: string;
  readonly options: DeletionOptions;
}

interface EvictionResources {
  readonly pods: ServedResource;
  /** The resource PodDisruptionBudgets; undefined if it is not served, so that no pod has a budget. */
  readonly budgets: ServedResource | undefined;
}

/**
 * Maximum number of attempts to delete a pod that no budget protects, if another writer changes the pod before each of
 * them.
 */
const ATTEMPTS_MAX = 20;

export async function evictPod(
  context: RegistryContext,
  resources: EvictionResources,
  eviction: Eviction,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const entry = await get(context, resources.pods, { ...eviction, freshness: { kind: "newest" } });
    const pod = objectIn(entry, resources.pods);
    if (!isBeyondBudgets(pod)) return evictWithinBudget(context, resources, { eviction, pod, entry });
    try {
      return await disruptAndDelete(context, resources.pods, isPending(pod) ? withVersion(eviction, entry) : eviction);
    } catch (thrown) {
      // The pod has changed and may be ready now, so its budget must be checked again.
      if (!isReason(thrown, "Conflict") || hasVersion(eviction) || attempt === ATTEMPTS_MAX) throw thrown;
    }
  }
}

/** True for pods that have not started, have ended or are being deleted: no budget protects them. */
function isBeyondBudgets(pod: JsonObject): boolean {
  const phase = stringAt(objectAt(pod, "status"), "phase");
  return (
    phase === "Succeeded" ||
    phase === "Failed" ||
    phase === "Pending" ||
    objectAt(pod, "metadata")["deletionTimestamp"] !== undefined
  );
}

function isPending(pod: JsonObject): boolean {
  return (
    stringAt(objectAt(pod, "status"), "phase") === "Pending" &&
    objectAt(pod, "metadata")["deletionTimestamp"] === undefined
  );
}

async function evictWithinBudget(
  context: RegistryContext,
  { pods, budgets }: EvictionResources,
  { eviction, pod, entry }: { readonly eviction: Eviction; readonly pod: JsonObject; readonly entry: Entry },
): Promise<void> {
  const [budget, another] = budgets === undefined ? [] : await budgetsOf(context, budgets, pod);
  if (another !== undefined) {
    throw new StatusError(
      "",
      "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    );
  }
  if (budgets === undefined || budget === undefined) return disruptAndDelete(context, pods, eviction);
  if (!mayEvictUnhealthy(pod, budget)) {
    await chargeBudget(context, budgets, { budget, podName: eviction.name, dryRun: eviction.options.dryRun });
    return disruptAndDelete(context, pods, eviction);
  }
  try {
    return await disruptAndDelete(context, pods, withVersion(eviction, entry));
  } catch (thrown) {
    if (isReason(thrown, "Conflict") && !hasVersion(eviction))
      throw stillProcessing(stringAt(objectAt(budget, "metadata"), "name"));
    throw thrown;
  }
}

function hasVersion({ options }: Eviction): boolean {
  return options.preconditions?.resourceVersion !== undefined;
}

/** Sets the resourceVersion of the checked pod as a precondition, unless the client has set one. */
function withVersion(eviction: Eviction, entry: Entry): Eviction {
  return hasVersion(eviction) ? eviction : atVersion(eviction, entry.modRevision);
}

function atVersion(eviction: Eviction, revision: number): Eviction {
  const { options } = eviction;
  return {
    ...eviction,
    options: { ...options, preconditions: { ...options.preconditions, resourceVersion: String(revision) } },
  };
}

/** Adds the DisruptionTarget condition to the pod, then deletes it. */
async function disruptAndDelete(context: RegistryContext, pods: ServedResource, eviction: Eviction): Promise<void> {
  if (eviction.options.dryRun) {
    await deleteObject(context, pods, eviction);
    return;
  }
  const written = await guaranteedUpdate(context, pods, {
    key: objectKey(pods.stored, eviction.namespace, eviction.name),
    dryRun: false,
    decide: (pod, entry) => {
      rejectOther(pod, entry, eviction);
      const condition = {
        type: "DisruptionTarget",
        status: "True",
        reason: "EvictionByEvictionAPI",
        message: "Eviction API: evicting",
      } as const;
      return { kind: "store", object: withPodCondition(pod, condition, timestamp(context.clock)) };
    },
    absent: () => {
      throw notFound(pods.groupResource, eviction.name);
    },
  });
  // Adding the condition has changed the resourceVersion, so the precondition of the deletion is set to the new one.
  const isMoved = hasVersion(eviction) && "entry" in written;
  await deleteObject(context, pods, isMoved ? atVersion(eviction, written.entry.modRevision) : eviction);
}

function rejectOther(pod: JsonObject, entry: Entry, { name, options }: Eviction): void {
  const { uid = "", resourceVersion = "" } = options.preconditions ?? {};
  const found = stringAt(objectAt(pod, "metadata"), "uid");
  const kind = { group: "", resource: "Pod" };
  if (uid !== "" && uid !== found) {
    throw conflict(
      kind,
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${found}). The object might have been deleted and then recreated`,
    );
  }
  const version = String(entry.modRevision);
  if (resourceVersion !== "" && resourceVersion !== version) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${version}). The object might have been modified`;
    throw conflict(kind, name, why);
  }
}
