/** The resources that simulated clients request: served by every release, by some, or by none. */
import type { ResourceQuestion } from "../../src/cluster/peers/view.ts";

export interface Target extends ResourceQuestion {
  readonly isNamespaced: boolean;
  /** Returns an object with this name; undefined if clients only read the resource. */
  readonly create?: (name: string) => object;
}

const REQUEST = { deviceClassName: "simulated" } as const;
/** Resources for which StorageVersionMigrations are created: releases store them in different versions. */
const MIGRATED = [
  { group: "resource.k8s.io", resource: "deviceclasses" },
  { group: "storage.k8s.io", resource: "volumeattributesclasses" },
] as const;
const POD_SPEC = { restartPolicy: "Never", containers: [{ name: "main", image: "main" }] } as const;

export const TARGETS: readonly Target[] = [
  namespaced("", "v1", "configmaps", (name) => ({ metadata: { name }, data: { a: "1" } })),
  namespaced("", "v1", "pods", (name) => ({ metadata: { name }, spec: POD_SPEC })),
  below(namespaced("", "v1", "pods"), "resize"),
  namespaced("batch", "v1", "jobs", (name) => ({ metadata: { name }, spec: { template: { spec: POD_SPEC } } })),
  namespaced("batch", "v1", "cronjobs"),
  namespaced("apps", "v1", "deployments"),
  below(namespaced("apps", "v1", "deployments"), "scale"),
  ...["v1", "v1beta2", "v1beta1"].map((version) =>
    clusterWide("resource.k8s.io", version, "deviceclasses", (name) => ({ metadata: { name }, spec: {} })),
  ),
  namespaced("resource.k8s.io", "v1", "resourceclaims", (name) => claim(name, { exactly: REQUEST })),
  namespaced("resource.k8s.io", "v1beta1", "resourceclaims", (name) => claim(name, REQUEST)),
  clusterWide("networking.k8s.io", "v1", "servicecidrs"),
  clusterWide("networking.k8s.io", "v1beta1", "ipaddresses"),
  ...["v1", "v1beta1"].map((version) =>
    clusterWide("storage.k8s.io", version, "volumeattributesclasses", (name) => ({
      metadata: { name },
      driverName: "simulated",
      parameters: { a: "b" },
    })),
  ),
  ...["v1", "v1beta1", "v1alpha1"].map((version) =>
    clusterWide("admissionregistration.k8s.io", version, "mutatingadmissionpolicybindings", (name) => ({
      metadata: { name },
      spec: { policyName: "simulated" },
    })),
  ),
  clusterWide("storagemigration.k8s.io", "v1", "storageversionmigrations", (name) => ({
    metadata: { name },
    spec: { resource: MIGRATED[name.length % MIGRATED.length] },
  })),
  clusterWide("flowcontrol.apiserver.k8s.io", "v1beta3", "flowschemas"),
  clusterWide("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"),
  namespaced("autoscaling", "v2beta2", "horizontalpodautoscalers"),
  namespaced("nosuch.example.com", "v1", "things"),
];

/**
 * Values of --runtime-config, of which each run of a server gets one at random: the default, or fewer or more
 * resources.
 */
export const RUNTIME_CONFIGS: readonly (readonly string[])[] = [
  [],
  [],
  ["api/beta=true"],
  ["api/beta=true"],
  ["api/all=true"],
  ["batch/v1=false"],
  ["storage.k8s.io/v1=false"],
  ["apps/v1=false"],
];

export function pathOf({ group, version, resource, subresource, isNamespaced }: Target, name = ""): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = isNamespaced ? "/namespaces/default" : "";
  return [`${root}${scope}/${resource}`, name, subresource].filter((part) => part !== "").join("/");
}

/** The resource of the object at this path. */
export function targetAt(path: string): Target | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return TARGETS.find((target) => pathOf(target, name) === path);
}

function claim(name: string, request: object): object {
  return { metadata: { name }, spec: { devices: { requests: [{ name: "one", ...request }] } } };
}

function namespaced(group: string, version: string, resource: string, create?: Target["create"]): Target {
  return { ...clusterWide(group, version, resource, create), isNamespaced: true };
}

function clusterWide(group: string, version: string, resource: string, create?: Target["create"]): Target {
  return { group, version, resource, subresource: "", isNamespaced: false, ...(create && { create }) };
}

function below(target: Target, subresource: string): Target {
  return { ...target, subresource };
}
