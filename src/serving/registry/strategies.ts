/** Lists the kinds whose behavior differs from the default. Keys are "group/resource"; the core group is "". */
import { returnsDeletedObject } from "../../objects/deleted-object.ts";
import { configKeyErrors } from "../../objects/kinds/core/name-checks.ts";
import { canonicalIpSentences } from "../../objects/kinds/network/ip-checks.ts";
import { dnsLabelErrors, dnsSubdomainErrors, pathSegmentErrors, type NameRule } from "../../meta/names.ts";
import type { Strategy } from "./resource.ts";

export const ADMISSION_RESOURCES: readonly string[] = [
  "admissionregistration.k8s.io/mutatingadmissionpolicies",
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
  "admissionregistration.k8s.io/mutatingwebhookconfigurations",
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  "admissionregistration.k8s.io/validatingadmissionpolicybindings",
  "admissionregistration.k8s.io/validatingwebhookconfigurations",
];

const TRACKS_GENERATION: ReadonlySet<string> = new Set([
  "/pods",
  "/podtemplates",
  "/replicationcontrollers",
  ...ADMISSION_RESOURCES,
  "apiextensions.k8s.io/customresourcedefinitions",
  "apps/daemonsets",
  "apps/deployments",
  "apps/replicasets",
  "apps/statefulsets",
  "batch/cronjobs",
  "batch/jobs",
  "discovery.k8s.io/endpointslices",
  "flowcontrol.apiserver.k8s.io/flowschemas",
  "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
  "networking.k8s.io/ingressclasses",
  "networking.k8s.io/ingresses",
  "networking.k8s.io/networkpolicies",
  "policy/poddisruptionbudgets",
  "resource.k8s.io/deviceclasses",
  "resource.k8s.io/devicetaintrules",
  "resource.k8s.io/resourceslices",
]);

const CREATES_ON_UPDATE: ReadonlySet<string> = new Set([
  "/endpoints",
  "/events",
  "/limitranges",
  "/services",
  "coordination.k8s.io/leasecandidates",
  "coordination.k8s.io/leases",
  "events.k8s.io/events",
  "node.k8s.io/runtimeclasses",
  "rbac.authorization.k8s.io/clusterrolebindings",
  "rbac.authorization.k8s.io/clusterroles",
  "rbac.authorization.k8s.io/rolebindings",
  "rbac.authorization.k8s.io/roles",
]);

const NEEDS_RESOURCE_VERSION: ReadonlySet<string> = new Set([
  ...ADMISSION_RESOURCES,
  "apiextensions.k8s.io/customresourcedefinitions",
  "apiregistration.k8s.io/apiservices",
  "certificates.k8s.io/clustertrustbundles",
  "certificates.k8s.io/podcertificaterequests",
  "coordination.k8s.io/leasecandidates",
  "coordination.k8s.io/leases",
  "internal.apiserver.k8s.io/storageversions",
  "node.k8s.io/runtimeclasses",
  "policy/poddisruptionbudgets",
  "resource.k8s.io/resourcepoolstatusrequests",
  "storage.k8s.io/csidrivers",
  "storage.k8s.io/csinodes",
  "storage.k8s.io/csistoragecapacities",
  "storage.k8s.io/volumeattachments",
  "storagemigration.k8s.io/storageversionmigrations",
]);

const NAME_RULES: ReadonlyMap<string, NameRule> = new Map<string, NameRule>([
  ["/namespaces", dnsLabelErrors],
  ["apps/statefulsets", dnsLabelErrors],
  // Event names may be any path segment.
  ["/events", pathSegmentErrors],
  ["apiregistration.k8s.io/apiservices", pathSegmentErrors],
  // ClusterTrustBundle names contain separators that DNS names do not allow.
  ["certificates.k8s.io/clustertrustbundles", pathSegmentErrors],
  ["coordination.k8s.io/leasecandidates", configKeyErrors],
  ["certificates.k8s.io/certificatesigningrequests", pathSegmentErrors],
  ["networking.k8s.io/ipaddresses", canonicalIpSentences],
  // The kind's own validation checks the name of a Service, because the rule depends on the release.
  ["/services", () => []],
  // The kind's own validation checks name and generateName by the same rule, which a name rule here cannot do.
  ["internal.apiserver.k8s.io/storageversions", () => []],
  ["rbac.authorization.k8s.io/clusterrolebindings", pathSegmentErrors],
  ["rbac.authorization.k8s.io/clusterroles", pathSegmentErrors],
  ["rbac.authorization.k8s.io/rolebindings", pathSegmentErrors],
  ["rbac.authorization.k8s.io/roles", pathSegmentErrors],
]);

const ORPHANS_BY_DEFAULT: ReadonlySet<string> = new Set(["/replicationcontrollers", "batch/jobs"]);

export function strategyFor(
  group: string,
  resource: string,
  options: { readonly hasStatus: boolean; readonly eventTtlSeconds: number },
): Strategy {
  const key = `${group}/${resource}`;
  const isEvent = resource === "events" && (group === "" || group === "events.k8s.io");
  return {
    nameRule: NAME_RULES.get(key) ?? dnsSubdomainErrors,
    tracksGeneration: TRACKS_GENERATION.has(key),
    allowsCreateOnUpdate: CREATES_ON_UPDATE.has(key),
    allowsUnconditionalUpdate: !NEEDS_RESOURCE_VERSION.has(key),
    returnsDeletedObject: key === "/namespaces" || returnsDeletedObject(group, resource),
    hasStatus: options.hasStatus,
    createsWithStatus: key === "/nodes",
    deletionLifecycle: key === "/namespaces" ? "namespace" : key === "/pods" ? "pod" : "ordinary",
    ttlSeconds: isEvent ? options.eventTtlSeconds : undefined,
    orphansByDefault: ORPHANS_BY_DEFAULT.has(key),
    ignoresGarbageCollection: isEvent,
  };
}
