/**
 * The API versions that Kubernetes removed in the releases 1.16 to 1.28, which the catalog does not have. `check` needs
 * them, because manifests live longer than releases.
 */

/** The number after "1." of a release, for example 22. */
export type Minor = number;

interface RemovedApi {
  readonly apiVersion: string;
  readonly kind: string;
  /** The first release that served it; absent if 1.14 and older releases already did. */
  readonly introduced?: Minor;
  readonly deprecated?: Minor;
  /** The first release that does not serve it by default. */
  readonly removed: Minor;
  /** The kind stays the same. Absent if Kubernetes has no replacement. */
  readonly replacement?: string;
}

type Row = readonly [
  apiVersion: string,
  kinds: string,
  removed: Minor,
  more: { readonly introduced?: Minor; readonly deprecated?: Minor; readonly to?: string },
];

const ROWS: readonly Row[] = [
  ["extensions/v1beta1", "DaemonSet Deployment ReplicaSet", 16, { deprecated: 8, to: "apps/v1" }],
  ["extensions/v1beta1", "DeploymentRollback", 16, { deprecated: 8 }],
  ["extensions/v1beta1", "NetworkPolicy", 16, { deprecated: 9, to: "networking.k8s.io/v1" }],
  ["extensions/v1beta1", "PodSecurityPolicy", 16, { deprecated: 11 }],
  ["extensions/v1beta1", "Scale", 16, { deprecated: 8, to: "autoscaling/v1" }],
  ["apps/v1beta1", "ControllerRevision Deployment StatefulSet", 16, { deprecated: 8, to: "apps/v1" }],
  ["apps/v1beta1", "DeploymentRollback", 16, { deprecated: 8 }],
  ["apps/v1beta1", "Scale", 16, { deprecated: 8, to: "autoscaling/v1" }],
  [
    "apps/v1beta2",
    "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    16,
    { deprecated: 9, to: "apps/v1" },
  ],
  ["apps/v1beta2", "Scale", 16, { deprecated: 9, to: "autoscaling/v1" }],
  ["discovery.k8s.io/v1alpha1", "EndpointSlice", 17, { introduced: 16, to: "discovery.k8s.io/v1" }],
  ["auditregistration.k8s.io/v1alpha1", "AuditSink", 19, {}],
  ["settings.k8s.io/v1alpha1", "PodPreset", 20, {}],
  ["batch/v2alpha1", "CronJob", 21, { to: "batch/v1" }],
  [
    "flowcontrol.apiserver.k8s.io/v1alpha1",
    "FlowSchema PriorityLevelConfiguration",
    21,
    { introduced: 17, deprecated: 20, to: "flowcontrol.apiserver.k8s.io/v1" },
  ],
  [
    "admissionregistration.k8s.io/v1beta1",
    "MutatingWebhookConfiguration ValidatingWebhookConfiguration",
    22,
    { deprecated: 16, to: "admissionregistration.k8s.io/v1" },
  ],
  ["apiextensions.k8s.io/v1beta1", "CustomResourceDefinition", 22, { deprecated: 16, to: "apiextensions.k8s.io/v1" }],
  ["apiregistration.k8s.io/v1beta1", "APIService", 22, { deprecated: 19, to: "apiregistration.k8s.io/v1" }],
  ["authentication.k8s.io/v1beta1", "TokenReview", 22, { deprecated: 19, to: "authentication.k8s.io/v1" }],
  [
    "authorization.k8s.io/v1beta1",
    "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview",
    22,
    { deprecated: 19, to: "authorization.k8s.io/v1" },
  ],
  ["certificates.k8s.io/v1beta1", "CertificateSigningRequest", 22, { deprecated: 19, to: "certificates.k8s.io/v1" }],
  ["coordination.k8s.io/v1beta1", "Lease", 22, { deprecated: 19, to: "coordination.k8s.io/v1" }],
  ["extensions/v1beta1", "Ingress", 22, { deprecated: 14, to: "networking.k8s.io/v1" }],
  ["networking.k8s.io/v1beta1", "Ingress", 22, { deprecated: 19, to: "networking.k8s.io/v1" }],
  ["networking.k8s.io/v1beta1", "IngressClass", 22, { introduced: 18, deprecated: 19, to: "networking.k8s.io/v1" }],
  [
    "rbac.authorization.k8s.io/v1beta1",
    "ClusterRole ClusterRoleBinding Role RoleBinding",
    22,
    { deprecated: 17, to: "rbac.authorization.k8s.io/v1" },
  ],
  ["scheduling.k8s.io/v1beta1", "PriorityClass", 22, { deprecated: 14, to: "scheduling.k8s.io/v1" }],
  [
    "storage.k8s.io/v1beta1",
    "CSIDriver StorageClass VolumeAttachment",
    22,
    { deprecated: 19, to: "storage.k8s.io/v1" },
  ],
  ["storage.k8s.io/v1beta1", "CSINode", 22, { deprecated: 17, to: "storage.k8s.io/v1" }],
  [
    "rbac.authorization.k8s.io/v1alpha1",
    "ClusterRole ClusterRoleBinding Role RoleBinding",
    23,
    { deprecated: 17, to: "rbac.authorization.k8s.io/v1" },
  ],
  ["scheduling.k8s.io/v1alpha1", "PriorityClass", 23, { deprecated: 14, to: "scheduling.k8s.io/v1" }],
  ["storage.k8s.io/v1alpha1", "VolumeAttachment", 23, { deprecated: 21, to: "storage.k8s.io/v1" }],
  ["node.k8s.io/v1alpha1", "RuntimeClass", 24, { to: "node.k8s.io/v1" }],
  ["storage.k8s.io/v1alpha1", "CSIStorageCapacity", 24, { introduced: 19, deprecated: 21, to: "storage.k8s.io/v1" }],
  ["autoscaling/v2beta1", "HorizontalPodAutoscaler", 25, { deprecated: 22, to: "autoscaling/v2" }],
  ["batch/v1beta1", "CronJob", 25, { deprecated: 21, to: "batch/v1" }],
  ["discovery.k8s.io/v1beta1", "EndpointSlice", 25, { introduced: 17, deprecated: 21, to: "discovery.k8s.io/v1" }],
  ["events.k8s.io/v1beta1", "Event", 25, { deprecated: 22, to: "events.k8s.io/v1" }],
  ["node.k8s.io/v1beta1", "RuntimeClass", 25, { deprecated: 22, to: "node.k8s.io/v1" }],
  ["policy/v1beta1", "PodDisruptionBudget", 25, { deprecated: 21, to: "policy/v1" }],
  ["policy/v1beta1", "Eviction", 25, { deprecated: 22, to: "policy/v1" }],
  ["policy/v1beta1", "PodSecurityPolicy", 25, { deprecated: 21 }],
  ["autoscaling/v2beta2", "HorizontalPodAutoscaler", 26, { deprecated: 23, to: "autoscaling/v2" }],
  [
    "flowcontrol.apiserver.k8s.io/v1beta1",
    "FlowSchema PriorityLevelConfiguration",
    26,
    { introduced: 20, deprecated: 23, to: "flowcontrol.apiserver.k8s.io/v1" },
  ],
  ["resource.k8s.io/v1alpha1", "ResourceClaim ResourceClaimTemplate", 27, { introduced: 26, to: "resource.k8s.io/v1" }],
  ["resource.k8s.io/v1alpha1", "PodScheduling ResourceClass", 27, { introduced: 26 }],
  ["storage.k8s.io/v1beta1", "CSIStorageCapacity", 27, { introduced: 21, deprecated: 24, to: "storage.k8s.io/v1" }],
];

