/** Rows of volumes, claims, storage classes and CSI kinds. */
import type { JsonObject } from "../../meta/json.ts";
import {
  amountOf,
  flagAt,
  isDeleting,
  isSetAt,
  itemsAt,
  joinOr,
  optionalText,
  sizeAt,
  textAt,
  textsAt,
  valueAt,
  type RowPrinters,
} from "./row.ts";

const ACCESS_MODES: readonly (readonly [mode: string, abbreviation: string])[] = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
];

export const STORAGE_PRINTERS: RowPrinters = {
  "/PersistentVolume": (object) => ({
    Capacity: amountOf(valueAt(object, "spec", "capacity"), "storage"),
    "Access Modes": accessModes(valueAt(object, "spec")),
    Status: phaseText(object),
    Claim: claimText(valueAt(object, "spec", "claimRef")),
    StorageClass: storageClassOf(object),
    VolumeAttributesClass: optionalText("<unset>", object, "spec", "volumeAttributesClassName"),
    VolumeMode: optionalText("<unset>", object, "spec", "volumeMode"),
  }),
  "/PersistentVolumeClaim": (object) => {
    const isBound = textAt(object, "spec", "volumeName") !== "";
    return {
      Status: phaseText(object),
      Capacity: isBound ? amountOf(valueAt(object, "status", "capacity"), "storage") : "",
      "Access Modes": isBound ? accessModes(valueAt(object, "status")) : "",
      StorageClass: storageClassOf(object),
      VolumeAttributesClass: optionalText("<unset>", object, "spec", "volumeAttributesClassName"),
      VolumeMode: optionalText("<unset>", object, "spec", "volumeMode"),
    };
  },
  "storage.k8s.io/StorageClass": (object) => ({
    Name: storageClassName(object),
    ReclaimPolicy: optionalText("Delete", object, "reclaimPolicy"),
    VolumeBindingMode: optionalText("Immediate", object, "volumeBindingMode"),
    AllowVolumeExpansion: flagAt(object, "allowVolumeExpansion"),
  }),
  "storage.k8s.io/CSIDriver": (object) => ({
    AttachRequired: valueAt(object, "spec", "attachRequired") !== false,
    PodInfoOnMount: flagAt(object, "spec", "podInfoOnMount"),
    StorageCapacity: flagAt(object, "spec", "storageCapacity"),
    TokenRequests: isSetAt(object, "spec", "tokenRequests")
      ? itemsAt(object, "spec", "tokenRequests")
          .map((request) => textAt(request, "audience"))
          .join(",")
      : "<unset>",
    RequiresRepublish: flagAt(object, "spec", "requiresRepublish"),
    Modes: joinOr("<none>", textsAt(object, "spec", "volumeLifecycleModes")),
  }),
  "storage.k8s.io/CSINode": (object) => ({ Drivers: sizeAt(object, "spec", "drivers") }),
  "storage.k8s.io/VolumeAttachment": (object) => ({ PV: textAt(object, "spec", "source", "persistentVolumeName") }),
};

function phaseText(object: JsonObject): string {
  return isDeleting(object) ? "Terminating" : textAt(object, "status", "phase");
}

function accessModes(parent: unknown): string {
  const modes = new Set(textsAt(parent, "accessModes"));
  return ACCESS_MODES.flatMap(([mode, abbreviation]) => (modes.has(mode) ? [abbreviation] : [])).join(",");
}

function claimText(claim: unknown): string {
  return isSetAt(claim) ? `${textAt(claim, "namespace")}/${textAt(claim, "name")}` : "";
}

function storageClassOf(object: JsonObject): string {
  const annotation = valueAt(object, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class");
  return typeof annotation === "string" ? annotation : textAt(object, "spec", "storageClassName");
}

function storageClassName(storageClass: JsonObject): string {
  const name = textAt(storageClass, "metadata", "name");
  const annotations = valueAt(storageClass, "metadata", "annotations");
  const isDefault =
    valueAt(annotations, "storageclass.kubernetes.io/is-default-class") === "true" ||
    valueAt(annotations, "storageclass.beta.kubernetes.io/is-default-class") === "true";
  return isDefault ? `${name} (default)` : name;
}
