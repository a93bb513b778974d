/** The OpenAPI 2 document of a catalog as one object, for tests. */
import type { Catalog } from "../../../../../src/objects/catalog/catalog.ts";
import { objectAt, type JsonObject } from "../../../../../src/meta/json.ts";
import { builtInV2 } from "../../../../../src/serving/discovery/openapi/v2.ts";

export function openApiV2Document(catalog: Catalog): JsonObject {
  const source = builtInV2(catalog);
  const document: JsonObject = { ...source.head, paths: {}, definitions: {}, parameters: {} };
  for (const { section, name, value } of source.entries()) objectAt(document, section)[name] = value;
  return document;
}
