/**
 * The facts about a user's cluster from which a rehearsal is played: its servers, its release, and the kinds of objects
 * that are in use. Without them a rehearsal uses resources that the cluster may not have, and misses those that it has.
 */
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { objectAt, objectsAt, specOf, stringAt, type JsonObject } from "../../meta/json.ts";
import { SERVERS_MAX } from "./plan.ts";

export interface Seed {
  /** For the report, for example "etcd snapshot backup.db". */
  readonly source: string;
  /** Undefined if the source does not show it. */
  readonly servers: number | undefined;
  readonly from: ReleaseName | undefined;
  /** As the flag --runtime-config of the servers. */
  readonly runtimeConfig: readonly string[];
  /** The kinds in use, those with most objects first. */
  readonly kinds: readonly SeedKind[];
  /** CRDs with a served version, without status and managed fields. */
  readonly crds: readonly JsonObject[];
}

export interface SeedKind {
  readonly group: string;
  /** The plural name. */
  readonly resource: string;
  readonly count: number;
}

/** The facts that a source has; `Inspection` has them in this form. */
interface SeedFacts {
  readonly source: string;
  readonly from: {
    readonly release?: ReleaseName;
    readonly servers: readonly unknown[];
    readonly runtimeConfig: readonly string[];
  };
  /** Number of live servers by their identity leases. */
  readonly liveServers: number;
  readonly resources: readonly { readonly group: string; readonly resource: string; readonly objects: number }[];
}

const KINDS_MAX = 1_000;
/** Every custom resource has informers, so that a cluster with many of them would take hours. */
export const CRDS_MAX = 20;
const NAME_MAX = 253;
const ANY = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } } as const;
const APPROVED = "api-approved.kubernetes.io";

export function toSeed(facts: SeedFacts, crds: readonly JsonObject[]): Seed {
  const { source, from, liveServers, resources } = facts;
  const servers = Math.min(SERVERS_MAX, from.servers.length === 0 ? liveServers : from.servers.length);
  const inUse = resources.filter(
    ({ group, resource, objects }) =>
      objects > 0 && /^[a-z0-9]+$/.test(resource) && /^[a-z0-9.-]*$/.test(group) && group.length <= NAME_MAX,
  );
  const kinds = inUse
    .map(({ group, resource, objects }) => ({ group, resource, count: objects }))
    .toSorted((left, right) => right.count - left.count);
  const ranks = new Map(kinds.map(({ group, resource }, index) => [`${resource}.${group}`, index]));
  const rankOf = (crd: JsonObject): number => ranks.get(nameOf(crd)) ?? kinds.length;
  const used = crds.filter((crd) => ranks.has(nameOf(crd)) && objectsAt(specOf(crd), "versions").some(isServed));
  return {
    source,
    servers: servers === 0 ? undefined : servers,
    from: from.release,
    runtimeConfig: from.runtimeConfig,
    kinds: kinds.slice(0, KINDS_MAX),
    crds: used
      .toSorted((left, right) => rankOf(left) - rankOf(right))
      .slice(0, CRDS_MAX)
      .map(toCreate),
  };
}

function nameOf(crd: JsonObject): string {
  return stringAt(objectAt(crd, "metadata"), "name");
}

export function isServed(version: JsonObject): boolean {
  return version["served"] === true;
}

/**
 * The CRD as a user would create it. In a rehearsal there are no webhooks, so versions are converted by their name only.
 * CRDs from v1beta1 may have no schema.
 */
function toCreate(crd: JsonObject): JsonObject {
  const approval = objectAt(objectAt(crd, "metadata"), "annotations")[APPROVED];
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: nameOf(crd), ...(approval !== undefined && { annotations: { [APPROVED]: approval } }) },
    spec: {
      ...specOf(crd),
      conversion: { strategy: "None" },
      preserveUnknownFields: false,
      versions: objectsAt(specOf(crd), "versions").map((version) =>
        objectAt(version, "schema")["openAPIV3Schema"] === undefined ? { ...version, schema: ANY } : version,
      ),
    },
  };
}
