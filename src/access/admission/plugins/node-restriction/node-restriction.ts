/**
 * Restricts the writes of a kubelet to its own Node, the pods on it and the objects that belong to them, regardless of
 * its RBAC permissions.
 */
import type { User } from "../../../auth/user.ts";
import { requestProblem } from "../../../../objects/kinds/access/signing-request-text.ts";
import { goQuote } from "../../../../meta/go-quote.ts";
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { jsonEquals, objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { AdmissionPlugin, Attributes } from "../../admission.ts";
import { admissionForbidden } from "../plugin-errors.ts";
import { readRequestedSubject } from "../../../auth/certificate-reader.ts";
import { nodeDenial } from "./node-rules.ts";
import { podDenial } from "./pod-rules.ts";
import { tokenDenial, type TokenPorts } from "./token-rules.ts";

const USER_PREFIX = "system:node:";
const GROUP = "system:nodes";
const LEASE_NAMESPACE = "kube-node-lease";
const KUBELET_SIGNERS: ReadonlySet<string> = new Set([
  "kubernetes.io/kubelet-serving",
  "kubernetes.io/kube-apiserver-client-kubelet",
]);

type DenialReason = (
  ports: TokenPorts,
  nodeName: string,
  attributes: Attributes,
) => Promise<string | undefined> | string | undefined;

const RULES: ReadonlyMap<string, DenialReason> = new Map<string, DenialReason>([
  ["pods", ({ reader }, nodeName, attributes) => podDenial(reader, nodeName, attributes)],
  ["nodes", (_, nodeName, attributes) => nodeDenial(nodeName, attributes)],
  ["persistentvolumeclaims", (_, nodeName, attributes) => claimDenial(nodeName, attributes)],
  [
    "serviceaccounts",
    (ports, nodeName, attributes) =>
      attributes.operation === "CREATE" && attributes.subresource === "token"
        ? tokenDenial(ports, nodeName, attributes)
        : undefined,
  ],
  ["leases.coordination.k8s.io", (_, nodeName, attributes) => leaseDenial(nodeName, attributes)],
  [
    "csinodes.storage.k8s.io",
    (_, nodeName, attributes) =>
      nameOf(attributes) === nodeName ? undefined : "can only access CSINode with the same name as the requesting node",
  ],
  ["resourceslices.resource.k8s.io", (_, nodeName, attributes) => sliceDenial(nodeName, attributes)],
  ["certificatesigningrequests.certificates.k8s.io", (_, nodeName, attributes) => requestDenial(nodeName, attributes)],
  // DIFFERS: kubernetes allows nodes to request pod certificates if the feature gate is enabled.
  ["podcertificaterequests.certificates.k8s.io", () => "PodCertificateRequest feature gate is disabled"],
]);

export function nodeRestriction(ports: TokenPorts): AdmissionPlugin {
  const check = async (attributes: Attributes): Promise<undefined> => {
    const nodeName = nodeNameOf(attributes.user);
    if (nodeName === undefined) return;
    if (nodeName === "")
      throw admissionForbidden(attributes, `could not determine node from user ${goQuote(attributes.user.name)}`);
    const { groupVersion, resource } = attributes;
    const rule = RULES.get(formatGroupResource({ group: groupVersion.group, resource }));
    const why = await rule?.(ports, nodeName, attributes);
    if (why !== undefined) throw admissionForbidden(attributes, why);
  };
  return {
    name: "NodeRestriction",
    handles: (operation, { groupVersion, resource }) =>
      operation !== "CONNECT" && RULES.has(formatGroupResource({ group: groupVersion.group, resource })),
    mutate: check,
    // As kubernetes: a write is checked in mutate, before other plugins change the object. A delete is not mutated, so
    // it is checked in validate.
    async validate(attributes) {
      if (attributes.operation === "DELETE") await check(attributes);
    },
  };
}

/** The node name of a kubelet; undefined if the user is not a node. */
function nodeNameOf({ name, groups }: User): string | undefined {
  return name.startsWith(USER_PREFIX) && groups.includes(GROUP) ? name.slice(USER_PREFIX.length) : undefined;
}

function nameOf({ operation, name, object }: Attributes): string {
  return operation === "CREATE" ? stringAt(objectAt(object ?? {}, "metadata"), "name") : name;
}

function claimDenial(nodeName: string, { operation, subresource, object, existing }: Attributes): string | undefined {
  if (subresource !== "status") return "may only update PVC status";
  if (operation !== "UPDATE") return `unexpected operation ${goQuote(operation)}`;
  if (jsonEquals(withoutVolumeState(object ?? {}), withoutVolumeState(existing ?? {}))) return undefined;
  // As kubernetes: the message says "quantity" for capacity. DIFFERS: kubernetes adds the difference in Go syntax.
  return `node ${goQuote(nodeName)} is not allowed to update fields other than status.quantity and status.conditions`;
}

/** The claim without the fields that a node may update. */
function withoutVolumeState(claim: JsonObject): JsonObject {
  const { resourceVersion: _version, managedFields: _fields, ...metadata } = objectAt(claim, "metadata");
  const {
    capacity: _capacity,
    conditions: _conditions,
    allocatedResources: _allocated,
    allocatedResourceStatuses: _statuses,
    ...status
  } = objectAt(claim, "status");
  return { ...claim, metadata, status };
}

function leaseDenial(nodeName: string, attributes: Attributes): string | undefined {
  if (attributes.namespace !== LEASE_NAMESPACE)
    return `can only access leases in the ${goQuote(LEASE_NAMESPACE)} system namespace`;
  return nameOf(attributes) === nodeName
    ? undefined
    : "can only access node lease with the same name as the requesting node";
}

function sliceDenial(nodeName: string, { operation, object, existing }: Attributes): string | undefined {
  if (operation === "UPDATE") return undefined;
  const slice = (operation === "CREATE" ? object : existing) ?? {};
  if (objectAt(slice, "spec")["nodeName"] === nodeName) return undefined;
  return `can only ${operation.toLowerCase()} ResourceSlice with the same NodeName as the requesting node`;
}

function requestDenial(nodeName: string, { operation, object }: Attributes): string | undefined {
  const spec = objectAt(object ?? {}, "spec");
  if (operation !== "CREATE" || !KUBELET_SIGNERS.has(stringAt(spec, "signerName"))) return undefined;
  const request = stringAt(spec, "request");
  const problem = requestProblem(request);
  if (problem !== undefined) return `unable to parse csr: ${problem}`;
  return readRequestedSubject(request)?.commonName === USER_PREFIX + nodeName
    ? undefined
    : `can only create a node CSR with CN=${USER_PREFIX}${nodeName}`;
}
