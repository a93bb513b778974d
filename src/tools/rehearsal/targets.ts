/**
 * The resources that clients of a rehearsal use: a few that every release serves, those that change during the plan,
 * and those of the user's manifests.
 */
import type { ReleaseName } from "../../objects/catalog/release.ts";
import type { ResourceType } from "../../client/objects.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import { bodyOfKind } from "./bodies.ts";
import type { SeedKind } from "./seed.ts";
import { changesEncoding, appearsOrVanishes, type PathApi } from "./path-apis.ts";

export interface LoadTarget {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly storagePrefix: string;
  /** Every version that a release of the plan serves. */
  readonly versions: readonly string[];
  /** Whether clients create objects ("all") or only read ("read"). */
  readonly use: "all" | "read";
  /** Bodies of objects by version, without metadata. */
  readonly bodies: ReadonlyMap<string, JsonObject>;
  /** How often clients choose this resource, relative to others. */
  readonly weight: number;
  /** Whether it is the resource of a CRD, which every server serves. */
  readonly isCustom: boolean;
}

/** A manifest of the user, as a template for the objects that clients create. */
export interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: JsonObject;
}

/** Resources of every release that users need most; clients always use them. */
const STEADY: readonly string[] = ["/configmaps", "/secrets", "apps/deployments", "batch/jobs"];
/** Clients only read resources that servers write themselves, and those whose objects a template cannot describe. */
const OWN: ReadonlySet<string> = new Set([
  "/events",
  "/namespaces",
  "/services",
  "events.k8s.io/events",
  "networking.k8s.io/ipaddresses",
  "networking.k8s.io/servicecidrs",
  "coordination.k8s.io/leases",
  "internal.apiserver.k8s.io/storageversions",
  "/nodes",
  "/persistentvolumes",
  "/podtemplates",
  "/replicationcontrollers",
  "apiextensions.k8s.io/customresourcedefinitions",
  "apiregistration.k8s.io/apiservices",
  "certificates.k8s.io/certificatesigningrequests",
  "node.k8s.io/runtimeclasses",
  "storage.k8s.io/storageclasses",
  "storage.k8s.io/volumeattachments",
]);
const VERBS: readonly string[] = ["create", "delete", "get", "list", "update", "watch"];
const SAMPLES_MAX = 20;
/** Every kind has informers, so that a cluster with all kinds would take too long. Kinds that change come first. */
const KINDS_MAX = 40;

interface LoadOptions {
  readonly samples?: readonly Sample[];
  /** The kinds that a cluster uses. If they are known, clients do not use others that change during the plan. */
  readonly kinds?: readonly SeedKind[] | undefined;
}

export function loadTargets(
  apis: readonly PathApi[],
  releases: readonly ReleaseName[],
  { samples = [], kinds }: LoadOptions = {},
): LoadTarget[] {
  const sampled = new Map(samples.map((sample) => [`${sample.apiVersion} ${sample.kind}`, sample.object]));
  const sampleOf = (api: PathApi): JsonObject | undefined => sampled.get(`${formatGroupVersion(api)} ${api.kind}`);
  const byResource = Map.groupBy(apis, ({ group, resource }) => `${group}/${resource}`);
  const isChanging = (all: readonly PathApi[]): boolean =>
    all.some((api) => appearsOrVanishes(api, releases) || changesEncoding(api));
  const used = (kinds ?? []).map(({ group, resource }) => `${group}/${resource}`);
  const [changing, others] = [true, false].map((wanted) =>
    used.filter((name) => byResource.has(name) && isChanging(byResource.get(name) ?? []) === wanted),
  );
  const inUse = kinds && new Set([...(changing ?? []), ...(others ?? [])].slice(0, KINDS_MAX));
  const weight = weightIn(kinds);
  let room = SAMPLES_MAX;
  return [...byResource].flatMap(([name, all]) => {
    const isSampled = all.some((api) => sampleOf(api) !== undefined);
    const isUsed = inUse?.has(name) ?? isChanging(all);
    if (!STEADY.includes(name) && !isUsed && !(isSampled && --room >= 0)) return [];
    const target = toTarget(name, all, sampleOf);
    return target === undefined ? [] : [{ ...target, weight: weight(target.group, target.resource) }];
  });
}

/** Kinds with many objects are used more often, but not so much more that others are never used. */
export function weightIn(kinds: readonly SeedKind[] = []): (group: string, resource: string) => number {
  const counts = new Map(kinds.map(({ group, resource, count }) => [`${group}/${resource}`, count]));
  return (group, resource) => 1 + Math.log2(1 + (counts.get(`${group}/${resource}`) ?? 0));
}

function toTarget(
  name: string,
  apis: readonly PathApi[],
  sampleOf: (api: PathApi) => JsonObject | undefined,
): LoadTarget | undefined {
  const [first] = apis;
  const isUsable = apis.every(({ verbs }) => VERBS.every((verb) => verbs.includes(verb)));
  if (first?.storagePrefix === undefined || !isUsable) return undefined;
  const { group, resource, kind, namespaced, storagePrefix } = first;
  const body = bodyOfKind(name);
  return {
    group,
    resource,
    kind,
    namespaced,
    storagePrefix,
    versions: apis.map(({ version }) => version),
    use: OWN.has(name) ? "read" : "all",
    bodies: new Map(apis.map((api) => [api.version, withoutMetadata(sampleOf(api)) ?? body])),
    weight: 1,
    isCustom: false,
  };
}

function withoutMetadata(object: JsonObject | undefined): JsonObject | undefined {
  if (object === undefined) return undefined;
  const { metadata: _metadata, status: _status, apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return rest;
}

export function resourceTypeOf({ group, resource, namespaced }: LoadTarget, version: string): ResourceType {
  return { group, version, resource, namespaced };
}
