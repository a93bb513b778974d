/** Builds the paths of resources and the queries of options. */
import type { ResourceType } from "./objects.ts";

export interface ResourcePath {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

export function resourcePath(type: ResourceType, place: ResourcePath): string {
  const { group, version, resource, namespaced } = type;
  const segments = group === "" ? ["api", version] : ["apis", group, version];
  if (namespaced && hasText(place.namespace)) segments.push("namespaces", place.namespace);
  else if (namespaced && place.name !== undefined) throw new TypeError(`a namespace is required for ${resource}`);
  segments.push(resource);
  if (place.name !== undefined) segments.push(place.name);
  if (hasText(place.subresource)) segments.push(...place.subresource.split("/"));
  return segments.map((segment) => `/${pathSegment(segment)}`).join("");
}

/** Rejects "." and "..", because proxies and browsers would resolve them and so change the path. */
function pathSegment(text: string): string {
  if (text === "" || text === "." || text === "..")
    throw new TypeError(`${JSON.stringify(text)} cannot be a path segment`);
  return encodeURIComponent(text);
}

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** The query string including the question mark; empty if no value is set. */
export function queryText(values: QueryValues): string {
  const pairs = Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function hasText(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}
