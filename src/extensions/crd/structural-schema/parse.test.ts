import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { parseStructural } from "./parse.ts";

describe("parseStructural", () => {
  test("reads types, extensions, CEL rules and value validations", () => {
    const schema = parseStructural({
      type: "array",
      nullable: true,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      maxItems: 3,
      items: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string", default: "x" }, port: { "x-kubernetes-int-or-string": true } },
        "x-kubernetes-validations": [{ rule: "self.name != ''", message: "named", optionalOldSelf: true }],
      },
    });
    expect(schema).toMatchObject({ type: "array", nullable: true, listType: "map", listMapKeys: ["name"] });
    expect(schema.value.maxItems).toBe(3);
    expect(schema.items?.value.required).toEqual(["name"]);
    expect(schema.items?.properties.get("name")).toMatchObject({ type: "string", default: "x" });
    expect(schema.items?.properties.get("port")).toMatchObject({ type: "", intOrString: true });
    expect(schema.items?.rules).toEqual([
      {
        rule: "self.name != ''",
        message: "named",
        messageExpression: "",
        reason: undefined,
        fieldPath: "",
        optionalOldSelf: true,
      },
    ]);
  });

  test("reads the schemas below allOf, anyOf, oneOf and not", () => {
    const { value } = parseStructural({
      type: "object",
      anyOf: [
        { properties: { a: { minimum: 1, not: { enum: [3] } } }, required: ["a"] },
        { items: { type: "string" } },
      ],
    });
    expect(value.anyOf[0]).toMatchObject({ required: ["a"] });
    expect(value.anyOf[0]?.properties.get("a")).toMatchObject({ minimum: 1, not: { enum: [3] } });
    expect(value.anyOf[1]?.items?.type).toBe("string");
  });

  test("ignores a default of null", () => {
    expect(parseStructural({ type: "string", nullable: true, default: null }).default).toBeUndefined();
  });

  test.each<[string, JsonObject]>([
    ["malformed members", { type: 5, properties: [], items: "x", required: {}, allOf: 3, enum: "a", maximum: "9" }],
    [
      "malformed nested fields",
      { properties: { a: null, __proto__: 1 }, anyOf: [1, null], "x-kubernetes-validations": [7] },
    ],
  ])("does not throw for %s", (_, source) => {
    expect(parseStructural(source)).toMatchObject({ type: "", rules: [] });
  });

  test("stops at a schema that is nested too deeply, and preserves all unknown fields below it", () => {
    let source: JsonObject = { type: "string" };
    for (let depth = 0; depth < 5000; depth++) source = { type: "object", properties: { a: source } };
    let schema = parseStructural(source);
    for (let next = schema.properties.get("a"); next !== undefined; next = next.properties.get("a")) schema = next;
    expect(schema.preserveUnknown).toBe(true);
  });
});
