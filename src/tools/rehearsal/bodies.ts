/**
 * Minimal objects that servers accept, which the clients of a rehearsal create: by "group/resource", without metadata.
 */
import type { JsonObject } from "../../meta/json.ts";

/** No object is in this API group, so policies and webhooks that match it have no effect. */
const DOMAIN = "rehearsal.example.com";
const NAME = "rehearsal";
const LABELS = { app: NAME } as const;
const CONTAINERS = [{ name: "main", image: "main" }] as const;
const RBAC = { apiGroup: "rbac.authorization.k8s.io" } as const;
const WORKLOAD = {
  spec: {
    selector: { matchLabels: LABELS },
    template: { metadata: { labels: LABELS }, spec: { containers: CONTAINERS } },
  },
} as const;
const JOB = { spec: { template: { spec: { restartPolicy: "Never", containers: CONTAINERS } } } } as const;
const MATCH_CONSTRAINTS = {
  resourceRules: [{ apiGroups: [DOMAIN], apiVersions: ["*"], operations: ["CREATE"], resources: ["things"] }],
} as const;

const BODIES: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["/configmaps", { data: { a: "1" } }],
  ["/secrets", { stringData: { a: "1" } }],
  ["/pods", { spec: { containers: CONTAINERS } }],
  [
    "/persistentvolumeclaims",
    { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } },
  ],
  ["apps/daemonsets", WORKLOAD],
  ["apps/deployments", WORKLOAD],
  ["apps/replicasets", WORKLOAD],
  ["apps/statefulsets", { spec: { ...WORKLOAD.spec, serviceName: NAME } }],
  ["batch/cronjobs", { spec: { schedule: "0 0 * * *", jobTemplate: JOB } }],
  ["batch/jobs", JOB],
  ["networking.k8s.io/ingresses", { spec: { defaultBackend: { service: { name: NAME, port: { number: 80 } } } } }],
  ["networking.k8s.io/networkpolicies", { spec: { podSelector: {} } }],
  ["policy/poddisruptionbudgets", { spec: { minAvailable: 1, selector: { matchLabels: LABELS } } }],
  [
    "autoscaling/horizontalpodautoscalers",
    { spec: { maxReplicas: 2, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: NAME } } },
  ],
  ["rbac.authorization.k8s.io/clusterrolebindings", { roleRef: { ...RBAC, kind: "ClusterRole", name: NAME } }],
  ["rbac.authorization.k8s.io/rolebindings", { roleRef: { ...RBAC, kind: "Role", name: NAME } }],
  ["discovery.k8s.io/endpointslices", { addressType: "IPv4", endpoints: [] }],
  ["flowcontrol.apiserver.k8s.io/flowschemas", { spec: { priorityLevelConfiguration: { name: NAME } } }],
  [
    "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
    { spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } } },
  ],
  [
    "admissionregistration.k8s.io/validatingadmissionpolicies",
    { spec: { matchConstraints: MATCH_CONSTRAINTS, validations: [{ expression: "true" }] } },
  ],
  [
    "admissionregistration.k8s.io/validatingadmissionpolicybindings",
    { spec: { policyName: NAME, validationActions: ["Deny"] } },
  ],
  [
    "admissionregistration.k8s.io/mutatingadmissionpolicies",
    {
      spec: {
        matchConstraints: MATCH_CONSTRAINTS,
        mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }],
        reinvocationPolicy: "Never",
      },
    },
  ],
  ["admissionregistration.k8s.io/mutatingadmissionpolicybindings", { spec: { policyName: NAME } }],
  [
    "resource.k8s.io/resourceslices",
    { spec: { driver: DOMAIN, nodeName: NAME, pool: { name: NAME, generation: 1, resourceSliceCount: 1 } } },
  ],
  ["resource.k8s.io/devicetaintrules", { spec: { taint: { key: `${DOMAIN}/taint`, effect: "NoSchedule" } } }],
  ["storage.k8s.io/volumeattributesclasses", { driverName: NAME, parameters: { a: "b" } }],
]);

/**
 * The body for a resource. An empty spec suffices for many kinds; if a server rejects the objects of a kind, clients
 * only read it.
 */
export function bodyOfKind(name: string): JsonObject {
  return BODIES.get(name) ?? { spec: {} };
}
