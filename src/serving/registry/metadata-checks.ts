/**
 * How often the update of each kind validates metadata. As kubernetes: after the generic validation, the validation of
 * most kinds validates metadata again, so that clients receive each error several times. Keys are "group/resource" as
 * in requests.
 */
import { ADMISSION_RESOURCES } from "./strategies.ts";

/** `object` validates the metadata as that of a new object, `update` compares it with that of the stored object. */
type MetadataCheck = "object" | "update";

const AGAINST_STORED: readonly MetadataCheck[] = ["update"];
const AS_NEW: readonly MetadataCheck[] = ["object"];
const BOTH: readonly MetadataCheck[] = ["object", "update"];
const NONE: readonly MetadataCheck[] = [];

const OF_UPDATES: ReadonlyMap<string, readonly MetadataCheck[]> = new Map([
  ["/configmaps", BOTH],
  ["/endpoints", BOTH],
  ["/events", NONE],
  ["/limitranges", AS_NEW],
  ["/namespaces", BOTH],
  ["/nodes", BOTH],
  ["/persistentvolumeclaims", BOTH],
  ["/persistentvolumes", ["object", "object"]],
  ["/pods", BOTH],
  ["/secrets", BOTH],
  ["/serviceaccounts", BOTH],
  ["admissionregistration.k8s.io/mutatingadmissionpolicies", AS_NEW],
  ["admissionregistration.k8s.io/mutatingadmissionpolicybindings", AS_NEW],
  ["admissionregistration.k8s.io/mutatingwebhookconfigurations", AS_NEW],
  ["admissionregistration.k8s.io/validatingadmissionpolicies", AS_NEW],
  ["admissionregistration.k8s.io/validatingadmissionpolicybindings", AS_NEW],
  ["admissionregistration.k8s.io/validatingwebhookconfigurations", AS_NEW],
  ["apiregistration.k8s.io/apiservices", BOTH],
  ["apps/controllerrevisions", BOTH],
  ["apps/statefulsets", BOTH],
  ["batch/jobs", BOTH],
  ["certificates.k8s.io/certificatesigningrequests", BOTH],
  ["discovery.k8s.io/endpointslices", AS_NEW],
  ["flowcontrol.apiserver.k8s.io/flowschemas", AS_NEW],
  ["flowcontrol.apiserver.k8s.io/prioritylevelconfigurations", AS_NEW],
  ["internal.apiserver.k8s.io/storageversions", NONE],
  ["networking.k8s.io/ingressclasses", BOTH],
  ["networking.k8s.io/ingresses", BOTH],
  ["networking.k8s.io/ipaddresses", BOTH],
  ["node.k8s.io/runtimeclasses", BOTH],
  ["policy/poddisruptionbudgets", NONE],
  ["rbac.authorization.k8s.io/clusterrolebindings", BOTH],
  ["rbac.authorization.k8s.io/clusterroles", BOTH],
  ["rbac.authorization.k8s.io/rolebindings", BOTH],
  ["rbac.authorization.k8s.io/roles", BOTH],
  ["resource.k8s.io/deviceclasses", BOTH],
  ["resource.k8s.io/resourceclaims", BOTH],
  ["storage.k8s.io/csinodes", AS_NEW],
  ["storage.k8s.io/csistoragecapacities", BOTH],
  ["storage.k8s.io/storageclasses", BOTH],
  ["storage.k8s.io/volumeattachments", AS_NEW],
  ["storage.k8s.io/volumeattributesclasses", BOTH],
  ["storagemigration.k8s.io/storageversionmigrations", BOTH],
]);

const NOT_OF_STATUS: ReadonlySet<string> = new Set([
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  "batch/cronjobs",
  "flowcontrol.apiserver.k8s.io/flowschemas",
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
  "internal.apiserver.k8s.io/storageversions",
  "policy/poddisruptionbudgets",
]);

/** Kinds whose finalizers may be any qualified name, with or without a prefix. */
const TAKE_ANY_FINALIZER: ReadonlySet<string> = new Set([
  "/events",
  ...ADMISSION_RESOURCES,
  "apiextensions.k8s.io/customresourcedefinitions",
  "apiregistration.k8s.io/apiservices",
  "coordination.k8s.io/leasecandidates",
  "coordination.k8s.io/leases",
  "node.k8s.io/runtimeclasses",
  "policy/poddisruptionbudgets",
]);

interface MetadataChecks {
  readonly ofUpdate: readonly MetadataCheck[];
  readonly ofStatusUpdate: readonly MetadataCheck[];
  readonly takesAnyFinalizer: boolean;
}

const CUSTOM: MetadataChecks = { ofUpdate: AGAINST_STORED, ofStatusUpdate: AGAINST_STORED, takesAnyFinalizer: true };

export function metadataChecks(
  { group, resource }: { readonly group: string; readonly resource: string },
  isCustom: boolean,
): MetadataChecks {
  if (isCustom) return CUSTOM;
  const key = `${group}/${resource}`;
  return {
    ofUpdate: OF_UPDATES.get(key) ?? AGAINST_STORED,
    ofStatusUpdate: NOT_OF_STATUS.has(key) ? NONE : AGAINST_STORED,
    takesAnyFinalizer: TAKE_ANY_FINALIZER.has(key),
  };
}
