/** The resources that the stories use: some are served by every release, some only by a few. */
import { formatGroupVersion } from "../../src/meta/group-version.ts";

export interface Thing {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  /** The key prefix of the resource, without the root of the store. */
  readonly prefix: string;
  /** The body of an object without its metadata. */
  readonly body: object;
}

const LABELS = { app: "story" } as const;
const CONTAINERS = [{ name: "main", image: "main" }] as const;

export const CONFIG_MAP: Thing = {
  ...{ group: "", version: "v1", resource: "configmaps", kind: "ConfigMap", prefix: "configmaps" },
  body: { data: { a: "1" } },
};

export const DEPLOYMENT: Thing = {
  ...{ group: "apps", version: "v1", resource: "deployments", kind: "Deployment", prefix: "deployments" },
  body: {
    spec: {
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { containers: CONTAINERS } },
    },
  },
};

export const JOB: Thing = {
  ...{ group: "batch", version: "v1", resource: "jobs", kind: "Job", prefix: "jobs" },
  body: { spec: { template: { spec: { restartPolicy: "Never", containers: CONTAINERS } } } },
};

export const CLAIM: Thing = {
  ...{ group: "resource.k8s.io", version: "v1", resource: "resourceclaims", kind: "ResourceClaim" },
  prefix: "resourceclaims",
  body: { spec: { devices: { requests: [{ name: "one", exactly: { deviceClassName: "story" } }] } } },
};

export const CLAIM_PARAMETERS: Thing = {
  ...{ group: "resource.k8s.io", version: "v1alpha2", resource: "resourceclaimparameters" },
  ...{ kind: "ResourceClaimParameters", prefix: "resourceclaimparameters", body: {} },
};

export function pathOf({ group, version, resource }: Thing, namespace: string, name = ""): string {
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const below = `${root}/namespaces/${namespace}/${resource}`;
  return name === "" ? below : `${below}/${name}`;
}

export function keyOf({ prefix }: Thing, namespace: string, name: string): string {
  return `${prefix}/${namespace}/${name}`;
}

/** An owner reference that blocks the deletion of the owner. */
export function referenceTo(thing: Thing, owner: { readonly name: string; readonly uid: string }): object {
  const { kind } = thing;
  return { apiVersion: formatGroupVersion(thing), kind, ...owner, blockOwnerDeletion: true };
}
