/** The resources that a cluster serves and stores, from its discovery. */
import { isBuiltInGroup } from "../../../objects/catalog/built-in-groups.ts";
import { storagePlaces } from "../../../objects/catalog/storage-places.ts";
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { ApiRequests } from "./api-requests.ts";

export interface ApiResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Where kube-apiserver stores its objects by default, without the root: "services/specs". */
  readonly place: string;
}

interface ApiResources {
  readonly resources: readonly ApiResource[];
  /** Group versions that an aggregated API server serves. Their objects are not in the cluster's etcd, or not only. */
  readonly aggregated: readonly string[];
}

const DISCOVERY =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
const AGGREGATION = "/apis/apiregistration.k8s.io/v1/apiservices";
const PAGE = 500;
const RESOURCES_MAX = 5_000;
const GROUPS_MAX = 2_000;

type Served = Omit<ApiResource, "place">;

/** Returns each stored resource once, in the version that its group prefers. */
export async function apiResources(requests: ApiRequests): Promise<ApiResources> {
  const aggregated = await aggregatedGroupVersions(requests);
  const served = [...(await discovered(requests, "/api")), ...(await discovered(requests, "/apis"))];
  const places = new Map(storagePlaces().map((place) => [`${place.group}/${place.resource}`, place.prefix]));
  const found = new Map<string, ApiResource>();
  for (const one of served) {
    const name = `${one.group}/${one.resource}`;
    // Only custom resources have groups that no release has; a built-in resource without a place is not stored itself.
    const place = places.get(name) ?? (isBuiltInGroup(one.group) ? undefined : name);
    const isOwn = !aggregated.has(`${one.group}/${one.version}`);
    if (place !== undefined && isOwn && !found.has(name) && found.size < RESOURCES_MAX)
      found.set(name, { ...one, place });
  }
  return { resources: [...found.values()], aggregated: [...aggregated] };
}

async function aggregatedGroupVersions(requests: ApiRequests): Promise<Set<string>> {
  const groupVersions = new Set<string>();
  await requests.list({ path: AGGREGATION, limit: PAGE }, ({ spec, ...rest }) => {
    const about = objectAt({ spec, ...rest }, "spec");
    if (stringAt(objectAt(about, "service"), "name") === "") return;
    groupVersions.add(`${stringAt(about, "group")}/${stringAt(about, "version")}`);
  });
  return groupVersions;
}

async function discovered(requests: ApiRequests, path: "/api" | "/apis"): Promise<Served[]> {
  const received = await requests.json(path, DISCOVERY);
  if ("missing" in received) return [];
  const { value } = received;
  if (stringAt(value, "kind") === "APIGroupDiscoveryList") return objectsAt(value, "items").flatMap(ofGroup);
  // A server older than 1.26, or a proxy that drops the Accept header: one document for each group version.
  const targets = path === "/api" ? stringsAt(value, "versions") : objectsAt(value, "groups").flatMap(versionsOf);
  const served: Served[] = [];
  for (const target of targets.slice(0, GROUPS_MAX)) {
    const list = await requests.json(`${path}/${target}`);
    if ("value" in list) served.push(...ofResourceList(list.value));
  }
  return served;
}

/** The preferred version first. */
function versionsOf(group: JsonObject): string[] {
  const preferred = stringAt(objectAt(group, "preferredVersion"), "groupVersion");
  const all = objectsAt(group, "versions").map((version) => stringAt(version, "groupVersion"));
  return [...new Set([preferred, ...all])].filter((groupVersion) => groupVersion !== "");
}

function ofGroup(item: JsonObject): Served[] {
  const group = stringAt(objectAt(item, "metadata"), "name");
  return objectsAt(item, "versions").flatMap((version) =>
    objectsAt(version, "resources")
      .filter((resource) => stringsAt(resource, "verbs").includes("list"))
      .map((resource) => ({
        group,
        version: stringAt(version, "version"),
        resource: stringAt(resource, "resource"),
        kind: stringAt(objectAt(resource, "responseKind"), "kind"),
        namespaced: stringAt(resource, "scope") === "Namespaced",
      })),
  );
}

function ofResourceList(list: JsonObject): Served[] {
  const [version = "", group = ""] = stringAt(list, "groupVersion").split("/").toReversed();
  return objectsAt(list, "resources")
    .filter((resource) => stringsAt(resource, "verbs").includes("list") && !stringAt(resource, "name").includes("/"))
    .map((resource) => ({
      group,
      version,
      resource: stringAt(resource, "name"),
      kind: stringAt(resource, "kind"),
      namespaced: resource["namespaced"] === true,
    }));
}
