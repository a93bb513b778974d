/** Rows of role bindings and certificates. */
import type { JsonObject } from "../../meta/json.ts";
import { humanDuration } from "./duration.ts";
import { integerAt, isSetAt, itemsAt, labelsText, textAt, valueAt, type RowPrinter, type RowPrinters } from "./row.ts";

const binding: RowPrinter = (object) => ({
  Role: `${textAt(object, "roleRef", "kind")}/${textAt(object, "roleRef", "name")}`,
  Users: subjectNames(object, "User").join(", "),
  Groups: subjectNames(object, "Group").join(", "),
  ServiceAccounts: subjectsOf(object, "ServiceAccount")
    .map((subject) => `${textAt(subject, "namespace")}/${textAt(subject, "name")}`)
    .join(", "),
});

export const ACCESS_PRINTERS: RowPrinters = {
  "rbac.authorization.k8s.io/RoleBinding": binding,
  "rbac.authorization.k8s.io/ClusterRoleBinding": binding,
  "certificates.k8s.io/CertificateSigningRequest": (object) => ({
    SignerName: textAt(object, "spec", "signerName") || "<none>",
    RequestedDuration: isSetAt(object, "spec", "expirationSeconds")
      ? humanDuration(integerAt(object, "spec", "expirationSeconds") * 1_000)
      : "<none>",
    Condition: signingState(object),
  }),
  "certificates.k8s.io/ClusterTrustBundle": (object) => ({
    SignerName: textAt(object, "spec", "signerName") || "<none>",
  }),
  "certificates.k8s.io/PodCertificateRequest": (object) => ({
    State: podCertificateState(object),
    UnverifiedUserAnnotations: labelsText(valueAt(object, "spec", "unverifiedUserAnnotations")),
  }),
};

function subjectsOf(object: JsonObject, kind: string): readonly JsonObject[] {
  return itemsAt(object, "subjects").filter((subject) => subject["kind"] === kind);
}

function subjectNames(object: JsonObject, kind: string): readonly string[] {
  return subjectsOf(object, kind).map((subject) => textAt(subject, "name"));
}

function conditionTypes(object: JsonObject): readonly string[] {
  return itemsAt(object, "status", "conditions").map((condition) => textAt(condition, "type"));
}

function signingState(request: JsonObject): string {
  const types = conditionTypes(request);
  const decision = types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending";
  const failed = types.includes("Failed") ? ",Failed" : "";
  const issued = textAt(request, "status", "certificate") === "" ? "" : ",Issued";
  return `${decision}${failed}${issued}`;
}

function podCertificateState(request: JsonObject): string {
  return conditionTypes(request).findLast((type) => ["Issued", "Denied", "Failed"].includes(type)) ?? "Pending";
}
