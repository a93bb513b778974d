/** Lists the kinds whose versions differ only in the apiVersion, so that conversion changes nothing else. */
import type { KindShapes } from "./shapes.ts";

/**
 * The kinds whose versions all have the same shape. A kind is listed only if one release serves or decodes several of
 * its versions.
 */
export const SAME_SHAPES: readonly KindShapes[] = Object.freeze([
  sameShape(
    "admissionregistration.k8s.io",
    ["v1", "v1beta1", "v1alpha1"],
    [
      "MutatingAdmissionPolicy",
      "MutatingAdmissionPolicyBinding",
      "ValidatingAdmissionPolicy",
      "ValidatingAdmissionPolicyBinding",
    ],
  ),
  sameShape(
    "admissionregistration.k8s.io",
    ["v1", "v1beta1"],
    ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  ),
  sameShape("apiregistration.k8s.io", ["v1", "v1beta1"], ["APIService"]),
  sameShape("apps", ["v1", "v1beta2", "v1beta1"], ["ControllerRevision", "StatefulSet"]),
  sameShape("apps", ["v1", "v1beta2"], ["DaemonSet", "ReplicaSet"]),
  sameShape("authentication.k8s.io", ["v1", "v1beta1", "v1alpha1"], ["SelfSubjectReview"]),
  sameShape("batch", ["v1", "v1beta1"], ["CronJob"]),
  sameShape("certificates.k8s.io", ["v1", "v1beta1"], ["CertificateSigningRequest"]),
  sameShape("certificates.k8s.io", ["v1", "v1beta1", "v1alpha1"], ["ClusterTrustBundle"]),
  // v1 does not have pkixPublicKey and proofOfPossession; objects with these fields keep them.
  sameShape("certificates.k8s.io", ["v1", "v1beta1"], ["PodCertificateRequest"]),
  sameShape("coordination.k8s.io", ["v1", "v1beta1"], ["Lease"]),
  sameShape("coordination.k8s.io", ["v1beta1", "v1alpha2"], ["LeaseCandidate"]),
  sameShape("networking.k8s.io", ["v1", "v1beta1"], ["IngressClass"]),
  sameShape("networking.k8s.io", ["v1", "v1beta1", "v1alpha1"], ["IPAddress", "ServiceCIDR"]),
  sameShape("policy", ["v1", "v1beta1"], ["Eviction"]),
  sameShape("scheduling.k8s.io", ["v1beta1", "v1alpha3"], ["PodGroup", "Workload"]),
  sameShape("scheduling.k8s.io", ["v1", "v1beta1", "v1alpha1"], ["PriorityClass"]),
  // CSINode has a status only in v1; objects with a status keep it.
  sameShape("storage.k8s.io", ["v1", "v1beta1"], ["CSIDriver", "CSINode", "StorageClass"]),
  sameShape(
    "storage.k8s.io",
    ["v1", "v1beta1", "v1alpha1"],
    ["CSIStorageCapacity", "VolumeAttachment", "VolumeAttributesClass"],
  ),
  sameShape("storagemigration.k8s.io", ["v1", "v1beta1"], ["StorageVersionMigration"]),
]);

function sameShape(group: string, versions: readonly string[], kinds: readonly string[]): KindShapes {
  return { kinds, hub: versions.map((version) => `${group}/${version}`), spokes: [] };
}
