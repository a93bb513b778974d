import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { parseCrd } from "./crd.ts";
import { definitionObject } from "../../../test/testing/extensions/crd/crd-object.ts";

describe("a parsed CRD", () => {
  test("has all fields of the object", () => {
    const column = { name: "Size", type: "integer", jsonPath: ".spec.size" };
    const object = definitionObject({
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget", shortNames: ["wd"], categories: ["all"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          deprecated: true,
          deprecationWarning: "no",
          schema: { openAPIV3Schema: { type: "object" } },
          subresources: { status: {}, scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n" } },
          additionalPrinterColumns: [column],
          selectableFields: [{ jsonPath: ".spec.color" }],
        },
        { name: "v2", served: false, storage: false },
      ],
    });
    const crd = parseCrd(object);
    expect(crd.versions.map(({ schema }) => schema())).toEqual([{ type: "object" }, undefined]);
    expect(crd).toMatchObject({
      name: "widgets.test.example.com",
      group: "test.example.com",
      namespaced: true,
      storageVersion: "v1",
      names: { plural: "widgets", singular: "", kind: "Widget", listKind: "", shortNames: ["wd"], categories: ["all"] },
      conversion: { strategy: "None" },
      versions: [
        {
          name: "v1",
          isServed: true,
          isStorage: true,
          isDeprecated: true,
          deprecationWarning: "no",
          hasStatus: true,
          scale: { specReplicasPath: ".spec.n", statusReplicasPath: ".status.n", labelSelectorPath: "" },
          columns: [{ ...column, format: "", description: "", priority: 0 }],
          selectableFields: [".spec.color"],
        },
        { name: "v2", isServed: false, isStorage: false, hasStatus: false, scale: undefined },
      ],
    });
  });

  test.each<[string, JsonObject[], object]>([
    ["no controller has decided", [], { areNamesAccepted: undefined, isEstablished: false, isTerminating: false }],
    [
      "it is served",
      [
        { type: "NamesAccepted", status: "True" },
        { type: "Established", status: "True" },
      ],
      { areNamesAccepted: true, isEstablished: true },
    ],
    ["its names are taken", [{ type: "NamesAccepted", status: "False" }], { areNamesAccepted: false }],
    ["it is terminating", [{ type: "Terminating", status: "True" }], { isTerminating: true }],
  ])("reflects the conditions if %s", (_what, conditions, expected) => {
    expect(parseCrd({ ...definitionObject(), status: { conditions } })).toMatchObject(expected);
  });

  test("is being deleted once it has a deletionTimestamp", () => {
    const object = definitionObject();
    expect(parseCrd(object).isBeingDeleted).toBe(false);
    const metadata = { ...(object["metadata"] as JsonObject), deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(parseCrd({ ...object, metadata }).isBeingDeleted).toBe(true);
  });

  test("contains the client config and review versions of the conversion webhook", () => {
    const clientConfig = { url: "https://a" };
    const webhook = { clientConfig, conversionReviewVersions: ["v1"] };
    expect(parseCrd(definitionObject({ conversion: { strategy: "Webhook", webhook } })).conversion).toEqual({
      strategy: "Webhook",
      clientConfig,
      reviewVersions: ["v1"],
    });
  });

  test.each<[string, JsonObject]>([
    ["no fields", {}],
    ["fields of the wrong type", { metadata: 1, spec: [], status: "x" }],
    ["list items of the wrong type", { spec: { versions: [1, null, "v1"], names: [] }, status: { conditions: [7] } }],
    ["malformed versions", { spec: { versions: [{ subresources: 1, schema: [], selectableFields: {} }] } }],
  ])("with %s is empty and serves nothing", (_what, object) => {
    expect(parseCrd(object)).toMatchObject({ group: "", storageVersion: "", isEstablished: false });
  });
});
