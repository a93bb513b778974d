/** Reads discovery as a client does: the documents, and the resources that they contain. */
import { isJsonObject, objectsAt, parseJsonObject, type JsonObject } from "../../src/meta/json.ts";
import { get } from "./get.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";

const AGGREGATED = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" } as const;

export interface ListedResource {
  /** Group version and resource, such as "apps/v1/deployments" or "v1/pods". */
  readonly name: string;
  /** Path that lists the objects of all namespaces. */
  readonly path: string;
  readonly verbs: readonly string[];
}

/** Every resource in the aggregated discovery documents of a server. */
export async function listedResources(
  cluster: SimulatedCluster,
  server: SimulatedServer,
): Promise<readonly ListedResource[]> {
  const resources: ListedResource[] = [];
  for (const root of ["/api", "/apis"]) {
    const { text } = await get(cluster, server, root, AGGREGATED);
    for (const group of objectsAt(parseJsonObject(text) ?? {}, "items")) resources.push(...resourcesOf(root, group));
  }
  return resources;
}

function resourcesOf(root: string, group: JsonObject): ListedResource[] {
  const metadata = isJsonObject(group["metadata"]) ? group["metadata"] : {};
  const path = typeof metadata["name"] === "string" ? `${root}/${metadata["name"]}` : root;
  return objectsAt(group, "versions").flatMap((version) =>
    objectsAt(version, "resources").map((resource) => {
      const listPath = `${path}/${String(version["version"])}/${String(resource["resource"])}`;
      const verbs = Array.isArray(resource["verbs"]) ? resource["verbs"].map(String) : [];
      return { name: listPath.replace(/^\/apis?\//, ""), path: listPath, verbs };
    }),
  );
}

/** All discovery documents of a server, by path and format, without the parts that may differ between servers. */
export async function allDocuments(
  cluster: SimulatedCluster,
  server: SimulatedServer,
): Promise<ReadonlyMap<string, string>> {
  const documents = new Map<string, string>();
  const read = async (target: string, form: "legacy" | "aggregated"): Promise<string> => {
    const { status, text } = await get(cluster, server, target, form === "aggregated" ? AGGREGATED : {});
    const document = parseJsonObject(text) ?? {};
    delete document["serverAddressByClientCIDRs"];
    documents.set(`${target} (${form})`, `${status} ${JSON.stringify(document)}`);
    return text;
  };
  for (const root of ["/api", "/apis"]) await read(root, "aggregated");
  const core = parseJsonObject(await read("/api", "legacy")) ?? {};
  for (const version of Array.isArray(core["versions"]) ? core["versions"] : [])
    await read(`/api/${String(version)}`, "legacy");
  for (const group of objectsAt(parseJsonObject(await read("/apis", "legacy")) ?? {}, "groups")) {
    await read(`/apis/${String(group["name"])}`, "legacy");
    for (const version of objectsAt(group, "versions"))
      await read(`/apis/${String(version["groupVersion"])}`, "legacy");
  }
  return documents;
}
