/**
 * The certificate plugins. They check who may approve and sign certificate signing requests and attest trust bundles,
 * and which certificate subjects are forbidden.
 */
import type { Authorizer } from "../../auth/authorize.ts";
import type { User } from "../../auth/user.ts";
import { requestProblem } from "../../../objects/kinds/access/signing-request-text.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { jsonEquals, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { AdmissionPlugin } from "../admission.ts";
import { CREATE_AND_UPDATE, handlesOnly } from "./handled-writes.ts";
import { admissionForbidden } from "./plugin-errors.ts";
import { readRequestedSubject } from "../../auth/certificate-reader.ts";
import { isSameButForOwnership } from "../../auth/rbac/ownership.ts";

const GROUP = "certificates.k8s.io";
const SIGNING_REQUESTS = "certificatesigningrequests";
const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client";
const MASTERS = "system:masters";

function signerOf(object: JsonObject | undefined): string {
  return stringAt(objectAt(object ?? {}, "spec"), "signerName");
}

/** Whether the user has the permission for this signer or for all signers of its domain. */
function mayUseSigner(authorizer: Authorizer, user: User, verb: string, signer: string): boolean {
  const domain = signer.split("/")[0] ?? "";
  return [signer, `${domain}/*`].some((name) => {
    const asked = { verb, group: GROUP, version: "*", namespace: "", resource: "signers", subresource: "", name };
    return authorizer(user, { ...asked, isResourceRequest: true, path: "" }).allowed;
  });
}

export function certificateApproval(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateApproval",
    handles: handlesOnly({ group: GROUP, resource: SIGNING_REQUESTS, operations: { UPDATE: ["approval"] } }),
    validate(attributes) {
      const signer = signerOf(attributes.existing);
      if (mayUseSigner(authorizer, attributes.user, "approve", signer)) return;
      throw admissionForbidden(attributes, `user not permitted to approve requests with signerName ${goQuote(signer)}`);
    },
  };
}

export function certificateSigning(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "CertificateSigning",
    handles: handlesOnly({ group: GROUP, resource: SIGNING_REQUESTS, operations: { UPDATE: ["status"] } }),
    validate(attributes) {
      const before = objectAt(attributes.existing ?? {}, "status");
      const after = objectAt(attributes.object ?? {}, "status");
      const isUnsigned = stringAt(before, "certificate") === stringAt(after, "certificate");
      if (isUnsigned && jsonEquals(before["conditions"] ?? [], after["conditions"] ?? [])) return;
      const signer = signerOf(attributes.existing);
      if (mayUseSigner(authorizer, attributes.user, "sign", signer)) return;
      throw admissionForbidden(attributes, `user not permitted to sign requests with signerName ${goQuote(signer)}`);
    },
  };
}

export function clusterTrustBundleAttest(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: "ClusterTrustBundleAttest",
    handles: handlesOnly({ group: GROUP, resource: "clustertrustbundles", operations: CREATE_AND_UPDATE }),
    validate(attributes) {
      const { object, existing, operation, user } = attributes;
      const signer = signerOf(object);
      if (object === undefined || signer === "") return;
      if (operation === "UPDATE" && existing !== undefined && isSameButForOwnership(object, existing)) return;
      if (mayUseSigner(authorizer, user, "attest", signer)) return;
      throw admissionForbidden(attributes, `user not permitted to attest for signerName ${goQuote(signer)}`);
    },
  };
}

export function certificateSubjectRestriction(): AdmissionPlugin {
  return {
    name: "CertificateSubjectRestriction",
    handles: handlesOnly({ group: GROUP, resource: SIGNING_REQUESTS, operations: { CREATE: [""] } }),
    validate(attributes) {
      if (signerOf(attributes.object) !== CLIENT_SIGNER) return;
      const request = stringAt(objectAt(attributes.object ?? {}, "spec"), "request");
      const subject = readRequestedSubject(request);
      if (subject === undefined) {
        // DIFFERS: Go's exact error for an unreadable subject is not reproduced.
        const why = requestProblem(request) ?? "x509: invalid subject";
        throw admissionForbidden(attributes, `failed to parse CSR: ${why}`);
      }
      if (subject.organizations.includes(MASTERS))
        throw admissionForbidden(attributes, `use of ${CLIENT_SIGNER} signer with ${MASTERS} group is not allowed`);
    },
  };
}
