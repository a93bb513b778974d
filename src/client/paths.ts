/** Where a resource is, and how options become a query. */
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
  else if (namespaced && place.name !== undefined)
    throw new TypeError(`an object of ${resource} needs a namespace to be found in`);
  segments.push(resource);
  if (place.name !== undefined) segments.push(place.name);
  if (hasText(place.subresource)) segments.push(...place.subresource.split("/"));
  return segments.map((segment) => `/${pathSegment(segment)}`).join("");
}

/** Dots would be resolved away on their path through proxies and browsers, and name something else. */
function pathSegment(text: string): string {
  if (text === "" || text === "." || text === "..")
    throw new TypeError(`${JSON.stringify(text)} cannot be part of a path`);
  return encodeURIComponent(text);
}

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/** With its question mark; empty when nothing is set. */
export function queryText(values: QueryValues): string {
  const pairs = Object.entries(values)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`);
  return pairs.length === 0 ? "" : `?${pairs.join("&")}`;
}

function hasText(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}
