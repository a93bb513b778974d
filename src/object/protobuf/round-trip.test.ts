import { describe, expect, test } from "vitest";

import { openCatalogue } from "../../catalogue/catalogue.ts";
import { protobufTables } from "../../catalogue/protobuf-tables.ts";
import { parseRuntimeConfig } from "../../catalogue/runtime-config.ts";
import { modelName } from "../../catalogue/schema-source.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { isJsonObject } from "../../meta/json.ts";
import type { JsonObject } from "../../meta/json.ts";
import { fullObject } from "../conversion/testing/full-object.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { decodeProtobufObject } from "./decode.ts";
import { encodeProtobufObject } from "./testing/encode.ts";

const catalogue = openCatalogue({
  release: "1.36",
  runtimeConfig: parseRuntimeConfig("api/all=true"),
  featureGates: new Map([
    ["AllAlpha", true],
    ["AllBeta", true],
  ]),
});

const served = catalogue.groups.flatMap(({ resources }) =>
  resources.flatMap(({ group, versions }) =>
    versions.flatMap(({ version, kind }) => [
      { group, version, kind },
      { group, version, kind: `${kind}List` },
    ]),
  ),
);
const others = [
  { group: "apps", version: "v1", kind: "DeleteOptions" },
  { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
  { group: "autoscaling", version: "v1", kind: "Scale" },
  { group: "policy", version: "v1", kind: "Eviction" },
  { group: "", version: "v1", kind: "Binding" },
  { group: "", version: "v1", kind: "Status" },
];
const kinds = [...served, ...others].flatMap((gvk) => {
  const schema = catalogue.schemas.kind(gvk.group, gvk.version, gvk.kind);
  return schema === undefined ? [] : [{ ...gvk, schema, name: `${formatGroupVersion(gvk)} ${gvk.kind}` }];
});

const kindStructs: ReadonlySet<StructSchema> = new Set(kinds.map(({ schema }) => schema));

/** What is any JSON to the schema but a JSON schema to protobuf, and times of six digits. */
function withProtobufValues(value: unknown, field: FieldSchema): unknown {
  const model = modelName(field) ?? "";
  if (typeof value === "string" && model.endsWith(".MicroTime")) return value.replace("Z", ".000007Z");
  if (/\.JSONSchemaPropsOr(Array|Bool|StringArray)$/.test(model)) return { type: "string" };
  if (field.struct !== undefined && isJsonObject(value))
    return withProtobufMembers(withoutType(value, field.struct), field.struct);
  const { items } = field;
  if (items === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => withProtobufValues(item, items));
  const entries = Object.entries(value as JsonObject);
  return Object.fromEntries(entries.map(([key, item]) => [key, withProtobufValues(item, items)]));
}

/** An object within an object does not say its kind in protobuf, and a type without fields has none. */
function withoutType(object: JsonObject, struct: StructSchema): JsonObject {
  if (struct.fields.size === 0) return {};
  if (!kindStructs.has(struct)) return object;
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
  return rest;
}

function withProtobufMembers(object: JsonObject, struct: StructSchema): JsonObject {
  const members = Object.entries(object).map(([name, value]) => {
    const field = struct.fields.get(name);
    return [name, field === undefined ? value : withProtobufValues(value, field)];
  });
  return Object.fromEntries(members) as JsonObject;
}

describe("every kind of a release", () => {
  test("has a protobuf message", () => {
    expect(kinds.length).toBeGreaterThan(150);
    const without = kinds.filter(({ group, version, kind }) => {
      return protobufTables().messageFor(formatGroupVersion({ group, version }), kind) === undefined;
    });
    expect(without.map(({ name }) => name)).toEqual([]);
  });

  test.each(kinds)("$name comes back whole, with every field set", ({ schema, ...gvk }) => {
    const object = withProtobufMembers(fullObject(schema, gvk), schema);
    expect(decodeProtobufObject(encodeProtobufObject(object, protobufTables()), protobufTables())).toEqual(object);
  });
});
