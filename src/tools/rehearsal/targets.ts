/**
 * The resources that clients of a rehearsal use: a few that every release serves, those that change during the plan,
 * and those of the user's manifests.
 */
import type { ReleaseName } from "../../objects/catalog/release.ts";
import type { ResourceType } from "../../client/objects.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import { bodyOfKind } from "./bodies.ts";
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
}

/** A manifest of the user, as a template for the objects that clients create. */
export interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly object: JsonObject;
}

/** Resources of every release that users need most; clients always use them. */
const STEADY: readonly string[] = ["/configmaps", "/secrets", "apps/deployments", "batch/jobs"];
/** Resources that servers write themselves; clients only read them. */
const OWN: ReadonlySet<string> = new Set([
  "/events",
  "/namespaces",
  "/services",
  "events.k8s.io/events",
  "networking.k8s.io/ipaddresses",
  "networking.k8s.io/servicecidrs",
  "coordination.k8s.io/leases",
  "internal.apiserver.k8s.io/storageversions",
]);
const VERBS: readonly string[] = ["create", "delete", "get", "list", "update", "watch"];
const SAMPLES_MAX = 20;

export function loadTargets(
  apis: readonly PathApi[],
  releases: readonly ReleaseName[],
  samples: readonly Sample[] = [],
): LoadTarget[] {
  const sampled = new Map(samples.map((sample) => [`${sample.apiVersion} ${sample.kind}`, sample.object]));
  const sampleOf = (api: PathApi): JsonObject | undefined => sampled.get(`${formatGroupVersion(api)} ${api.kind}`);
  const byResource = Map.groupBy(apis, ({ group, resource }) => `${group}/${resource}`);
  let room = SAMPLES_MAX;
  return [...byResource].flatMap(([name, all]) => {
    const isSampled = all.some((api) => sampleOf(api) !== undefined);
    const isChanging = all.some((api) => appearsOrVanishes(api, releases) || changesEncoding(api));
    if (!STEADY.includes(name) && !isChanging && !(isSampled && --room >= 0)) return [];
    return toTarget(name, all, sampleOf) ?? [];
  });
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
