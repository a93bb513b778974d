/** What a door cannot write: nobody comes to own it through that door. */
import type { Door } from "./prepare.ts";
import type { ServedResource } from "./resource.ts";

type FieldPaths = readonly (readonly string[])[];

const SPEC: FieldPaths = [["spec"]];
const STATUS: FieldPaths = [["status"]];
const METADATA_AND_SPEC: FieldPaths = [["metadata"], ["spec"]];

/** Of most kinds /status leaves the spec alone; these differ. By group and kind. */
const THROUGH_STATUS: ReadonlyMap<string, FieldPaths> = new Map([
  ["apps/Deployment", [["spec"], ["metadata", "labels"]]],
  ["/Pod", [["spec"], ["metadata", "deletionTimestamp"], ["metadata", "ownerReferences"]]],
  ["certificates.k8s.io/CertificateSigningRequest", [["spec"], ["status", "conditions"]]],
  ...[
    "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
    "apiregistration.k8s.io/APIService",
    "flowcontrol.apiserver.k8s.io/FlowSchema",
    "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
    "internal.apiserver.k8s.io/StorageVersion",
    "networking.k8s.io/ServiceCIDR",
    "resource.k8s.io/DeviceTaintRule",
    "resource.k8s.io/ResourceClaim",
    "resource.k8s.io/ResourcePoolStatusRequest",
    "scheduling.k8s.io/PodGroup",
    "storage.k8s.io/VolumeAttachment",
    "storagemigration.k8s.io/StorageVersionMigration",
  ].map((kind) => [kind, METADATA_AND_SPEC] as const),
]);

export function resetFields({ stored, groupVersion, kind }: ServedResource, door: Door): FieldPaths {
  if (door === "status") return THROUGH_STATUS.get(`${groupVersion.group}/${kind}`) ?? SPEC;
  if (door === "finalize") return STATUS;
  if (kind === "CertificateSigningRequest") return [...SPEC, ...STATUS];
  return stored.strategy.hasStatus ? STATUS : [];
}
