/**
 * The default cluster roles for users and for the components of kubernetes. The roles of controllers are in
 * controller-roles.ts.
 */
import {
  WRITE_EVENTS,
  change,
  mayCreate,
  follow,
  may,
  mayCall,
  read,
  readAndWrite,
  write,
  type RoleRules,
} from "./notation.ts";

/** ClusterRoles whose rules are aggregated from other roles by label. */
export const AGGREGATED_ROLES: readonly string[] = ["admin", "edit", "view"];

/** Maps each role to the role into which its rules are aggregated. */
export const AGGREGATED_INTO: Readonly<Record<string, string>> = {
  edit: "admin",
  view: "edit",
  "system:aggregate-to-admin": "admin",
  "system:aggregate-to-edit": "edit",
  "system:aggregate-to-view": "view",
};

export const CLUSTER_ROLES: RoleRules = {
  "cluster-admin": [may("*", "*", "*"), mayCall("*", "*")],
  "system:aggregate-to-admin": [
    mayCreate("authorization.k8s.io", "localsubjectaccessreviews"),
    readAndWrite("rbac.authorization.k8s.io", "rolebindings roles"),
  ],
  "system:aggregate-to-edit": [
    read("core", "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    may("impersonate", "core", "serviceaccounts"),
    write("core", "pods pods/attach pods/exec pods/portforward pods/proxy"),
    mayCreate("core", "pods/eviction"),
    write(
      "core",
      "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
    ),
    mayCreate("core", "serviceaccounts/token"),
    write("core events.k8s.io", "events"),
    write(
      "apps",
      "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
    ),
    write("autoscaling", "horizontalpodautoscalers"),
    write("batch", "cronjobs jobs"),
    write(
      "extensions",
      "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
    ),
    write("policy", "poddisruptionbudgets"),
    write("networking.k8s.io", "ingresses networkpolicies"),
    readAndWrite("coordination.k8s.io", "leases"),
    write("resource.k8s.io", "resourceclaims resourceclaimtemplates"),
  ],
  "system:aggregate-to-view": [
    read(
      "core",
      "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
    ),
    read(
      "core",
      "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
    ),
    read("core", "namespaces"),
    read("core events.k8s.io", "events"),
    read("discovery.k8s.io", "endpointslices"),
    read(
      "apps",
      "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
    ),
    read("autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    read("batch", "cronjobs cronjobs/status jobs jobs/status"),
    read(
      "extensions",
      "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
    ),
    read("policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    read("networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    read("resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
  ],
  "system:auth-delegator": [
    mayCreate("authentication.k8s.io", "tokenreviews"),
    mayCreate("authorization.k8s.io", "subjectaccessreviews"),
  ],
  "system:basic-user": [
    mayCreate("authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
    mayCreate("authentication.k8s.io", "selfsubjectreviews"),
  ],
  "system:certificates.k8s.io:certificatesigningrequests:nodeclient": [
    mayCreate("certificates.k8s.io", "certificatesigningrequests/nodeclient"),
  ],
  "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient": [
    mayCreate("certificates.k8s.io", "certificatesigningrequests/selfnodeclient"),
  ],
  "system:certificates.k8s.io:kube-apiserver-client-approver": [
    may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client"),
  ],
  "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver": [
    may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kube-apiserver-client-kubelet"),
  ],
  "system:certificates.k8s.io:kubelet-serving-approver": [
    may("approve", "certificates.k8s.io", "signers", "kubernetes.io/kubelet-serving"),
  ],
  "system:certificates.k8s.io:legacy-unknown-approver": [
    may("approve", "certificates.k8s.io", "signers", "kubernetes.io/legacy-unknown"),
  ],
  "system:discovery": [
    mayCall("get", "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"),
  ],
  "system:heapster": [read("core", "events namespaces nodes pods"), read("extensions", "deployments")],
  "system:kube-aggregator": [read("core", "endpoints services")],
  "system:kube-controller-manager": [
    WRITE_EVENTS,
    mayCreate("coordination.k8s.io", "leases"),
    may("get update", "coordination.k8s.io", "leases", "kube-controller-manager"),
    mayCreate("core", "secrets serviceaccounts"),
    may("delete", "core", "secrets"),
    may("get", "core", "configmaps namespaces secrets serviceaccounts"),
    may("update", "core", "secrets serviceaccounts"),
    mayCreate("authentication.k8s.io", "tokenreviews"),
    mayCreate("authorization.k8s.io", "subjectaccessreviews"),
    follow("*", "*"),
    mayCreate("core", "serviceaccounts/token"),
  ],
  "system:kube-dns": [follow("core", "endpoints services")],
  "system:kube-scheduler": [
    WRITE_EVENTS,
    mayCreate("coordination.k8s.io", "leases"),
    may("get list update watch", "coordination.k8s.io", "leases", "kube-scheduler"),
    readAndWrite("coordination.k8s.io", "leasecandidates"),
    read("core", "nodes"),
    may("delete get list watch", "core", "pods"),
    mayCreate("core", "bindings pods/binding"),
    change("core", "pods/status"),
    read("core", "replicationcontrollers services"),
    read("apps extensions", "replicasets"),
    read("apps", "statefulsets"),
    read("policy", "poddisruptionbudgets"),
    read("core", "persistentvolumeclaims persistentvolumes"),
    mayCreate("authentication.k8s.io", "tokenreviews"),
    mayCreate("authorization.k8s.io", "subjectaccessreviews"),
    read("storage.k8s.io", "csinodes"),
    read("storage.k8s.io", "volumeattachments"),
    read("core", "namespaces"),
    read("storage.k8s.io", "csidrivers"),
    read("storage.k8s.io", "csistoragecapacities"),
    read("resource.k8s.io", "deviceclasses"),
    may("get list patch update watch", "resource.k8s.io", "resourceclaims"),
    may("get list patch update watch", "resource.k8s.io", "resourceclaims/status"),
    may("update", "core", "pods/finalizers"),
    read("resource.k8s.io", "resourceslices"),
    may("create delete", "resource.k8s.io", "resourceclaims"),
    change("resource.k8s.io", "resourceclaims/binding"),
  ],
  "system:kubelet-api-admin": [
    read("core", "nodes"),
    may("proxy", "core", "nodes"),
    may("*", "core", "nodes/log nodes/metrics nodes/proxy nodes/stats"),
    may("*", "core", "nodes/configz nodes/healthz nodes/pods"),
  ],
  "system:monitoring": [
    mayCall("get", "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz"),
    may("get", "core", "nodes/metrics"),
  ],
  "system:node": [
    mayCreate("authentication.k8s.io", "tokenreviews"),
    mayCreate("authorization.k8s.io", "localsubjectaccessreviews subjectaccessreviews"),
    read("core", "services"),
    may("create get list watch", "core", "nodes"),
    change("core", "nodes/status"),
    change("core", "nodes"),
    WRITE_EVENTS,
    read("core", "pods"),
    may("create delete", "core", "pods"),
    change("core", "pods/status"),
    mayCreate("core", "pods/eviction"),
    read("core", "configmaps secrets"),
    may("get", "core", "persistentvolumeclaims persistentvolumes"),
    may("get", "core", "endpoints"),
    may("create get list watch", "certificates.k8s.io", "certificatesigningrequests"),
    may("create delete get patch update", "coordination.k8s.io", "leases"),
    may("get", "storage.k8s.io", "volumeattachments"),
    mayCreate("core", "serviceaccounts/token"),
    may("get patch update", "core", "persistentvolumeclaims/status"),
    read("storage.k8s.io", "csidrivers"),
    may("create delete get patch update", "storage.k8s.io", "csinodes"),
    read("node.k8s.io", "runtimeclasses"),
    may("get", "resource.k8s.io", "resourceclaims"),
    may("deletecollection", "resource.k8s.io", "resourceslices"),
    may("get", "core", "serviceaccounts"),
  ],
  "system:node-bootstrapper": [may("create get list watch", "certificates.k8s.io", "certificatesigningrequests")],
  "system:node-problem-detector": [may("get", "core", "nodes"), may("patch", "core", "nodes/status"), WRITE_EVENTS],
  "system:node-proxier": [
    follow("core", "endpoints services"),
    read("core", "nodes"),
    WRITE_EVENTS,
    follow("networking.k8s.io", "servicecidrs"),
    follow("discovery.k8s.io", "endpointslices"),
  ],
  "system:persistent-volume-provisioner": [
    may("create delete get list watch", "core", "persistentvolumes"),
    may("get list update watch", "core", "persistentvolumeclaims"),
    read("storage.k8s.io", "storageclasses"),
    may("watch", "core", "events"),
    WRITE_EVENTS,
  ],
  "system:public-info-viewer": [mayCall("get", "/healthz /livez /readyz /version /version/")],
  "system:service-account-issuer-discovery": [
    mayCall(
      "get",
      "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
    ),
  ],
  "system:volume-scheduler": [
    may("get list patch update watch", "core", "persistentvolumes"),
    read("storage.k8s.io", "storageclasses"),
    may("get list patch update watch", "core", "persistentvolumeclaims"),
  ],
};
