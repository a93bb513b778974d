import { describe, expect, test } from "vitest";
import { cloneJson, type JsonObject } from "../../../meta/json.ts";
import { CONTEXT, defaulted } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CUSTOM_RESOURCE_DEFINITION } from "./crd-kind.ts";
import { definition, definitionOf, version } from "../../../../test/testing/extensions/crd/validation/crd.ts";

/** Returns the errors of an update of a stored CRD; the stored CRD itself is not validated. */
function toldOfChange(before: JsonObject, after: JsonObject): string[] {
  const existing = defaulted(CUSTOM_RESOURCE_DEFINITION, before);
  const object = defaulted(CUSTOM_RESOURCE_DEFINITION, { ...after, status: cloneJson(existing["status"]) });
  CUSTOM_RESOURCE_DEFINITION.prepareUpdate?.(object, existing, CONTEXT);
  const errors = CUSTOM_RESOURCE_DEFINITION.updateErrors?.(object, existing, CONTEXT) ?? [];
  return [...errors].map(({ field, message }) => `${field}: ${message}`);
}

const root = (a: JsonObject): JsonObject => definitionOf({ type: "object", properties: { a } });

describe("a stored CRD that the current rules would reject", () => {
  test.each<[string, JsonObject, JsonObject]>([
    ["types that do not exist", { type: "map" }, { type: "bag" }],
    [
      "sets of items that are not atomic",
      { type: "array", "x-kubernetes-list-type": "set", items: { type: "object" } },
      { type: "array", "x-kubernetes-list-type": "set", items: { type: "object", description: "other" } },
    ],
    [
      "map keys that may be missing",
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: { type: "object", properties: { k: { type: "string" } } },
      },
      {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        items: { type: "object", nullable: true, properties: { k: { type: "string" } } },
      },
    ],
    ["defaults with unknown fields", { type: "object", default: { x: 1 } }, { type: "object", default: { y: 1 } }],
  ])("may keep %s", (_what, before, after) => {
    expect(toldOfChange(root(before), root(after))).toEqual([]);
    expect(toldOfChange(root({ type: "string" }), root(after))).not.toEqual([]);
  });

  test("may be non-structural as long as it preserves unknown fields", () => {
    const loose = { properties: { a: {} } };
    const kept = definition({
      preserveUnknownFields: true,
      versions: [version("v1", { schema: { openAPIV3Schema: loose } })],
    });
    expect(toldOfChange(kept, kept)).toEqual([]);
    expect(toldOfChange(kept, definitionOf(loose))).toEqual([
      "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
      "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root",
    ]);
  });

  test("may lack the schema of a version that is not served", () => {
    const bare = (served: boolean) => definition({ versions: [version("v1", { schema: undefined, served })] });
    expect(toldOfChange(bare(false), bare(false))).toEqual([]);
    expect(toldOfChange(bare(true), bare(true))).toEqual([
      "spec.versions[0].schema.openAPIV3Schema: Required value: because otherwise all fields are pruned",
    ]);
  });

  test("may keep too many selectable fields, but may not add more", () => {
    const names = [..."abcdefghij"];
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    const many = (count: number) =>
      definitionOf(
        { type: "object", properties },
        { selectableFields: names.slice(0, count).map((name) => ({ jsonPath: `.${name}` })) },
      );
    expect(toldOfChange(many(9), many(9))).toEqual([]);
    expect(toldOfChange(many(9), many(10))).toEqual(["spec.selectableFields: Too many: 10: must have at most 8 items"]);
  });

  test("may stay unapproved", () => {
    const group = "sig.k8s.io";
    const unapproved = definition({ group }, { name: `widgets.${group}` });
    expect(toldOfChange(unapproved, unapproved)).toEqual([]);
  });
});

describe("the CA bundle of a conversion webhook", () => {
  const STATUS = { conditions: [{ type: "Established", status: "True" }], storedVersions: ["v1"] };
  function withBundle(caBundle: string, status: JsonObject = STATUS): JsonObject {
    const webhook = { clientConfig: { url: "https://a", caBundle }, conversionReviewVersions: ["v1"] };
    return { ...definition({ conversion: { strategy: "Webhook", webhook } }), status };
  }

  test("must stay valid if the CRD is established and the bundle was valid before", () => {
    const none = Buffer.from("none").toString("base64");
    expect(toldOfChange(definition({}), withBundle(none, {}))).toEqual([]);
    expect(toldOfChange(withBundle(none), withBundle(Buffer.from("other").toString("base64")))).toEqual([]);
    expect(toldOfChange(withBundle(""), withBundle(none))).toEqual([
      `spec.conversion.webhookClientConfig.caBundle: Invalid value: "${none}": unable to load root certificates: unable to parse bytes as PEM block`,
    ]);
  });
});
