/** Lists the kinds of storage, CSI and dynamic resource allocation. */
import type { KindEntry } from "../kind.ts";
import { CSI_DRIVER, CSI_NODE, CSI_STORAGE_CAPACITY } from "./csi.ts";
import { DEVICE_TAINT_RULE, RESOURCE_POOL_STATUS_REQUEST } from "./devices/device-taint-rule.ts";
import { DEVICE_CLASS } from "./devices/device-class.ts";
import { resourceClaimOf, resourceClaimTemplateOf } from "./devices/resource-claim.ts";
import { RESOURCE_SLICE } from "./devices/resource-slice.ts";
import { PERSISTENT_VOLUME_CLAIM } from "./persistent-volume-claim.ts";
import { PERSISTENT_VOLUME } from "./persistent-volume.ts";
import { STORAGE_CLASS, VOLUME_ATTRIBUTES_CLASS } from "./storage-class.ts";
import { VOLUME_ATTACHMENT } from "./volume-attachment.ts";

export const STORAGE_KINDS: readonly KindEntry[] = [
  ["/PersistentVolume", PERSISTENT_VOLUME],
  ["/PersistentVolumeClaim", PERSISTENT_VOLUME_CLAIM],
  ["storage.k8s.io/StorageClass", STORAGE_CLASS],
  ["storage.k8s.io/VolumeAttributesClass", VOLUME_ATTRIBUTES_CLASS],
  ["storage.k8s.io/VolumeAttachment", VOLUME_ATTACHMENT],
  ["storage.k8s.io/CSIDriver", CSI_DRIVER],
  ["storage.k8s.io/CSINode", CSI_NODE],
  ["storage.k8s.io/CSIStorageCapacity", CSI_STORAGE_CAPACITY],
  ["resource.k8s.io/DeviceClass", DEVICE_CLASS],
  ["resource.k8s.io/DeviceTaintRule", DEVICE_TAINT_RULE],
  ["resource.k8s.io/ResourcePoolStatusRequest", RESOURCE_POOL_STATUS_REQUEST],
  ["resource.k8s.io/v1/ResourceSlice", RESOURCE_SLICE],
  ["resource.k8s.io/v1beta2/ResourceSlice", RESOURCE_SLICE],
  ["resource.k8s.io/v1/ResourceClaim", resourceClaimOf("general")],
  ["resource.k8s.io/v1beta2/ResourceClaim", resourceClaimOf("general")],
  ["resource.k8s.io/v1beta1/ResourceClaim", resourceClaimOf("flat")],
  ["resource.k8s.io/v1alpha3/ResourceClaim", resourceClaimOf("flat")],
  ["resource.k8s.io/v1/ResourceClaimTemplate", resourceClaimTemplateOf("general")],
  ["resource.k8s.io/v1beta2/ResourceClaimTemplate", resourceClaimTemplateOf("general")],
  ["resource.k8s.io/v1beta1/ResourceClaimTemplate", resourceClaimTemplateOf("flat")],
  ["resource.k8s.io/v1alpha3/ResourceClaimTemplate", resourceClaimTemplateOf("flat")],
];
