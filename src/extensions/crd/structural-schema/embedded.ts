/** Finds the embedded resources of an object, which its schema marks with x-kubernetes-embedded-resource. */
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import type { StructuralSchema } from "./schema.ts";

/** `path` is written as in errors: `spec.templates[0]`, `spec.byName[key]`; "" for the object itself. */
type VisitResource = (resource: JsonObject, path: string) => void;

/** Calls `visit` for each embedded resource. An embedded resource is visited before the resources embedded in it. */
export type VisitEmbedded = (value: unknown, path: string, visit: VisitResource) => void;

/** Undefined if the schema has no embedded resources. */
export function compileEmbedded(schema: StructuralSchema): VisitEmbedded | undefined {
  const members = new Map<string, VisitEmbedded>();
  for (const [name, property] of schema.properties) {
    const visitor = compileEmbedded(property);
    if (visitor !== undefined) members.set(name, visitor);
  }
  const { additionalProperties, items, embeddedResource, properties } = schema;
  const others = typeof additionalProperties === "object" ? compileEmbedded(additionalProperties) : undefined;
  const item = items === undefined ? undefined : compileEmbedded(items);
  if (members.size === 0 && others === undefined && item === undefined && !embeddedResource) return undefined;
  return (value, path, visit) => {
    if (Array.isArray(value)) {
      if (item === undefined) return;
      for (const [index, one] of value.entries()) item(one, `${path}[${index}]`, visit);
    } else if (isJsonObject(value)) {
      if (embeddedResource) visit(value, path);
      for (const [name, member] of members)
        if (Object.hasOwn(value, name)) member(value[name], childPath(path, name), visit);
      if (others === undefined) return;
      for (const name of Object.keys(value)) if (!properties.has(name)) others(value[name], `${path}[${name}]`, visit);
    }
  };
}

export function childPath(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
