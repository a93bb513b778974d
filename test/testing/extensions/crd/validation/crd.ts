/** Valid custom resource definitions in which a test replaces single parts, and the validation errors of the result. */
import type { JsonObject } from "../../../../../src/meta/json.ts";
import { createErrorsOf } from "../../../objects/kinds/core/kind-errors.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "../../../../../src/extensions/crd/validation/crd-kind.ts";

export function version(name: string, members: JsonObject = {}): JsonObject {
  const schema = { openAPIV3Schema: { type: "object" } };
  return { name, served: true, storage: name === "v1", schema, ...members };
}

export function definition(spec: JsonObject, metadata: JsonObject = { name: "widgets.example.com" }): JsonObject {
  const names = { plural: "widgets", kind: "Widget" };
  const needed = { group: "example.com", scope: "Cluster", names, versions: [version("v1")] };
  return { metadata, spec: { ...needed, ...spec } };
}

export function definitionOf(schema: JsonObject, members: JsonObject = {}): JsonObject {
  return definition({ versions: [version("v1", { schema: { openAPIV3Schema: schema }, ...members })] });
}

/** Errors of a CRD with this schema; the path of the schema is abbreviated to `root`. */
export function schemaErrors(schema: JsonObject, members: JsonObject = {}): string[] {
  return createErrorsOf(CUSTOM_RESOURCE_DEFINITION, definitionOf(schema, members)).map((sentence) =>
    sentence.replaceAll("spec.validation.openAPIV3Schema", "root"),
  );
}

/** Errors of a CRD with this schema of a property `a`; the path of the property is abbreviated to `a`. */
export function propertyErrors(property: JsonObject): string[] {
  const sentences = schemaErrors({ type: "object", properties: { a: property } });
  return sentences.map((sentence) => sentence.replaceAll("root.properties[a]", "a"));
}