/** One entry for each kind. */
export function removedApis(): readonly RemovedApi[] {
  return ROWS.flatMap(([apiVersion, kinds, removed, { to, ...more }]) =>
    kinds.split(" ").map((kind) => ({
      apiVersion,
      kind,
      removed,
      ...more,
      ...(to !== undefined && { replacement: to }),
    })),
  );
}

/**
 * Releases before 1.28 that introduced an API version of the catalog, where its lifecycle does not say it or names
 * another release.
 */
const INTRODUCED: ReadonlyMap<string, Minor> = new Map([
  ["admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicy", 26],
  ["admissionregistration.k8s.io/v1alpha1 ValidatingAdmissionPolicyBinding", 26],
  ["apiextensions.k8s.io/v1 CustomResourceDefinition", 16],
  ["apiregistration.k8s.io/v1 APIService", 10],
  ["authorization.k8s.io/v1 LocalSubjectAccessReview", 6],
  ["authorization.k8s.io/v1 SelfSubjectAccessReview", 6],
  ["authorization.k8s.io/v1 SelfSubjectRulesReview", 8],
  ["certificates.k8s.io/v1alpha1 ClusterTrustBundle", 27],
  ["internal.apiserver.k8s.io/v1alpha1 StorageVersion", 20],
  ["networking.k8s.io/v1alpha1 ServiceCIDR", 29],
  ["resource.k8s.io/v1alpha2 PodSchedulingContext", 27],
  ["resource.k8s.io/v1alpha2 ResourceClaim", 27],
  ["resource.k8s.io/v1alpha2 ResourceClaimTemplate", 27],
  ["resource.k8s.io/v1alpha2 ResourceClass", 27],
]);

export function introducedBeforeCatalog(apiVersion: string, kind: string): Minor | undefined {
  return INTRODUCED.get(`${apiVersion} ${kind}`);
}
