/** Finds in merged discovery the version in which to request a resource, and the verbs of that version. */
import type { Client } from "../../../client/client.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { TransportError } from "../../../client/transport.ts";
import { REQUEST_TIMEOUT_MS } from "./migration-limits.ts";
import type { ServedType } from "./object-pages.ts";

export interface DiscoveredResource {
  readonly type: ServedType;
  readonly verbs: readonly string[];
}

const FORMS = ["v2", "v2beta1"].map(
  (version) => `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
);

/**
 * Undefined if no version of the resource is served. `preferred` versions are tried first, then the others in the order
 * of the discovery document.
 */
export async function discoverResource(
  client: Client,
  { group, resource, preferred = [] }: { group: string; resource: string; preferred?: readonly string[] },
  signal: AbortSignal,
): Promise<DiscoveredResource | undefined> {
  const { text } = await client.request({
    method: "GET",
    target: group === "" ? "/api" : "/apis",
    headers: { accept: FORMS.join(",") },
    signal,
    timeoutMs: REQUEST_TIMEOUT_MS,
  });
  const versions = versionsOf(text, group);
  const rank = (version: string): number => (preferred.includes(version) ? preferred.indexOf(version) : Infinity);
  const found = versions
    .map((version) => ({ version: stringAt(version, "version"), resource: resourceIn(version, resource) }))
    .filter(({ resource: document }) => document !== undefined)
    .sort((left, right) => compareRanks(rank(left.version), rank(right.version)))[0];
  if (found?.resource === undefined) return undefined;
  return { type: { group, version: found.version, resource }, verbs: stringsAt(found.resource, "verbs") };
}

export function isEvents({ group, resource }: { readonly group: string; readonly resource: string }): boolean {
  return resource === "events" && (group === "" || group === "events.k8s.io");
}

/** Compares without subtraction, because Infinity minus Infinity is NaN, which a sort cannot use. */
function compareRanks(left: number, right: number): number {
  return left === right ? 0 : left < right ? -1 : 1;
}

function versionsOf(text: string, group: string): readonly JsonObject[] {
  const groups = objectsAt(parse(text), "items");
  const found = groups.find((candidate) => stringAt(objectAt(candidate, "metadata"), "name") === group);
  return found === undefined ? [] : objectsAt(found, "versions");
}

function resourceIn(version: JsonObject, resource: string): JsonObject | undefined {
  return objectsAt(version, "resources").find((candidate) => stringAt(candidate, "resource") === resource);
}

function parse(text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw new TransportError("malformed", "the discovery document is not JSON", { cause: thrown });
  }
  if (!isJsonObject(parsed) || parsed["kind"] !== "APIGroupDiscoveryList")
    throw new TransportError("malformed", "the discovery document is not an APIGroupDiscoveryList");
  return parsed;
}
