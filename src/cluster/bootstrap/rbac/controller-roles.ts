/** The permissions of each of kubernetes' controllers, whether it runs here or in kube-controller-manager. */
import type { Serves } from "../served-version.ts";
import { WRITE_EVENTS, change, mayCreate, follow, may, read, type RoleRules } from "./notation.ts";

/** Keyed by the name of the controller's service account in kube-system. */
export function controllerRoles(serves: Serves): RoleRules {
  const migrations = serves(MIGRATION_GROUP, "storageversionmigrations")?.version;
  return migrations === undefined ? CONTROLLER_ROLES : { ...CONTROLLER_ROLES, ...migratorRole(migrations) };
}

const MIGRATION_GROUP = "storagemigration.k8s.io";

/**
 * As kubernetes: without the API there is no role. Before v1, the controller migrates an object by server-side apply,
 * for which it must be allowed to create the object.
 */
function migratorRole(version: string): RoleRules {
  return {
    "storage-version-migrator-controller": [
      may(version === "v1" ? "list patch" : "create list patch", "*", "*"),
      may("get", "apiextensions.k8s.io", "customresourcedefinitions"),
      may("patch", "apiextensions.k8s.io", "customresourcedefinitions/status"),
      may("update", MIGRATION_GROUP, "storageversionmigrations/status"),
    ],
  };
}

