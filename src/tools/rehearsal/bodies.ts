/**
 * Minimal objects that servers accept, which the clients of a rehearsal create: by "group/resource", without metadata.
 */
import type { JsonObject } from "../../meta/json.ts";

/** No object is in this API group, so policies and webhooks that match it have no effect. */
const DOMAIN = "rehearsal.example.com";
const NAME = "rehearsal";
const LABELS = { app: NAME } as const;
const CONTAINERS = [{ name: "main", image: "main" }] as const;
const MATCH_CONSTRAINTS = {
  resourceRules: [{ apiGroups: [DOMAIN], apiVersions: ["*"], operations: ["CREATE"], resources: ["things"] }],
} as const;

const BODIES: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["/configmaps", { data: { a: "1" } }],
  ["/secrets", { stringData: { a: "1" } }],
  [
    "apps/deployments",
    {
      spec: {
        selector: { matchLabels: LABELS },
        template: { metadata: { labels: LABELS }, spec: { containers: CONTAINERS } },
      },
    },
  ],
  ["batch/jobs", { spec: { template: { spec: { restartPolicy: "Never", containers: CONTAINERS } } } }],
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
