/** The default roles in kube-system and kube-public. */
import { may, read, WRITE_EVENTS, type RoleRules } from "./notation.ts";

const LEADER_LEASES: RoleRules[string] = [
  may("create get list update watch", "coordination.k8s.io", "leases"),
  may("create get list update watch", "coordination.k8s.io", "leasecandidates"),
];

/** Keyed by namespace. */
export const NAMESPACED_ROLES: Readonly<Record<string, RoleRules>> = {
  "kube-public": {
    "system:controller:bootstrap-signer": [
      read("core", "configmaps"),
      may("update", "core", "configmaps", "cluster-info"),
      WRITE_EVENTS,
    ],
  },
  "kube-system": {
    "extension-apiserver-authentication-reader": [read("core", "configmaps", "extension-apiserver-authentication")],
    "system::leader-locking-kube-controller-manager": LEADER_LEASES,
    "system::leader-locking-kube-scheduler": LEADER_LEASES,
    "system:controller:bootstrap-signer": [read("core", "secrets")],
    "system:controller:cloud-provider": [may("create get list watch", "core", "configmaps")],
    "system:controller:token-cleaner": [may("delete get list watch", "core", "secrets"), WRITE_EVENTS],
  },
};