const CONTROLLER_ROLES: RoleRules = {
  "attachdetach-controller": [
    follow("core", "persistentvolumeclaims persistentvolumes"),
    read("core", "nodes"),
    change("core", "nodes/status"),
    follow("core", "pods"),
    WRITE_EVENTS,
    may("create delete get list watch", "storage.k8s.io", "volumeattachments"),
    read("storage.k8s.io", "csidrivers"),
    read("storage.k8s.io", "csinodes"),
  ],
  "certificate-controller": [
    may("delete get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    may("update", "certificates.k8s.io", "certificatesigningrequests/approval certificatesigningrequests/status"),
    may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
    may(
      "sign",
      "certificates.k8s.io",
      "signers",
      "kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown",
    ),
    mayCreate("authorization.k8s.io", "subjectaccessreviews"),
    WRITE_EVENTS,
  ],
  "clusterrole-aggregation-controller": [
    may("escalate get list patch update watch", "rbac.authorization.k8s.io", "clusterroles"),
  ],
  "cronjob-controller": [
    may("get list update watch", "batch", "cronjobs"),
    may("create delete get list patch update watch", "batch", "jobs"),
    may("update", "batch", "cronjobs/status"),
    may("update", "batch", "cronjobs/finalizers"),
    may("delete list watch", "core", "pods"),
    WRITE_EVENTS,
  ],
  "daemon-set-controller": [
    read("apps extensions", "daemonsets"),
    may("update", "apps extensions", "daemonsets/status"),
    may("update", "apps extensions", "daemonsets/finalizers"),
    follow("core", "nodes"),
    may("create delete list patch watch", "core", "pods"),
    mayCreate("core", "pods/binding"),
    may("create delete get list patch update watch", "apps", "controllerrevisions"),
    WRITE_EVENTS,
  ],
  "deployment-controller": [
    may("get list update watch", "apps extensions", "deployments"),
    may("update", "apps extensions", "deployments/status"),
    may("update", "apps extensions", "deployments/finalizers"),
    may("create delete get list patch update watch", "apps extensions", "replicasets"),
    may("get list update watch", "core", "pods"),
    WRITE_EVENTS,
  ],
  "device-taint-eviction-controller": [
    may("delete get list watch", "core", "pods"),
    change("core", "pods/status"),
    read("resource.k8s.io", "resourceclaims"),
    read("resource.k8s.io", "resourceslices"),
    read("resource.k8s.io", "deviceclasses"),
    WRITE_EVENTS,
  ],
  "disruption-controller": [
    read("apps extensions", "deployments"),
    read("apps extensions", "replicasets"),
    read("core", "replicationcontrollers"),
    read("policy", "poddisruptionbudgets"),
    read("apps", "statefulsets"),
    may("update", "policy", "poddisruptionbudgets/status"),
    change("core", "pods/status"),
    may("get", "*", "*/scale"),
    WRITE_EVENTS,
  ],
  "endpoint-controller": [
    read("core", "pods services"),
    may("create delete get list update watch", "core", "endpoints"),
    mayCreate("core", "endpoints/restricted"),
    WRITE_EVENTS,
  ],
  "endpointslice-controller": [
    read("core", "nodes pods services"),
    may("update", "core", "services/finalizers"),
    may("create delete get list update watch", "discovery.k8s.io", "endpointslices"),
    WRITE_EVENTS,
  ],
  "endpointslicemirroring-controller": [
    read("core", "endpoints services"),
    may("update", "core", "services/finalizers"),
    may("update", "core", "endpoints/finalizers"),
    may("create delete get list update watch", "discovery.k8s.io", "endpointslices"),
    WRITE_EVENTS,
  ],
  "ephemeral-volume-controller": [
    read("core", "pods"),
    may("update", "core", "pods/finalizers"),
    may("create get list watch", "core", "persistentvolumeclaims"),
    WRITE_EVENTS,
  ],
  "expand-controller": [
    may("get list patch update watch", "core", "persistentvolumes"),
    change("core", "persistentvolumeclaims/status"),
    read("core", "persistentvolumeclaims"),
    WRITE_EVENTS,
  ],
  "generic-garbage-collector": [may("delete get list patch update watch", "*", "*"), WRITE_EVENTS],
  "horizontal-pod-autoscaler": [
    read("autoscaling", "horizontalpodautoscalers"),
    may("update", "autoscaling", "horizontalpodautoscalers/status"),
    may("get update", "*", "*/scale"),
    follow("core", "pods"),
    follow("metrics.k8s.io", "pods"),
    read("custom.metrics.k8s.io", "*"),
    read("external.metrics.k8s.io", "*"),
    WRITE_EVENTS,
  ],
  "job-controller": [
    may("get list patch update watch", "batch", "jobs"),
    may("update", "batch", "jobs/status"),
    may("update", "batch", "jobs/finalizers"),
    may("create delete list patch watch", "core", "pods"),
    WRITE_EVENTS,
  ],
  "legacy-service-account-token-cleaner": [
    may("get", "core", "configmaps", "kube-apiserver-legacy-service-account-token-tracking"),
    may("delete patch", "core", "secrets"),
  ],
  "namespace-controller": [
    may("delete get list watch", "core", "namespaces"),
    may("update", "core", "namespaces/finalize namespaces/status"),
    may("delete deletecollection get list watch", "*", "*"),
  ],
  "node-controller": [
    may("delete get list patch update watch", "core", "nodes"),
    change("core", "nodes/status"),
    change("core", "pods/status"),
    may("delete get list watch", "core", "pods"),
    WRITE_EVENTS,
  ],
  "persistent-volume-binder": [
    may("create delete get list update watch", "core", "persistentvolumes"),
    may("update", "core", "persistentvolumes/status"),
    may("get list update watch", "core", "persistentvolumeclaims"),
    may("update", "core", "persistentvolumeclaims/status"),
    may("create delete get list watch", "core", "pods"),
    read("storage.k8s.io", "storageclasses"),
    follow("core", "nodes"),
    WRITE_EVENTS,
    may("watch", "core", "events"),
  ],
  "pod-garbage-collector": [
    may("delete list watch", "core", "pods"),
    read("core", "nodes"),
    may("patch", "core", "pods/status"),
  ],
  "pv-protection-controller": [may("get list update watch", "core", "persistentvolumes"), WRITE_EVENTS],
  "pvc-protection-controller": [
    may("get list update watch", "core", "persistentvolumeclaims"),
    may("update", "core", "persistentvolumeclaims/status"),
    read("core", "pods"),
    WRITE_EVENTS,
  ],
  "replicaset-controller": [
    may("get list update watch", "apps extensions", "replicasets"),
    may("update", "apps extensions", "replicasets/status"),
    may("update", "apps extensions", "replicasets/finalizers"),
    may("create delete list patch watch", "core", "pods"),
    WRITE_EVENTS,
  ],
  "replication-controller": [
    may("get list update watch", "core", "replicationcontrollers"),
    may("update", "core", "replicationcontrollers/status"),
    may("update", "core", "replicationcontrollers/finalizers"),
    may("create delete list patch watch", "core", "pods"),
    WRITE_EVENTS,
  ],
  "resource-claim-controller": [
    read("core", "pods"),
    may("update", "core", "pods/finalizers"),
    may("create delete get list watch", "resource.k8s.io", "resourceclaims"),
    change("resource.k8s.io", "resourceclaims resourceclaims/status"),
    change("core", "pods/status"),
    WRITE_EVENTS,
    change("resource.k8s.io", "resourceclaims/binding"),
  ],
  "resourcequota-controller": [follow("*", "*"), may("update", "core", "resourcequotas/status"), WRITE_EVENTS],
  "root-ca-cert-publisher": [may("create update", "core", "configmaps"), WRITE_EVENTS],
  "route-controller": [follow("core", "nodes"), may("patch", "core", "nodes/status"), WRITE_EVENTS],
  "selinux-warning-controller": [
    WRITE_EVENTS,
    read("core", "persistentvolumes"),
    read("core", "persistentvolumeclaims"),
    read("core", "pods"),
    read("storage.k8s.io", "csidrivers"),
  ],
  "service-account-controller": [mayCreate("core", "serviceaccounts"), WRITE_EVENTS],
  "service-cidrs-controller": [
    may("get list patch update watch", "networking.k8s.io", "servicecidrs"),
    change("networking.k8s.io", "servicecidrs/finalizers"),
    change("networking.k8s.io", "servicecidrs/status"),
    read("networking.k8s.io", "ipaddresses"),
    WRITE_EVENTS,
  ],
  "service-controller": [
    read("core", "services"),
    change("core", "services/status"),
    follow("core", "nodes"),
    WRITE_EVENTS,
  ],
  "statefulset-controller": [
    follow("core", "pods"),
    read("apps", "statefulsets"),
    may("update", "apps", "statefulsets/status"),
    may("update", "apps", "statefulsets/finalizers"),
    may("create delete get patch update", "core", "pods"),
    may("create delete get list patch update watch", "apps", "controllerrevisions"),
    may("create get list watch", "core", "persistentvolumeclaims"),
    may("delete update", "core", "persistentvolumeclaims"),
    may("update", "core", "pods/finalizers"),
    WRITE_EVENTS,
  ],
  "ttl-after-finished-controller": [may("delete get list watch", "batch", "jobs"), WRITE_EVENTS],
  "ttl-controller": [may("list patch update watch", "core", "nodes"), WRITE_EVENTS],
  "validatingadmissionpolicy-status-controller": [
    read("admissionregistration.k8s.io", "validatingadmissionpolicies"),
    may("get patch update", "admissionregistration.k8s.io", "validatingadmissionpolicies/status"),
    WRITE_EVENTS,
  ],
  "volumeattributesclass-protection-controller": [
    read("core", "persistentvolumeclaims"),
    read("core", "persistentvolumes"),
    may("get list update watch", "storage.k8s.io", "volumeattributesclasses"),
    WRITE_EVENTS,
  ],
};
