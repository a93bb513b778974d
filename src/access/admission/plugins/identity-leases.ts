/**
 * Keeps clients from creating or changing identity leases, by which people and kube-apiservers see the servers of a
 * cluster. Kubernetes has no such check. Evenkeel does not judge by these leases alone, so the check only keeps them
 * readable. It has no name in --disable-admission-plugins, because it must always be on.
 */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { CREATE_AND_UPDATE, handlesOnly } from "./handled-writes.ts";
import { admissionForbidden } from "./plugin-errors.ts";

const NAMESPACE = "kube-system";
const LABEL = "apiserver.kubernetes.io/identity";
/** API servers of other components, such as aggregated ones, write their leases as ordinary clients. */
const COMPONENT = "kube-apiserver";
/** The group of administrators and of the servers themselves. */
const MASTERS = "system:masters";

export function identityLeases(): AdmissionPlugin {
  return {
    name: "IdentityLeases",
    handles: handlesOnly({ group: "coordination.k8s.io", resource: "leases", operations: CREATE_AND_UPDATE }),
    validate(attributes) {
      const { object, existing, namespace, user } = attributes;
      const isIdentity = namespace === NAMESPACE && (isLabeled(object) || isLabeled(existing));
      if (!isIdentity || user.groups.includes(MASTERS)) return;
      throw admissionForbidden(
        attributes,
        `only API servers may create or change a lease in ${NAMESPACE} with the label ${LABEL}=${COMPONENT}`,
      );
    },
  };
}

function isLabeled(lease: JsonObject | undefined): boolean {
  return stringAt(objectAt(objectAt(lease ?? {}, "metadata"), "labels"), LABEL) === COMPONENT;
}
