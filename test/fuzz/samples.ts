/** The smallest object of each kind that kube-apiserver accepts. Cases begin with it. */
import type { JsonObject } from "../../src/meta/json.ts";

export interface SampleOf {
  readonly name: string;
  readonly version: string;
}

type Sample = (of: SampleOf) => JsonObject;

const POD_SPEC = { containers: [{ name: "main", image: "main" }] };
const JOB_POD_SPEC = { restartPolicy: "Never", ...POD_SPEC };
const LABELS = { app: "web" };
const SELECTOR = { matchLabels: LABELS };
const TEMPLATE = { metadata: { labels: LABELS }, spec: POD_SPEC };
const SUBJECT = { kind: "User", name: "somebody", apiGroup: "rbac.authorization.k8s.io" };
const RULE = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };
const MATCHED = { apiGroups: ["apps"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["deployments"] };
const HOOK = {
  name: "hook.example.com",
  clientConfig: { url: "https://hook.example.com/" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  rules: [MATCHED],
};
const REQUEST_PEM = Buffer.from(
  [
    "-----BEGIN CERTIFICATE REQUEST-----",
    "MIHJMHECAQAwDzENMAsGA1UEAwwEZnV6ejBZMBMGByqGSM49AgEGCCqGSM49AwEH",
    "A0IABHFmdkv2fUFzeZGjRXisT6wgec0tt+FroZ7P5AHFQ5y9MxmNlPpc/wXe5cqT",
    "uPa6x76OwYYMAZOhRjYMokjCLqmgADAKBggqhkjOPQQDAgNIADBFAiEAiw5CK0eU",
    "KkC0bKPLC0BeKtiGJd5gKycGRC8PIrE6VLUCIB5SNtCj2ybPXf3dHRE5AG9Q+S7E",
    "6dqWJYLlQfN2oWkJ",
    "-----END CERTIFICATE REQUEST-----",
    "",
  ].join("\n"),
).toString("base64");

const WITHOUT_CONTENT: Sample = () => ({});

/** Samples by "group/resource"; the core group is "". */
const SAMPLES: Readonly<Record<string, Sample>> = {
  "/configmaps": () => ({ data: { a: "1" } }),
  "/endpoints": () => ({ subsets: [{ addresses: [{ ip: "192.0.2.7" }], ports: [{ port: 80 }] }] }),
  "/events": ({ name }) => ({
    involvedObject: { kind: "Pod", namespace: "default", name },
    reason: "Because",
    message: "it was so",
    type: "Normal",
  }),
  "/limitranges": () => ({ spec: { limits: [{ type: "Container", max: { cpu: "2" } }] } }),
  "/nodes": WITHOUT_CONTENT,
  "/persistentvolumeclaims": () => ({
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  }),
  "/persistentvolumes": () => ({
    spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/data" } },
  }),
  "/pods": () => ({ spec: POD_SPEC }),
  "/podtemplates": () => ({ template: TEMPLATE }),
  "/replicationcontrollers": () => ({ spec: { selector: LABELS, template: TEMPLATE } }),
  "/resourcequotas": () => ({ spec: { hard: { pods: "4" } } }),
  "/secrets": () => ({ data: { a: "MQ==" } }),
  "/services": () => ({ spec: { selector: LABELS, ports: [{ port: 80 }] } }),
  "/bindings": () => ({ target: { kind: "Node", name: "node-a" } }),
  "apiregistration.k8s.io/apiservices": ({ name }) => {
    const [version = "", ...group] = name.split(".");
    return { spec: { group: group.join("."), version, groupPriorityMinimum: 100, versionPriority: 100 } };
  },
  "apps/controllerrevisions": () => ({ revision: 1, data: { a: 1 } }),
  "apps/daemonsets": () => ({ spec: { selector: SELECTOR, template: TEMPLATE } }),
  "apps/deployments": () => ({ spec: { replicas: 1, selector: SELECTOR, template: TEMPLATE } }),
  "apps/replicasets": () => ({ spec: { selector: SELECTOR, template: TEMPLATE } }),
  "apps/statefulsets": () => ({ spec: { serviceName: "web", selector: SELECTOR, template: TEMPLATE } }),
  "events.k8s.io/events": ({ name }) => ({
    eventTime: "2030-01-01T00:00:00.000001Z",
    reportingController: "example.com/controller",
    reportingInstance: "one",
    action: "Doing",
    reason: "Because",
    type: "Normal",
    regarding: { kind: "Pod", namespace: "default", name },
  }),
  "authentication.k8s.io/tokenreviews": () => ({ spec: { token: "token" } }),
  "authorization.k8s.io/localsubjectaccessreviews": () => ({
    spec: { user: "somebody", resourceAttributes: { namespace: "default", verb: "get", resource: "pods" } },
  }),
  "authorization.k8s.io/selfsubjectaccessreviews": () => ({
    spec: { resourceAttributes: { namespace: "default", verb: "get", resource: "pods" } },
  }),
  "authorization.k8s.io/selfsubjectrulesreviews": () => ({ spec: { namespace: "default" } }),
  "authorization.k8s.io/subjectaccessreviews": () => ({
    spec: { user: "somebody", nonResourceAttributes: { path: "/healthz", verb: "get" } },
  }),
  "autoscaling/horizontalpodautoscalers": () => ({
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" } },
  }),
  "batch/cronjobs": () => ({
    spec: { schedule: "*/5 * * * *", jobTemplate: { spec: { template: { spec: JOB_POD_SPEC } } } },
  }),
  "batch/jobs": () => ({ spec: { template: { spec: JOB_POD_SPEC } } }),
  "certificates.k8s.io/certificatesigningrequests": () => ({
    spec: { request: REQUEST_PEM, signerName: "example.com/signer", usages: ["client auth"] },
  }),
  "certificates.k8s.io/clustertrustbundles": () => ({ spec: { trustBundle: "" } }),
  "networking.k8s.io/clustercidrs": () => ({ spec: { perNodeHostBits: 8, ipv4: "10.1.0.0/16" } }),
  "networking.k8s.io/ingressclasses": () => ({ spec: { controller: "example.com/ingress" } }),
  "networking.k8s.io/ingresses": () => ({
    spec: { defaultBackend: { service: { name: "web", port: { number: 80 } } } },
  }),
  "networking.k8s.io/ipaddresses": () => ({
    spec: { parentRef: { resource: "services", namespace: "default", name: "web" } },
  }),
  "networking.k8s.io/networkpolicies": () => ({ spec: { podSelector: SELECTOR, policyTypes: ["Ingress"] } }),
  "networking.k8s.io/servicecidrs": () => ({ spec: { cidrs: ["10.2.0.0/16"] } }),
  "policy/poddisruptionbudgets": () => ({ spec: { minAvailable: 1, selector: SELECTOR } }),
  "rbac.authorization.k8s.io/clusterrolebindings": () => ({
    subjects: [SUBJECT],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" },
  }),
  "rbac.authorization.k8s.io/clusterroles": () => ({ rules: [RULE] }),
  "rbac.authorization.k8s.io/rolebindings": () => ({
    subjects: [SUBJECT],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
  }),
  "rbac.authorization.k8s.io/roles": () => ({ rules: [RULE] }),
  "storage.k8s.io/csidrivers": () => ({ spec: { attachRequired: true } }),
  "storage.k8s.io/csinodes": () => ({ spec: { drivers: [{ name: "driver.example.com", nodeID: "a" }] } }),
  "storage.k8s.io/csistoragecapacities": () => ({ storageClassName: "fast" }),
  "storage.k8s.io/storageclasses": () => ({ provisioner: "driver.example.com" }),
  "storage.k8s.io/volumeattachments": () => ({
    spec: { attacher: "driver.example.com", nodeName: "node-a", source: { persistentVolumeName: "data" } },
  }),
  "storage.k8s.io/volumeattributesclasses": () => ({ driverName: "driver.example.com", parameters: { a: "b" } }),
  "admissionregistration.k8s.io/mutatingwebhookconfigurations": () => ({ webhooks: [HOOK] }),
  "admissionregistration.k8s.io/validatingwebhookconfigurations": () => ({ webhooks: [HOOK] }),
  "admissionregistration.k8s.io/mutatingadmissionpolicies": () => ({
    spec: {
      reinvocationPolicy: "Never",
      matchConstraints: { resourceRules: [MATCHED] },
      mutations: [{ patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } }],
    },
  }),
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings": () => ({ spec: { policyName: "policy" } }),
  "admissionregistration.k8s.io/validatingadmissionpolicies": () => ({
    spec: { matchConstraints: { resourceRules: [MATCHED] }, validations: [{ expression: "true" }] },
  }),
  "admissionregistration.k8s.io/validatingadmissionpolicybindings": () => ({
    spec: { policyName: "policy", validationActions: ["Deny"] },
  }),
  "apiextensions.k8s.io/customresourcedefinitions": ({ name }) => {
    const [plural = "", ...group] = name.split(".");
    const schema = { openAPIV3Schema: { type: "object" } };
    return {
      spec: {
        group: group.join("."),
        names: { plural, singular: plural, kind: `K${plural}`, listKind: `K${plural}List` },
        scope: "Namespaced",
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    };
  },
  "scheduling.k8s.io/priorityclasses": () => ({ value: 100 }),
  "coordination.k8s.io/leases": () => ({ spec: { holderIdentity: "one", leaseDurationSeconds: 15 } }),
  "coordination.k8s.io/leasecandidates": ({ version }) => ({
    spec: {
      leaseName: "leader",
      binaryVersion: "1.36.0",
      ...(version === "v1alpha1"
        ? { preferredStrategies: ["OldestEmulationVersion"], emulationVersion: "1.36.0" }
        : { strategy: "OldestEmulationVersion", emulationVersion: "1.36.0" }),
    },
  }),
  "node.k8s.io/runtimeclasses": () => ({ handler: "runc" }),
  "discovery.k8s.io/endpointslices": () => ({
    addressType: "IPv4",
    endpoints: [{ addresses: ["192.0.2.7"] }],
    ports: [{ name: "", port: 80, protocol: "TCP" }],
  }),
  "flowcontrol.apiserver.k8s.io/flowschemas": () => ({
    spec: { priorityLevelConfiguration: { name: "global-default" }, matchingPrecedence: 1_000 },
  }),
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations": ({ version }) => ({
    spec: {
      type: "Limited",
      limited: {
        ...(version === "v1beta2" ? { assuredConcurrencyShares: 10 } : { nominalConcurrencyShares: 10 }),
        limitResponse: { type: "Reject" },
      },
    },
  }),
  "internal.apiserver.k8s.io/storageversions": () => ({ spec: {} }),
  "storagemigration.k8s.io/storageversionmigrations": ({ version }) => ({
    spec: {
      resource: { group: "apps", resource: "deployments", ...(version === "v1alpha1" ? { version: "v1" } : {}) },
    },
  }),
  "resource.k8s.io/deviceclasses": () => ({ spec: {} }),
  "resource.k8s.io/devicetaintrules": () => ({
    spec: { deviceSelector: { driver: "driver.example.com" }, taint: { key: "broken", effect: "NoSchedule" } },
  }),
  "resource.k8s.io/podschedulingcontexts": () => ({ spec: { selectedNode: "node-a" } }),
  "resource.k8s.io/resourceclaims": ({ version }) => ({ spec: claimSpec(version) }),
  "resource.k8s.io/resourceclaimtemplates": ({ version }) => ({ spec: { spec: claimSpec(version) } }),
  "resource.k8s.io/resourceclasses": () => ({ driverName: "driver.example.com" }),
  "resource.k8s.io/resourceslices": ({ version }) => ({
    spec: {
      driver: "driver.example.com",
      nodeName: "node-a",
      pool: { name: "pool", generation: 1, resourceSliceCount: 1 },
      devices: [version === "v1" || version === "v1beta2" ? { name: "d" } : { name: "d", basic: {} }],
    },
  }),
  "resource.k8s.io/resourcepoolstatusrequests": () => ({ spec: { driver: "driver.example.com" } }),
};

function claimSpec(version: string): JsonObject {
  if (version === "v1alpha2") return { resourceClassName: "class" };
  const request = { deviceClassName: "class" };
  const isFlat = version === "v1alpha3" || version === "v1beta1";
  return { devices: { requests: [isFlat ? { name: "r", ...request } : { name: "r", exactly: request }] } };
}

export function sampleOf(groupResource: string, of: SampleOf): JsonObject {
  const sample = Object.hasOwn(SAMPLES, groupResource) ? SAMPLES[groupResource] : undefined;
  return (sample ?? WITHOUT_CONTENT)(of);
}

/** A name for the sample; some kinds require names of a certain form. */
export function sampleName(groupResource: string, number: number): string {
  switch (groupResource) {
    case "apiregistration.k8s.io/apiservices":
      return `v1.f${number}.example.com`;
    case "apiextensions.k8s.io/customresourcedefinitions":
      return `f${number}.example.com`;
    case "networking.k8s.io/ipaddresses":
      return `10.${100 + ((number >> 16) % 100)}.${(number >> 8) % 256}.${number % 256}`;
    case "internal.apiserver.k8s.io/storageversions":
      return `example.com.f${number}`;
    default:
      return `f${number}`;
  }
}
