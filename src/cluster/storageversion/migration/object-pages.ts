/**
 * Lists objects page by page, with only the metadata that a migration needs, and sends single objects back unchanged.
 */
import { parseObject } from "../../../client/resource-client.ts";
import type { Client } from "../../../client/client.ts";
import type { ResourceType } from "../../../client/objects.ts";
import { queryText, resourcePath } from "../../../client/paths.ts";
import { TransportError } from "../../../client/transport.ts";
import { isJsonObject, objectAt, stringAt } from "../../../meta/json.ts";
import { REQUEST_TIMEOUT_MS } from "./migration-limits.ts";

export interface ServedType {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface ListedObject {
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
}

export interface ObjectPage {
  readonly objects: readonly ListedObject[];
  /** Empty for the last page. */
  readonly continueToken: string;
  /** Number of objects after this page; undefined if the server does not report it. */
  readonly following: number | undefined;
  readonly resourceVersion: string;
}

const FIELD_MANAGER = "storage-version-migrator-controller";

const LIST_ACCEPT = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const OBJECT_ACCEPT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

export async function listPage(
  client: Client,
  type: ServedType,
  { continueToken = "", limit, signal }: { continueToken?: string; limit: number; signal: AbortSignal },
): Promise<ObjectPage> {
  const target = resourcePath({ ...type, namespaced: true }, {}) + queryText({ limit, continue: continueToken });
  const { text } = await client.request({
    method: "GET",
    target,
    headers: { accept: LIST_ACCEPT },
    signal,
    timeoutMs: REQUEST_TIMEOUT_MS,
  });
  return toPage(text);
}

/**
 * Patches the object without a change. The server decides whether the stored value is outdated, such as stored in
 * another version, and stores the object again only then. So callers send the patch for every object, and need not know
 * all reasons for which a value can be outdated.
 */
export async function rewriteObject(
  client: Client,
  type: ServedType,
  { object, signal }: { readonly object: ListedObject; readonly signal: AbortSignal },
): Promise<void> {
  const { namespace, name, resourceVersion } = object;
  const place: ResourceType = { ...type, namespaced: namespace !== "" };
  await client.request({
    method: "PATCH",
    target: resourcePath(place, { namespace, name }) + queryText({ fieldManager: FIELD_MANAGER }),
    headers: { accept: OBJECT_ACCEPT },
    // If another client has changed the object, or replaced it under the same name, the patch fails with a conflict.
    body: { metadata: { resourceVersion } },
    contentType: "application/merge-patch+json",
    signal,
    timeoutMs: REQUEST_TIMEOUT_MS,
  });
}

function toPage(text: string): ObjectPage {
  const list = parseObject(text);
  const items = list["items"] ?? [];
  if (!Array.isArray(items)) throw new TransportError("malformed", "the response is not a list");
  const metadata = objectAt(list, "metadata");
  const { remainingItemCount } = metadata;
  const continueToken = stringAt(metadata, "continue");
  const isCounted = typeof remainingItemCount === "number" && remainingItemCount >= 0;
  return {
    objects: (items as unknown[]).map(toObject),
    continueToken,
    following: continueToken === "" ? 0 : isCounted ? remainingItemCount : undefined,
    resourceVersion: stringAt(metadata, "resourceVersion"),
  };
}

function toObject(item: unknown): ListedObject {
  const metadata = isJsonObject(item) ? objectAt(item, "metadata") : {};
  return {
    namespace: stringAt(metadata, "namespace"),
    name: stringAt(metadata, "name"),
    resourceVersion: stringAt(metadata, "resourceVersion"),
  };
}
