import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { checkApplied } from "../../../objects/managed-fields/applied-check.ts";
import type { StructSchema } from "../../../objects/schema.ts";
import { parseStructural } from "./parse.ts";
import { toStructSchema } from "./struct-schema.ts";

const METADATA: StructSchema = { name: "ObjectMeta", fields: new Map(), mapType: undefined, preserveUnknown: true };

function structOf(properties: JsonObject, more: JsonObject = {}): StructSchema {
  return toStructSchema(parseStructural({ type: "object", properties, ...more }), {
    name: "Thing",
    metadata: METADATA,
  });
}

const PORTS = {
  type: "array",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["port", "protocol"],
  items: {
    type: "object",
    required: ["port"],
    properties: { port: { type: "integer" }, protocol: { type: "string", default: "TCP" } },
  },
};

describe("toStructSchema", () => {
  test("gives a kind the schema of ObjectMeta, whatever its own schema specifies", () => {
    const struct = structOf({ metadata: { type: "object", properties: { name: { type: "string" } } } });
    expect(struct).toMatchObject({ name: "Thing", isCustom: true, preserveUnknown: false });
    expect([...struct.fields.keys()].toSorted()).toEqual(["apiVersion", "kind", "metadata"]);
    expect(struct.fields.get("metadata")?.struct).toBe(METADATA);
  });

  test("reads the types, keys and defaults of lists and maps", () => {
    const { fields } = structOf({
      ports: PORTS,
      set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
      atomic: { type: "object", "x-kubernetes-map-type": "atomic", properties: { a: { type: "string" } } },
      labels: { type: "object", additionalProperties: { type: "string" } },
      target: { "x-kubernetes-int-or-string": true },
      raw: { "x-kubernetes-preserve-unknown-fields": true },
    });
    expect(fields.get("ports")).toMatchObject({ type: "array", listType: "map", listMapKeys: ["port", "protocol"] });
    const item = fields.get("ports")?.items?.struct?.fields;
    expect(item?.get("protocol")).toMatchObject({ type: "string", default: "TCP", required: false });
    expect(item?.get("port")).toMatchObject({ type: "integer", required: true });
    expect(fields.get("set")).toMatchObject({ type: "array", listType: "set", items: { type: "string" } });
    expect(fields.get("atomic")).toMatchObject({ type: "struct", mapType: "atomic" });
    expect(fields.get("labels")).toMatchObject({ type: "map", items: { type: "string" } });
    expect(fields.get("target")).toMatchObject({ intOrString: true });
    expect(fields.get("raw")).toMatchObject({ type: "any", preserveUnknown: true });
  });

  test("gives an embedded resource the schema of ObjectMeta", () => {
    const { fields } = structOf({ template: { type: "object", "x-kubernetes-embedded-resource": true } });
    expect(fields.get("template")?.embeddedResource).toBe(true);
    expect(fields.get("template")?.struct?.fields.get("metadata")?.struct).toBe(METADATA);
  });
});

describe("server-side apply of a custom resource", () => {
  const nested = { type: "object", properties: { a: { type: "string" } } };
  const open = { "x-kubernetes-preserve-unknown-fields": true };

  test.each<[string, StructSchema, JsonObject, string | undefined]>([
    [
      "rejects undeclared fields",
      structOf({ spec: nested }),
      { spec: { b: 1 } },
      ".spec.b: field not declared in schema",
    ],
    ["rejects undeclared fields at the root", structOf({}), { spec: {} }, ".spec: field not declared in schema"],
    [
      "accepts unknown fields where they are preserved",
      structOf({ spec: { ...nested, ...open } }),
      { spec: { b: 1 } },
      undefined,
    ],
    [
      "accepts unknown fields below a field that preserves them",
      structOf({ spec: { type: "object", properties: { n: nested }, ...open } }),
      { spec: { n: { b: 1 } } },
      undefined,
    ],
    [
      "accepts any field in an object without properties",
      structOf({ spec: { type: "object" } }),
      { spec: { b: { c: 1 } } },
      undefined,
    ],
    [
      "accepts keys with defaults",
      structOf({ ports: PORTS }),
      { ports: [{ port: 1 }, { port: 1, protocol: "UDP" }] },
      undefined,
    ],
    [
      "accepts an integer for int-or-string",
      structOf({ p: { "x-kubernetes-int-or-string": true } }),
      { p: 5 },
      undefined,
    ],
  ])("%s", (_, struct, object, problem) => {
    expect(checkApplied(object, struct).problem).toBe(problem);
  });
});
