/**
 * Lists the resources that webhooks or policies never apply to. Webhooks do not apply to webhook configurations and
 * policies, and policies not to policies, because they could block their own removal. Policies do not apply to reviews
 * either.
 */
import { formatGroupResource } from "../../../meta/group-version.ts";
import type { AdmissionRequest } from "../admission.ts";

const ADMISSION_GROUP = "admissionregistration.k8s.io";
const ADMISSION_KINDS: ReadonlySet<string> = new Set([
  "ValidatingWebhookConfiguration",
  "MutatingWebhookConfiguration",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
  "MutatingAdmissionPolicy",
  "MutatingAdmissionPolicyBinding",
]);
const UNSEEN_BY_POLICIES: ReadonlySet<string> = new Set([
  `validatingadmissionpolicies.${ADMISSION_GROUP}`,
  `validatingadmissionpolicybindings.${ADMISSION_GROUP}`,
  `mutatingadmissionpolicies.${ADMISSION_GROUP}`,
  `mutatingadmissionpolicybindings.${ADMISSION_GROUP}`,
  "selfsubjectreviews.authentication.k8s.io",
  "tokenreviews.authentication.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
]);

export function isExemptFromWebhooks({ kind }: Pick<AdmissionRequest, "kind">): boolean {
  return kind.group === ADMISSION_GROUP && ADMISSION_KINDS.has(kind.kind);
}

export function isExemptFromPolicies({
  groupVersion,
  resource,
}: Pick<AdmissionRequest, "groupVersion" | "resource">): boolean {
  return UNSEEN_BY_POLICIES.has(formatGroupResource({ group: groupVersion.group, resource }));
}
