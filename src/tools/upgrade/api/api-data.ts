/**
 * Presents the objects of a cluster's API as stored data, so that one inspection serves both. Most objects are read as
 * metadata only, which is enough for field managers and owners, and never contains the data of a Secret.
 */
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { StoredData, StoredItem } from "../stored-data.ts";
import { METADATA_LIST, type ApiRequests } from "./api-requests.ts";
import { apiResources, type ApiResource } from "./api-resources.ts";

/** The root of the keys that are made from the names of the objects. */
export const API_PREFIX = "/registry/";

export interface ApiData extends StoredData {
  /** The resources that the last walk could not read, each with the reason. */
  readonly notRead: readonly string[];
}

/** As kubectl. */
const PAGE = 500;
/** CRDs contain schemas of up to a megabyte each. */
const LARGE_PAGE = 20;
/** Resources whose spec and status the inspection needs. None of them contains secrets. */
const WHOLE: ReadonlyMap<string, number> = new Map([
  ["apiextensions.k8s.io/customresourcedefinitions", LARGE_PAGE],
  ["apiregistration.k8s.io/apiservices", PAGE],
  ["coordination.k8s.io/leases", PAGE],
  ["internal.apiserver.k8s.io/storageversions", PAGE],
  ["/namespaces", PAGE],
  ["/nodes", PAGE],
]);
/** Single objects that the inspection needs as a whole, by the path of their list. */
const WHOLE_OBJECTS: ReadonlyMap<string, string> = new Map([
  ["/pods", "/api/v1/namespaces/kube-system/pods?labelSelector=component%3Dkube-apiserver"],
  ["/configmaps", "/api/v1/namespaces/kube-system/configmaps?fieldSelector=metadata.name%3Dkubeadm-config"],
]);

export async function openApiData(requests: ApiRequests): Promise<ApiData> {
  const { resources, aggregated } = await apiResources(requests);
  const notRead: string[] = [];
  return {
    source: `API of ${requests.url}`,
    revision: 0,
    warnings: [],
    notRead,
    walk: async ({ prefix, signal, onProgress }, visit) => {
      notRead.length = 0;
      if (aggregated.length > 0) notRead.push(`objects of aggregated APIs (${aggregated.join(", ")})`);
      const walked = { keys: 0, bytes: 0 };
      for (const [index, resource] of resources.entries()) {
        signal.throwIfAborted();
        const counted = (item: StoredItem): void => {
          if (!item.key.startsWith(prefix)) return;
          walked.keys++;
          walked.bytes += item.key.length + item.value.length;
          visit(item);
        };
        const problem = await walkResource(requests, resource, counted);
        if (problem !== undefined) notRead.push(problem);
        onProgress({ done: index + 1, total: resources.length });
      }
      return walked;
    },
    close: async () => {},
  };
}

/** Returns what could not be read. */
async function walkResource(
  requests: ApiRequests,
  resource: ApiResource,
  visit: (item: StoredItem) => void,
): Promise<string | undefined> {
  const name = `${resource.group}/${resource.resource}`;
  const whole = new Map<string, JsonObject>();
  const few = WHOLE_OBJECTS.get(name);
  if (few !== undefined)
    await requests.list({ path: few, limit: PAGE }, (object) => whole.set(keyOf(resource, object), object));
  const path = `${resource.group === "" ? "/api" : `/apis/${resource.group}`}/${resource.version}/${resource.resource}`;
  const limit = WHOLE.get(name);
  const request = limit === undefined ? { path, limit: PAGE, accept: METADATA_LIST } : { path, limit };
  const missing = await requests.list(request, (object) => {
    const key = keyOf(resource, object);
    visit(itemOf(resource, key, whole.get(key) ?? object));
  });
  if (missing === undefined || missing.missing === "not-served") return undefined;
  const shown = resource.group === "" ? resource.resource : `${resource.resource}.${resource.group}`;
  return missing.missing === "denied" ? `${shown} (the user may not list them)` : `${shown} (${missing.reason})`;
}

function keyOf({ place, namespaced }: ApiResource, object: JsonObject): string {
  const metadata = objectAt(object, "metadata");
  const namespace = namespaced ? `${stringAt(metadata, "namespace")}/` : "";
  return `${API_PREFIX}${place}/${namespace}${stringAt(metadata, "name")}`;
}

/** Items of lists have no type, and items in metadata form have the type of that form. */
function itemOf({ group, version, kind }: ApiResource, key: string, object: JsonObject): StoredItem {
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const value = Buffer.from(JSON.stringify({ ...object, apiVersion, kind }));
  return { key, value, createRevision: 0, modRevision: 0 };
}
