/** Lists the kinds of RBAC, certificates, admission, API registration, flow control and runtime classes. */
import type { KindEntry } from "../kind.ts";
import {
  MUTATING_ADMISSION_POLICY,
  MUTATING_ADMISSION_POLICY_BINDING,
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
  withParameterDefault,
} from "./admission-policies.ts";
import { API_SERVICE } from "./api-service.ts";
import { CERTIFICATE_SIGNING_REQUEST, CLUSTER_TRUST_BUNDLE, POD_CERTIFICATE_REQUEST } from "./certificates.ts";
import {
  ASSURED_PRIORITY_LEVEL_CONFIGURATION,
  BETA_PRIORITY_LEVEL_CONFIGURATION,
  FLOW_SCHEMA,
  PRIORITY_LEVEL_CONFIGURATION,
} from "./flow-control.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING } from "./roles.ts";
import { RUNTIME_CLASS } from "./runtime-class.ts";
import { MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION } from "./webhook-configurations.ts";

const ADMISSION = "admissionregistration.k8s.io";
const FLOW_CONTROL = "flowcontrol.apiserver.k8s.io";

export const ACCESS_KINDS: readonly KindEntry[] = [
  ["rbac.authorization.k8s.io/Role", ROLE],
  ["rbac.authorization.k8s.io/ClusterRole", CLUSTER_ROLE],
  ["rbac.authorization.k8s.io/RoleBinding", ROLE_BINDING],
  ["rbac.authorization.k8s.io/ClusterRoleBinding", CLUSTER_ROLE_BINDING],
  ["certificates.k8s.io/CertificateSigningRequest", CERTIFICATE_SIGNING_REQUEST],
  ["certificates.k8s.io/ClusterTrustBundle", CLUSTER_TRUST_BUNDLE],
  ["certificates.k8s.io/PodCertificateRequest", POD_CERTIFICATE_REQUEST],
  [`${ADMISSION}/MutatingWebhookConfiguration`, MUTATING_WEBHOOK_CONFIGURATION],
  [`${ADMISSION}/ValidatingWebhookConfiguration`, VALIDATING_WEBHOOK_CONFIGURATION],
  [`${ADMISSION}/ValidatingAdmissionPolicy`, VALIDATING_ADMISSION_POLICY],
  [`${ADMISSION}/ValidatingAdmissionPolicyBinding`, VALIDATING_ADMISSION_POLICY_BINDING],
  [`${ADMISSION}/v1alpha1/ValidatingAdmissionPolicyBinding`, withParameterDefault(VALIDATING_ADMISSION_POLICY_BINDING)],
  [`${ADMISSION}/MutatingAdmissionPolicy`, MUTATING_ADMISSION_POLICY],
  [`${ADMISSION}/MutatingAdmissionPolicyBinding`, MUTATING_ADMISSION_POLICY_BINDING],
  [`${ADMISSION}/v1alpha1/MutatingAdmissionPolicyBinding`, withParameterDefault(MUTATING_ADMISSION_POLICY_BINDING)],
  ["apiregistration.k8s.io/APIService", API_SERVICE],
  [`${FLOW_CONTROL}/FlowSchema`, FLOW_SCHEMA],
  [`${FLOW_CONTROL}/PriorityLevelConfiguration`, PRIORITY_LEVEL_CONFIGURATION],
  [`${FLOW_CONTROL}/v1beta3/PriorityLevelConfiguration`, BETA_PRIORITY_LEVEL_CONFIGURATION],
  [`${FLOW_CONTROL}/v1beta2/PriorityLevelConfiguration`, ASSURED_PRIORITY_LEVEL_CONFIGURATION],
  ["node.k8s.io/RuntimeClass", RUNTIME_CLASS],
];
