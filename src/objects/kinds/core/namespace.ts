/** Defaults and validation of Namespaces, whose spec.finalizers delay their deletion until they are empty. */
import { invalidValue } from "../../../meta/field-errors.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { qualifiedNameErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { Kind } from "../kind.ts";

export const NAMESPACE: Kind = {
  setDefaults(namespace) {
    setNameLabel(namespace);
    namespace["spec"] = objectAt(namespace, "spec");
    const status = objectAt(namespace, "status");
    namespace["status"] = stringAt(status, "phase") === "" ? { ...status, phase: "Active" } : status;
  },
  prepareCreate(namespace) {
    const finalizers = stringsAt(objectAt(namespace, "spec"), "finalizers");
    namespace["spec"] = {
      ...objectAt(namespace, "spec"),
      finalizers: finalizers.includes("kubernetes") ? finalizers : [...finalizers, "kubernetes"],
    };
    namespace["status"] = { phase: "Active" };
  },
  prepareUpdate(namespace, existing) {
    namespace["spec"] = { ...objectAt(namespace, "spec"), finalizers: objectAt(existing, "spec")["finalizers"] };
  },
  createErrors: finalizerErrors,
  updateErrors: finalizerErrors,
  *statusUpdateErrors(namespace) {
    const isDeleted = objectAt(namespace, "metadata")["deletionTimestamp"] !== undefined;
    const expected = isDeleted ? "Terminating" : "Active";
    const phase = stringAt(objectAt(namespace, "status"), "phase");
    if (phase === expected) return;
    const when = isDeleted ? "is not empty" : "is empty";
    // As kubernetes: the name of the field is capitalized.
    yield invalidValue("status.Phase", phase, `may only be '${expected}' if \`deletionTimestamp\` ${when}`);
  },
};

/** The label lets selectors find a namespace by its name. */
function setNameLabel(namespace: JsonObject): void {
  const metadata = objectAt(namespace, "metadata");
  const name = stringAt(metadata, "name");
  if (name === "") return;
  namespace["metadata"] = {
    ...metadata,
    labels: { ...objectAt(metadata, "labels"), "kubernetes.io/metadata.name": name },
  };
}

const STANDARD_FINALIZERS: readonly string[] = ["kubernetes", "orphan", "foregroundDeletion"];

function* finalizerErrors(namespace: JsonObject): Generator<FieldError> {
  for (const finalizer of finalizersOf(namespace)) yield* finalizerNameErrors(finalizer, "spec.finalizers");
}

/** Validation of the finalize subresource, whose errors include the index of the finalizer. */
export function* namespaceFinalizeErrors(namespace: JsonObject): Generator<FieldError> {
  for (const [index, finalizer] of finalizersOf(namespace).entries())
    yield* finalizerNameErrors(finalizer, `spec.finalizers[${index}]`);
}

function finalizersOf(namespace: JsonObject): string[] {
  return stringsAt(objectAt(namespace, "spec"), "finalizers");
}

function* finalizerNameErrors(finalizer: string, field: string): Generator<FieldError> {
  for (const sentence of qualifiedNameErrors(finalizer)) yield invalidValue(field, finalizer, sentence);
  if (finalizer.includes("/") || STANDARD_FINALIZERS.includes(finalizer)) return;
  yield invalidValue(field, finalizer, "name is neither a standard finalizer name nor is it fully qualified");
}
