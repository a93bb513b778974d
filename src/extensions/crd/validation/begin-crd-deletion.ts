/**
 * Marks a CRD as terminating on the first delete request. The controller then deletes its instances before the CRD is
 * removed.
 */
import { objectAt, objectsAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../../../objects/kinds/kind.ts";

const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

export function beginCrdDeletion(crd: JsonObject, { time }: KindContext): JsonObject {
  const metadata = objectAt(crd, "metadata");
  const finalizers = stringsAt(metadata, "finalizers");
  const status = objectAt(crd, "status");
  const others = objectsAt(status, "conditions").filter(({ type }) => type !== "Terminating");
  return {
    ...crd,
    metadata: {
      ...metadata,
      deletionTimestamp: time,
      finalizers: finalizers.includes(CLEANUP_FINALIZER) ? finalizers : [...finalizers, CLEANUP_FINALIZER],
    },
    status: { ...status, conditions: [...others, terminatingSince(time)] },
  };
}

function terminatingSince(time: string): JsonObject {
  return {
    type: "Terminating",
    status: "True",
    lastTransitionTime: time,
    reason: "InstanceDeletionPending",
    message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
  };
}
