/**
 * Merges OpenAPI 3 documents. The result has every path and model of any document, taken from the first document that
 * has it, sorted by name as in the document of a single server.
 */
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { compareNames } from "../order.ts";

/** Merges the OpenAPI 3 documents of the built-in and the custom resources of one group version. */
export function mergeV3(first: JsonObject, second: JsonObject): JsonObject {
  const [components, others] = [objectAt(first, "components"), objectAt(second, "components")];
  return {
    ...first,
    paths: union([objectAt(first, "paths"), objectAt(second, "paths")]),
    components: { ...components, schemas: union([objectAt(components, "schemas"), objectAt(others, "schemas")]) },
  };
}

function union(parts: readonly JsonObject[]): JsonObject {
  const members = new Map<string, JsonObject[string]>();
  for (const part of parts)
    for (const [name, value] of Object.entries(part)) if (!members.has(name)) members.set(name, value);
  return Object.fromEntries([...members].sort(([left], [right]) => compareNames(left, right)));
}
