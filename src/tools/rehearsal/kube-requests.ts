/** The requests of the model of kube-controller-manager: responses of any status as values, and discovery. */
import type { Client } from "../../client/client.ts";
import { resourcePath } from "../../client/paths.ts";
import { isFailure, TransportError } from "../../client/transport.ts";
import { objectAt, objectsAt, parseJsonObject, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { HTTP_CODE, StatusError } from "../../meta/status-error.ts";

interface KubeResponse {
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  readonly object: JsonObject;
}

export type KubeSend = (method: string, target: string, options?: SendOptions) => Promise<KubeResponse>;

interface SendOptions {
  readonly body?: JsonObject;
  readonly accept?: string;
  readonly contentType?: string;
}

/** A resource in the version that its server prefers. */
export interface KubeResource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: ReadonlySet<string>;
  /** All versions that the server serves. */
  readonly versions: readonly string[];
}

const TIMEOUT_MS = 10_000;
const AGGREGATED = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`)
  .join(",");

export function requestOf(client: Client): KubeSend {
  return async (method, target, { body, accept, contentType } = {}) => {
    try {
      const response = await client.request({
        method,
        target,
        timeoutMs: TIMEOUT_MS,
        ...(accept !== undefined && { headers: { accept } }),
        ...(body !== undefined && { body }),
        ...(contentType !== undefined && { contentType }),
      });
      return { status: response.status, object: parseJsonObject(response.text) ?? {} };
    } catch (thrown) {
      if (thrown instanceof StatusError) return { status: HTTP_CODE[thrown.reason], object: {} };
      if (thrown instanceof TransportError || isFailure(thrown, "aborted")) return { status: undefined, object: {} };
      throw thrown;
    }
  };
}

/** Returns the resources of the server with their preferred versions; undefined if discovery fails. */
export async function readDiscovery(send: KubeSend): Promise<readonly KubeResource[] | undefined> {
  const found: KubeResource[] = [];
  for (const root of ["/api", "/apis"]) {
    const { status, object } = await send("GET", root, { accept: AGGREGATED });
    if (status !== 200) return undefined;
    found.push(...objectsAt(object, "items").flatMap(resourcesOf));
  }
  return found;
}

/** As kubernetes: the first version of the group that has the resource is the preferred one. */
function resourcesOf(group: JsonObject): KubeResource[] {
  const name = stringAt(objectAt(group, "metadata"), "name");
  const all = objectsAt(group, "versions").flatMap((version) =>
    objectsAt(version, "resources").map((resource) => ({ version: stringAt(version, "version"), resource })),
  );
  const byName = Map.groupBy(all, ({ resource }) => stringAt(resource, "resource"));
  return [...byName].flatMap(([resource, found]) => {
    const [first] = found;
    if (first === undefined) return [];
    return {
      group: name,
      version: first.version,
      resource,
      kind: stringAt(objectAt(first.resource, "responseKind"), "kind"),
      namespaced: stringAt(first.resource, "scope") === "Namespaced",
      verbs: new Set(stringsAt(first.resource, "verbs")),
      versions: found.map(({ version }) => version),
    };
  });
}

export function pathOf(of: KubeResource, place: { readonly namespace?: string; readonly name?: string } = {}): string {
  return resourcePath(of, place);
}
