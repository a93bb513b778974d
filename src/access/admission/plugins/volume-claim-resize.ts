/** Allows a persistent volume claim to grow only if it is bound and its storage class allows expansion. */
import { nanosOf } from "../../../meta/quantity.ts";
import type { GroupResource } from "../../../meta/group-version.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { handlesOnly } from "./handled-writes.ts";
import { admissionForbidden } from "./plugin-errors.ts";

const STORAGE_CLASSES: GroupResource = { group: "storage.k8s.io", resource: "storageclasses" };
const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class";

export function persistentVolumeClaimResize(reader: ObjectReader): AdmissionPlugin {
  return {
    name: "PersistentVolumeClaimResize",
    handles: handlesOnly({ group: "", resource: "persistentvolumeclaims", operations: { UPDATE: [""] } }),
    async validate(attributes) {
      const { object, existing } = attributes;
      if (object === undefined || existing === undefined || sizeOf(object) <= sizeOf(existing)) return;
      if (stringAt(objectAt(existing, "status"), "phase") !== "Bound")
        throw admissionForbidden(attributes, "Only bound persistent volume claims can be expanded");
      if (await mayGrow(reader, classOf(object), classOf(existing))) return;
      const why =
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize";
      throw admissionForbidden(attributes, why);
    },
  };
}

function sizeOf(claim: JsonObject): bigint {
  return nanosOf(objectAt(objectAt(objectAt(claim, "spec"), "resources"), "requests")["storage"]);
}

function classOf(claim: JsonObject): string {
  const annotations = objectAt(objectAt(claim, "metadata"), "annotations");
  if (Object.hasOwn(annotations, CLASS_ANNOTATION)) return stringAt(annotations, CLASS_ANNOTATION);
  return stringAt(objectAt(claim, "spec"), "storageClassName");
}

async function mayGrow(reader: ObjectReader, name: string, before: string): Promise<boolean> {
  if (name === "" || name !== before) return false;
  const known = reader.get(STORAGE_CLASSES, "", name) ?? (await reader.newest(STORAGE_CLASSES, "", name));
  return known?.["allowVolumeExpansion"] === true;
}
