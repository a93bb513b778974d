/** The default role bindings: which subjects have the default roles. */
import type { JsonObject } from "../../../meta/json.ts";
import { RBAC_GROUP } from "../../../access/auth/rbac/policy-rule.ts";
import type { Serves } from "../served-version.ts";
import { controllerRoles } from "./controller-roles.ts";

export interface BindingData {
  readonly name: string;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: string;
  readonly subjects: readonly JsonObject[];
}

export const CONTROLLER_PREFIX = "system:controller:";

const group = (name: string): JsonObject => ({ kind: "Group", apiGroup: RBAC_GROUP, name });
const user = (name: string): JsonObject => ({ kind: "User", apiGroup: RBAC_GROUP, name });
const systemAccount = (name: string): JsonObject => ({ kind: "ServiceAccount", namespace: "kube-system", name });

/** Most bindings have the name of their role. */
const everywhere = (name: string, ...subjects: JsonObject[]): BindingData => ({
  name,
  namespace: "",
  role: name,
  subjects,
});

const within = (namespace: string, name: string, ...subjects: JsonObject[]): BindingData => ({
  name,
  namespace,
  role: name,
  subjects,
});

const CONTROLLER_MANAGER = user("system:kube-controller-manager");
const SCHEDULER = user("system:kube-scheduler");

export function bindings(serves: Serves): BindingData[] {
  return [...BINDINGS, ...Object.keys(controllerRoles(serves)).map(controllerBinding)];
}

function controllerBinding(name: string): BindingData {
  return everywhere(`${CONTROLLER_PREFIX}${name}`, systemAccount(name));
}

const BINDINGS: readonly BindingData[] = [
  everywhere("cluster-admin", group("system:masters")),
  everywhere("system:basic-user", group("system:authenticated")),
  everywhere("system:discovery", group("system:authenticated")),
  everywhere("system:kube-controller-manager", CONTROLLER_MANAGER),
  everywhere("system:kube-dns", systemAccount("kube-dns")),
  everywhere("system:kube-scheduler", SCHEDULER),
  everywhere("system:monitoring", group("system:monitoring")),
  // Without subjects, as in kubernetes, where the node authorizer grants each node only what its pods need.
  everywhere("system:node"),
  everywhere("system:node-proxier", user("system:kube-proxy")),
  everywhere("system:public-info-viewer", group("system:authenticated"), group("system:unauthenticated")),
  everywhere("system:service-account-issuer-discovery", group("system:serviceaccounts")),
  everywhere("system:volume-scheduler", SCHEDULER),
  within("kube-public", "system:controller:bootstrap-signer", systemAccount("bootstrap-signer")),
  {
    name: "system::extension-apiserver-authentication-reader",
    namespace: "kube-system",
    role: "extension-apiserver-authentication-reader",
    subjects: [CONTROLLER_MANAGER, SCHEDULER],
  },
  within(
    "kube-system",
    "system::leader-locking-kube-controller-manager",
    CONTROLLER_MANAGER,
    systemAccount("kube-controller-manager"),
    systemAccount("leader-election-controller"),
  ),
  within("kube-system", "system::leader-locking-kube-scheduler", SCHEDULER, systemAccount("kube-scheduler")),
  within("kube-system", "system:controller:bootstrap-signer", systemAccount("bootstrap-signer")),
  within("kube-system", "system:controller:cloud-provider", systemAccount("cloud-provider")),
  within("kube-system", "system:controller:token-cleaner", systemAccount("token-cleaner")),
];
