/**
 * Advice for manifests that move from one API version to another, because a new apiVersion alone often produces an
 * object that the server rejects, or that behaves differently.
 */

const SELECTOR = "Set spec.selector; it is required, and cannot be changed later. Use the labels of the Pod template.";
const STATEFUL_UPDATE =
  "spec.updateStrategy.type is RollingUpdate if it is not set; apps/v1beta1 and extensions/v1beta1 used OnDelete.";
const ROLLING =
  "Defaults differ: progressDeadlineSeconds 600, revisionHistoryLimit 10, maxSurge and maxUnavailable 25%. Remove spec.rollbackTo.";
const INGRESS =
  "Rename spec.backend to spec.defaultBackend, write backends as service.name and service.port.number or service.port.name, " +
  "and set pathType for each path (ImplementationSpecific behaves as before).";
const WEBHOOKS =
  "Set sideEffects (None or NoneOnDryRun) and admissionReviewVersions; they are required. Defaults differ: failurePolicy Fail, " +
  "matchPolicy Equivalent, timeoutSeconds 10.";
const CRD =
  "Move spec.version, validation, subresources and additionalPrinterColumns into spec.versions, with a structural schema for each " +
  "version; set spec.scope; rename JSONPath to jsonPath; move the webhook settings to spec.conversion.webhook; replace " +
  "preserveUnknownFields by x-kubernetes-preserve-unknown-fields in the schema.";
const HPA =
  "Write each metric's target as target.type with averageUtilization, averageValue or value; autoscaling/v2beta1 had " +
  "targetAverageUtilization and similar fields.";
const DRA =
  "The structure changed much between the versions of resource.k8s.io: write requests of v1 under spec.devices.requests[].exactly, " +
  "and check the driver's release notes.";
const CLASSIC_DRA =
  "Kubernetes 1.31 dropped resource classes and their parameters, and 1.32 the scheduling contexts: describe devices by DeviceClass " +
  "and ResourceClaim, and let the driver publish ResourceSlices.";
const VAP = "Fields are the same. In bindings set validationActions, which the first alpha version did not require.";

/** Keyed by kind, or by "apiVersion kind", which is the apiVersion that the manifest leaves. */
const HINTS: ReadonlyMap<string, readonly string[]> = new Map([
  ["Deployment", [SELECTOR, ROLLING]],
  ["DaemonSet", [SELECTOR, `${STATEFUL_UPDATE} Remove spec.templateGeneration.`]],
  ["StatefulSet", [SELECTOR, STATEFUL_UPDATE]],
  ["ReplicaSet", [SELECTOR]],
  ["Ingress", [INGRESS]],
  ["MutatingWebhookConfiguration", [WEBHOOKS]],
  ["ValidatingWebhookConfiguration", [WEBHOOKS]],
  ["CustomResourceDefinition", [CRD]],
  ["LocalSubjectAccessReview", ["Rename spec.group to spec.groups."]],
  ["SubjectAccessReview", ["Rename spec.group to spec.groups."]],
  [
    "CertificateSigningRequest",
    ["Set spec.signerName (kubernetes.io/legacy-unknown is not allowed) and spec.usages; both are required."],
  ],
  [
    "EndpointSlice",
    ["Use nodeName and zone of each endpoint instead of its topology labels, which v1 does not accept in writes."],
  ],
  [
    "events.k8s.io/v1beta1 Event",
    ["Rename involvedObject to regarding; set action, reason, reportingController, reportingInstance and eventTime."],
  ],
  [
    "policy/v1beta1 PodDisruptionBudget",
    ["An empty spec.selector matches every Pod of the namespace in policy/v1; in policy/v1beta1 it matched none."],
  ],
  [
    "PodSecurityPolicy",
    [
      "Use Pod Security Admission: label namespaces with pod-security.kubernetes.io/enforce, or use a policy engine of your choice.",
      "Delete the PodSecurityPolicy objects and their RBAC rules from the manifests.",
    ],
  ],
  ["autoscaling/v2beta1 HorizontalPodAutoscaler", [HPA]],
  [
    "flowcontrol.apiserver.k8s.io/v1beta3 PriorityLevelConfiguration",
    ["An explicit 0 in spec.limited.nominalConcurrencyShares stays 0 in v1; older versions replaced it by 30."],
  ],
  [
    "PriorityLevelConfiguration",
    ["Rename spec.limited.assuredConcurrencyShares to nominalConcurrencyShares; v1 keeps an explicit 0."],
  ],
  [
    "PodPreset",
    ["Set the values in the Pod templates, or use a mutating admission webhook or a MutatingAdmissionPolicy."],
  ],
  ["AuditSink", ["Configure audit webhooks by the flags of kube-apiserver, for example --audit-webhook-config-file."]],
  ["DeploymentRollback", ["Run kubectl rollout undo; the rollback subresource no longer exists."]],
  [
    "ClusterCIDR",
    ["Configure the Pod ranges of nodes by --cluster-cidr of kube-controller-manager or by your network plugin."],
  ],
  ["PodScheduling", [CLASSIC_DRA]],
  ["PodSchedulingContext", [CLASSIC_DRA]],
  ["ResourceClass", [CLASSIC_DRA]],
  ["ResourceClaimParameters", [CLASSIC_DRA]],
  ["ResourceClassParameters", [CLASSIC_DRA]],
  ["ResourceClaim", [DRA]],
  ["ResourceClaimTemplate", [DRA]],
  ["resource.k8s.io/v1beta2 ResourceClaim", []],
  ["resource.k8s.io/v1beta2 ResourceClaimTemplate", []],
  ["resource.k8s.io/v1beta1 ResourceSlice", ["Move the members of spec.devices[].basic into the device itself."]],
  [
    "node.k8s.io/v1alpha1 RuntimeClass",
    ["Move spec.runtimeHandler to handler, and overhead and scheduling out of spec."],
  ],
  ["ValidatingAdmissionPolicy", [VAP]],
  ["ValidatingAdmissionPolicyBinding", [VAP]],
  [
    "v1 Endpoints",
    [
      "Selectors of Services create EndpointSlices already; write an EndpointSlice only for a Service without a selector.",
    ],
  ],
  ["v1 ComponentStatus", ["Read /readyz and /livez of the components instead."]],
]);

/** Steps in the order in which the user takes them; empty if only the apiVersion changes. */
export function migrationHints(apiVersion: string, kind: string): readonly string[] {
  return HINTS.get(`${apiVersion} ${kind}`) ?? HINTS.get(kind) ?? [];
}
