/** Deletes an object, or marks it as being deleted if it has finalizers or a grace period. */
import { isSystemPriorityClass } from "../../objects/kinds/workloads/priority-class.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { conflict, forbidden, notFound, type StatusDetails } from "../../meta/status-error.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { Admission } from "./admission.ts";
import { timestamp, type RegistryContext, type Written } from "./context.ts";
import { kindContext } from "./defaults.ts";
import { guaranteedUpdate, type ObjectChange } from "./guaranteed-update.ts";
import { rejectRemovalOfNonEmptyNamespace } from "./namespace-finalize.ts";
import { rejectDeletionOfRequiredNamespace } from "./namespace-lifecycle.ts";
import { objectKey, type ServedResource } from "./resource.ts";
import { withAllocation } from "./allocation.ts";

export type PropagationPolicy = "Orphan" | "Background" | "Foreground";

export interface DeletionOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: PropagationPolicy;
  readonly dryRun: boolean;
  /** True if the object is deleted only if it cannot be read. Undefined if the server does not allow this option. */
  readonly ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
}

interface DeleteRequest {
  readonly namespace: string;
  readonly name: string;
  readonly options: DeletionOptions;
  readonly admission?: Admission | undefined;
  /** True if the object is deleted by a deletecollection request. As kubernetes: admission then receives no name. */
  readonly isOneOfMany?: boolean;
}

/** The result of a deletion: the object, if it still exists or if its kind always returns it, or only its details. */
type Deleted =
  | { readonly kind: "object"; readonly written: Written; readonly remains: boolean }
  | { readonly kind: "gone"; readonly details: StatusDetails };

const ORPHAN = "orphan";
const FOREGROUND = "foregroundDeletion";

export async function deleteObject(
  context: RegistryContext,
  served: ServedResource,
  request: DeleteRequest,
): Promise<Deleted> {
  const { strategy } = served.stored;
  if (strategy.deletionLifecycle === "namespace") rejectDeletionOfRequiredNamespace(request.name);
  rejectDeletionOfSystemClass(served, request);
  let isRemoved = false;
  const written = await withAllocation(context, served, request.options.dryRun, (allocation) =>
    guaranteedUpdate(context, served, {
      key: objectKey(served.stored, request.namespace, request.name),
      dryRun: request.options.dryRun,
      decide: async (existing, entry) => {
        rejectFailedPreconditions(served, request, { existing, entry });
        if (request.admission !== undefined) await admit(request.admission, request, existing);
        const change = decideDeletion(context, served, { existing, options: request.options });
        await rejectRemovalOfNonEmptyNamespace(context, served, { change, existing, endpoint: "main" });
        isRemoved = change.kind === "remove";
        return allocation.apply(change, existing);
      },
      absent: () => {
        throw notFound(served.groupResource, request.name);
      },
    }),
  );
  if (!isRemoved || strategy.returnsDeletedObject) return { kind: "object", written, remains: !isRemoved };
  const { group, resource } = served.groupResource;
  const uid = "object" in written ? stringAt(objectAt(written.object, "metadata"), "uid") : "";
  return { kind: "gone", details: { name: request.name, ...(group === "" ? {} : { group }), kind: resource, uid } };
}

/** Rejects the deletion of a system priority class. As kubernetes: only a deletion by name is rejected. */
function rejectDeletionOfSystemClass({ groupResource }: ServedResource, { name, isOneOfMany }: DeleteRequest): void {
  const { group, resource } = groupResource;
  if (group !== "scheduling.k8s.io" || resource !== "priorityclasses") return;
  if (isOneOfMany !== true && isSystemPriorityClass(name))
    throw forbidden(groupResource, name, "this is a system priority class and cannot be deleted");
}

function admit(admission: Admission, { isOneOfMany, name }: DeleteRequest, existing: JsonObject): Promise<void> {
  const admissionName = isOneOfMany === true ? "" : name;
  return admission.validate({ operation: "DELETE", name: admissionName, object: undefined, existing });
}

function decideDeletion(
  context: RegistryContext,
  served: ServedResource,
  to: { existing: JsonObject; options: DeletionOptions },
): ObjectChange {
  const { existing, options } = to;
  const { deletionLifecycle } = served.stored.strategy;
  if (deletionLifecycle === "namespace") return decideNamespaceDeletion(context, served, to);
  const metadata = objectAt(existing, "metadata");
  const isFirst = metadata["deletionTimestamp"] === undefined;
  const begun = isFirst ? served.meaning.beginDeletion?.(existing, kindContext(context, served)) : undefined;
  if (begun !== undefined) return { kind: "store", object: begun };
  const finalizers = finalizersAfter(served, stringsAt(metadata, "finalizers"), options);
  const grace = deletionLifecycle === "pod" ? podGraceSeconds(existing, options) : 0;
  const marked = markDeleted(context, existing, { finalizers, grace, isGraceful: deletionLifecycle === "pod" });
  if (finalizers.length > 0 || grace > 0) return { kind: "store", object: marked };
  // As kubernetes: every deletion of a pod counts as graceful, even with a period of 0, so the response contains the
  // marked pod.
  const isShown = deletionLifecycle === "pod" || finalizers.length < stringsAt(metadata, "finalizers").length;
  return { kind: "remove", object: isShown ? marked : existing };
}

