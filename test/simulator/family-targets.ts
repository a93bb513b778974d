/**
 * The resources of the owners and dependents that simulated clients create: some are served by every server, others by
 * some servers only.
 */
import { formatGroupVersion, parseGroupVersion } from "../../src/meta/group-version.ts";
import type { ResourceQuestion } from "../../src/cluster/peers/view.ts";

export interface FamilyTarget extends ResourceQuestion {
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** The object to create, without its metadata. */
  readonly body: object;
}

export interface Relative {
  readonly target: FamilyTarget;
  /** Namespace; "" for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const LABELS = { app: "simulated" } as const;
const TEMPLATE = { metadata: { labels: LABELS }, spec: { containers: [{ name: "main", image: "main" }] } } as const;
const REQUEST = { deviceClassName: "simulated" } as const;

export const FAMILY_TARGETS: readonly FamilyTarget[] = [
  namespaced("v1", "configmaps", "ConfigMap", { data: { a: "1" } }),
  namespaced("v1", "pods", "Pod", { spec: TEMPLATE.spec }),
  namespaced("apps/v1", "deployments", "Deployment", {
    spec: { selector: { matchLabels: LABELS }, template: TEMPLATE },
  }),
  namespaced("batch/v1", "jobs", "Job", { spec: { template: { spec: { ...TEMPLATE.spec, restartPolicy: "Never" } } } }),
  namespaced("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", claim({ exactly: REQUEST })),
  namespaced("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", claim({ exactly: REQUEST })),
  namespaced("resource.k8s.io/v1beta1", "resourceclaims", "ResourceClaim", claim(REQUEST)),
  clusterWide("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", { value: 1 }),
  clusterWide("resource.k8s.io/v1", "deviceclasses", "DeviceClass", { spec: {} }),
  clusterWide("resource.k8s.io/v1beta1", "deviceclasses", "DeviceClass", { spec: {} }),
];

const NAMESPACE = clusterWide("v1", "namespaces", "Namespace", {});

/** The path of all objects of the resource in a namespace, or of one object. */
export function familyPath(
  target: FamilyTarget,
  { namespace, name = "" }: { namespace: string; name?: string },
): string {
  const { group, version, resource, isNamespaced } = target;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = isNamespaced ? `/namespaces/${namespace}` : "";
  return [`${root}${scope}/${resource}`, name].filter((part) => part !== "").join("/");
}

export function namespaceNamed(name: string): Omit<Relative, "uid"> {
  return { target: NAMESPACE, namespace: "", name };
}

export function referenceTo({ target, name, uid }: Relative, blockOwnerDeletion: boolean): object {
  return { apiVersion: formatGroupVersion(target), kind: target.kind, name, uid, blockOwnerDeletion };
}

function claim(request: object): object {
  return { spec: { devices: { requests: [{ name: "one", ...request }] } } };
}

function namespaced(groupVersion: string, resource: string, kind: string, body: object): FamilyTarget {
  return { ...clusterWide(groupVersion, resource, kind, body), isNamespaced: true };
}

function clusterWide(groupVersion: string, resource: string, kind: string, body: object): FamilyTarget {
  return { ...parseGroupVersion(groupVersion), resource, subresource: "", kind, isNamespaced: false, body };
}
