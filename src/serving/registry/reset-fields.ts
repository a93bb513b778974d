/** The fields that an endpoint cannot write. No manager becomes their owner through that endpoint. */
import type { UpdateEndpoint } from "./prepare.ts";
import type { ServedResource } from "./resource.ts";

type FieldPaths = readonly (readonly string[])[];

const SPEC: FieldPaths = [["spec"]];
const STATUS: FieldPaths = [["status"]];
const METADATA_AND_SPEC: FieldPaths = [["metadata"], ["spec"]];

/**
 * The fields that /status cannot write, keyed by group and kind. For all other kinds it is only the spec, or metadata
 * and spec if the kind has `keepsMetadataInStatus`.
 */
const THROUGH_STATUS: ReadonlyMap<string, FieldPaths> = new Map([
  ["apps/Deployment", [["spec"], ["metadata", "labels"]]],
  ["/Pod", [["spec"], ["metadata", "deletionTimestamp"], ["metadata", "ownerReferences"]]],
  ["certificates.k8s.io/CertificateSigningRequest", [["spec"], ["status", "conditions"]]],
]);

export function resetFields(
  { stored, groupVersion, kind, meaning }: ServedResource,
  endpoint: UpdateEndpoint,
): FieldPaths {
  if (endpoint === "status" && meaning.keepsMetadataInStatus === true) return METADATA_AND_SPEC;
  if (endpoint === "status") return THROUGH_STATUS.get(`${groupVersion.group}/${kind}`) ?? SPEC;
  if (endpoint === "finalize") return STATUS;
  if (kind === "CertificateSigningRequest") return [...SPEC, ...STATUS];
  return stored.strategy.hasStatus ? STATUS : [];
}
