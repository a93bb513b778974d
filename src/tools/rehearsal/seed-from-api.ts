/** Seeds a rehearsal with a running cluster through its API, read-only: version, served APIs, CRDs and counts. */
import type { Client } from "../../client/client.ts";
import { runtimeConfigFor } from "../upgrade/inspect/releases/served-group-versions.ts";
import { releaseOf } from "../upgrade/inspect/releases/detect-release.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { pathOf, readDiscovery, requestOf, type KubeResource, type KubeSend } from "./kube-requests.ts";
import { toSeed, type Seed } from "./seed.ts";

/** A cluster that cannot be read; the message is one sentence. */
export class SeedError extends Error {
  override readonly name = "SeedError";
}

const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
/** A cluster with more kinds than this has most of them from operators. */
const RESOURCES_MAX = 1_000;
const LEASES =
  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases?labelSelector=apiserver.kubernetes.io%2Fidentity%3Dkube-apiserver";
const CRDS_LIMIT = 500;

export async function seedFromApi(client: Client, url: string): Promise<Seed> {
  const send = requestOf(client);
  const version = await send("GET", "/version");
  const resources = await readDiscovery(send);
  if (version.status !== 200 || resources === undefined)
    throw new SeedError(`${url} did not return its version and discovery${reasonOf(version.status)}`);
  const release = releaseOf(stringAt(version.object, "gitVersion"));
  const served = new Set(
    resources.flatMap(({ group, versions }) =>
      versions.map((one) => (group === "" ? one : formatGroupVersion({ group, version: one }))),
    ),
  );
  const { object: list } = await send(
    "GET",
    `/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=${CRDS_LIMIT}`,
  );
  return toSeed(
    {
      source: `cluster ${url}`,
      from: {
        ...(release !== undefined && { release }),
        servers: [],
        runtimeConfig: release === undefined ? [] : runtimeConfigFor(served, release),
      },
      liveServers: await countServers(send),
      resources: await countObjects(send, resources.slice(0, RESOURCES_MAX)),
    },
    objectsAt(list, "items"),
  );
}

function reasonOf(status: number | undefined): string {
  return status === undefined ? ": it cannot be reached" : ` (status ${status})`;
}

/**
 * Every server has an address in the endpoints of the Service `kubernetes`, unless it listens on a loopback address, and
 * an identity lease. 0 if neither can be read.
 */
async function countServers(send: KubeSend): Promise<number> {
  const { object } = await send("GET", "/api/v1/namespaces/default/endpoints/kubernetes");
  const addresses = objectsAt(object, "subsets").flatMap((subset) => objectsAt(subset, "addresses"));
  if (addresses.length > 0) return addresses.length;
  const leases = await send("GET", LEASES);
  return objectsAt(leases.object, "items").length;
}

interface Counted {
  readonly group: string;
  readonly resource: string;
  readonly objects: number;
}

/** Omits resources that the user may not list. */
async function countObjects(send: KubeSend, resources: readonly KubeResource[]): Promise<Counted[]> {
  const counted: Counted[] = [];
  for (const of of resources) {
    if (!of.verbs.has("list") || !of.verbs.has("create")) continue;
    const { status, object } = await send("GET", `${pathOf(of)}?limit=1`, { accept: METADATA });
    if (status === 200) counted.push({ group: of.group, resource: of.resource, objects: countOf(object) });
  }
  return counted;
}

function countOf(list: JsonObject): number {
  const remaining = numberAt(objectAt(list, "metadata"), "remainingItemCount") ?? 0;
  return objectsAt(list, "items").length + remaining;
}