/**
 * Marks the namespace as terminating. It exists until its controller has deleted its content and removed its
 * finalizers.
 */
function decideNamespaceDeletion(
  context: RegistryContext,
  served: ServedResource,
  to: { existing: JsonObject; options: DeletionOptions },
): ObjectChange {
  const { existing: namespace, options } = to;
  const { finalizers: _old, ...metadata } = objectAt(namespace, "metadata");
  const before = stringsAt(objectAt(namespace, "metadata"), "finalizers");
  const finalizers = metadata["deletionTimestamp"] === undefined ? finalizersAfter(served, before, options) : before;
  const object: JsonObject = {
    ...namespace,
    metadata: {
      ...metadata,
      deletionTimestamp: metadata["deletionTimestamp"] ?? timestamp(context.clock),
      ...(finalizers.length === 0 ? {} : { finalizers }),
    },
    status: { ...objectAt(namespace, "status"), phase: "Terminating" },
  };
  const isHeld = stringsAt(objectAt(namespace, "spec"), "finalizers").length > 0 || finalizers.length > 0;
  return isHeld ? { kind: "store", object } : { kind: "remove", object };
}

function finalizersAfter(served: ServedResource, existing: readonly string[], options: DeletionOptions): string[] {
  const { strategy } = served.stored;
  const others = existing.filter((finalizer) => finalizer !== ORPHAN && finalizer !== FOREGROUND);
  if (strategy.ignoresGarbageCollection) return others;
  const wanted = dependentsPolicy(existing, options) ?? (strategy.orphansByDefault ? "Orphan" : "Background");
  const added = wanted === "Orphan" ? [ORPHAN] : wanted === "Foreground" ? [FOREGROUND] : [];
  // Keeps the order of the existing finalizers, so that a repeated delete does not change the object.
  const kept = existing.filter((finalizer) => others.includes(finalizer) || added.includes(finalizer));
  return [...kept, ...added.filter((finalizer) => !kept.includes(finalizer))];
}

function dependentsPolicy(existing: readonly string[], options: DeletionOptions): PropagationPolicy | undefined {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? "Orphan" : "Background";
  if (options.propagationPolicy !== undefined) return options.propagationPolicy;
  if (existing.includes(ORPHAN)) return "Orphan";
  return existing.includes(FOREGROUND) ? "Foreground" : undefined;
}

/**
 * The grace period: 0 for a pod without a node or one that has terminated. A second delete may only shorten the period.
 */
function podGraceSeconds(pod: JsonObject, options: DeletionOptions): number {
  const spec = objectAt(pod, "spec");
  const phase = stringAt(objectAt(pod, "status"), "phase");
  if (stringAt(spec, "nodeName") === "" || phase === "Succeeded" || phase === "Failed") return 0;
  const running = objectAt(pod, "metadata")["deletionGracePeriodSeconds"];
  const own = typeof spec["terminationGracePeriodSeconds"] === "number" ? spec["terminationGracePeriodSeconds"] : 30;
  const asked = options.gracePeriodSeconds ?? (typeof running === "number" ? running : own);
  const grace = asked < 0 ? 1 : asked;
  return typeof running === "number" ? Math.min(running, grace) : grace;
}

function markDeleted(
  context: RegistryContext,
  existing: JsonObject,
  how: { finalizers: readonly string[]; grace: number; isGraceful: boolean },
): JsonObject {
  const { finalizers: _old, ...metadata } = objectAt(existing, "metadata");
  const isFirst = metadata["deletionTimestamp"] === undefined;
  const running = metadata["deletionGracePeriodSeconds"];
  if (isFirst || (how.isGraceful && typeof running === "number" && how.grace < running)) {
    // A shortened period begins with the first deletion, as the longer period did.
    const elapsedMs = isFirst
      ? 0
      : context.clock.now() - Date.parse(stringAt(metadata, "deletionTimestamp")) + Number(running) * 1000;
    metadata["deletionTimestamp"] = timestamp(context.clock, how.grace * 1000 - elapsedMs);
    metadata["deletionGracePeriodSeconds"] = how.grace;
  }
  if (isFirst && typeof metadata["generation"] === "number" && metadata["generation"] > 0)
    metadata["generation"] = metadata["generation"] + 1;
  return {
    ...existing,
    metadata: how.finalizers.length === 0 ? metadata : { ...metadata, finalizers: [...how.finalizers] },
  };
}

function rejectFailedPreconditions(
  served: ServedResource,
  request: DeleteRequest,
  current: { existing: JsonObject; entry: Entry },
): void {
  const { uid, resourceVersion } = request.options.preconditions ?? {};
  const existingUid = stringAt(objectAt(current.existing, "metadata"), "uid");
  const kind = { group: served.groupVersion.group, resource: served.kind };
  if (uid !== undefined && uid !== existingUid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${existingUid}). The object might have been deleted and then recreated`;
    throw conflict(kind, request.name, why);
  }
  const version = String(current.entry.modRevision);
  if (resourceVersion !== undefined && resourceVersion !== version) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${version}). The object might have been modified`;
    throw conflict(kind, request.name, why);
  }
}
