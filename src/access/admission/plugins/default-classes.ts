/** Sets the default class on persistent volume claims and Ingresses that name no class. */
import type { GroupResource } from "../../../meta/group-version.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { handlesOnly } from "./handled-writes.ts";

const STORAGE_CLASSES: GroupResource = { group: "storage.k8s.io", resource: "storageclasses" };
const INGRESS_CLASSES: GroupResource = { group: "networking.k8s.io", resource: "ingressclasses" };

export function defaultStorageClass(reader: ObjectReader): AdmissionPlugin {
  return {
    name: "DefaultStorageClass",
    handles: handlesOnly({ group: "", resource: "persistentvolumeclaims", operations: { CREATE: [""] } }),
    mutate({ object: claim }) {
      if (hasClass(claim, "volume.beta.kubernetes.io/storage-class", "storageClassName")) return undefined;
      const name = defaultOf(reader.list(STORAGE_CLASSES, ""), [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
      ]);
      return name === undefined ? undefined : withClass(claim, { storageClassName: name });
    },
  };
}

export function defaultIngressClass(reader: ObjectReader): AdmissionPlugin {
  return {
    name: "DefaultIngressClass",
    handles: handlesOnly({ group: "networking.k8s.io", resource: "ingresses", operations: { CREATE: [""] } }),
    mutate({ object: ingress }) {
      if (hasClass(ingress, "kubernetes.io/ingress.class", "ingressClassName")) return undefined;
      const name = defaultOf(reader.list(INGRESS_CLASSES, ""), ["ingressclass.kubernetes.io/is-default-class"]);
      return name === undefined ? undefined : withClass(ingress, { ingressClassName: name });
    },
  };
}

/** True if the annotation or the field exists, even if it is empty. */
function hasClass(object: JsonObject, annotation: string, member: string): boolean {
  const annotations = objectAt(objectAt(object, "metadata"), "annotations");
  return Object.hasOwn(annotations, annotation) || typeof objectAt(object, "spec")[member] === "string";
}

function withClass(object: JsonObject, members: JsonObject): JsonObject {
  return { ...object, spec: { ...objectAt(object, "spec"), ...members } };
}

/** The name of the newest default class; of several that were created in the same second, the alphabetically first. */
function defaultOf(classes: readonly JsonObject[], annotations: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly created: number } | undefined;
  for (const one of classes) {
    const metadata = objectAt(one, "metadata");
    const marks = objectAt(metadata, "annotations");
    if (!annotations.some((annotation) => stringAt(marks, annotation) === "true")) continue;
    const name = stringAt(metadata, "name");
    const created = Date.parse(stringAt(metadata, "creationTimestamp")) || 0;
    if (best === undefined || created > best.created || (created === best.created && name < best.name))
      best = { name, created };
  }
  return best?.name;
}
