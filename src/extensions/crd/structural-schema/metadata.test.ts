import { describe, expect, test } from "vitest";
import { openCatalog } from "../../../objects/catalog/catalog.ts";
import { invalidValue } from "../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../meta/json.ts";
import { compileEmbedded, type VisitEmbedded } from "./embedded.ts";
import { coerceEmbedded, coerceMetadata, embeddedErrors, repairEmbedded, type MetadataType } from "./metadata.ts";
import { parseStructural } from "./parse.ts";

const struct = openCatalog({ release: "1.36" }).schemas.struct("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
const TYPE: MetadataType = { struct: struct! };

const RESOURCE = { type: "object", "x-kubernetes-embedded-resource": true };
const EMBEDDED: VisitEmbedded = compileEmbedded(
  parseStructural({
    type: "object",
    properties: {
      one: RESOURCE,
      list: { type: "array", items: RESOURCE },
      byName: { type: "object", additionalProperties: RESOURCE },
    },
  }),
)!;
const POD = { apiVersion: "v1", kind: "Pod" };

describe("the metadata of an object", () => {
  test("keeps the fields of ObjectMeta; other fields are removed and reported", () => {
    const object = {
      metadata: { name: "x", labels: {}, creationTimestamp: null, foo: 1, ownerReferences: [{ name: "o", bar: 1 }] },
    };
    expect(coerceMetadata(object, TYPE)).toEqual(["metadata.foo", "metadata.ownerReferences[0].bar"]);
    expect(object).toEqual({ metadata: { name: "x", ownerReferences: [{ name: "o" }] } });
  });

  test.each<[unknown, string]>([
    [{ name: 5 }, "json: cannot unmarshal number into Go struct field ObjectMeta.name of type string"],
    ["x", "json: cannot unmarshal string into Go value of type v1.ObjectMeta"],
    [[], "json: cannot unmarshal array into Go value of type v1.ObjectMeta"],
  ])("is rejected if it has the wrong type: %j", (metadata, message) => {
    expect(() => coerceMetadata({ metadata }, TYPE)).toThrow(message);
  });
});

describe("the metadata of embedded resources", () => {
  test("is decoded, and its unknown fields are reported with their paths", () => {
    const object: JsonObject = {
      metadata: { ignored: 1 },
      list: [{ ...POD, metadata: { foo: 1, name: "n" } }],
      byName: { "a.b": { ...POD, metadata: { bar: 1 } } },
    };
    expect(coerceEmbedded(object, EMBEDDED, TYPE)).toEqual(["byName[a.b].metadata.bar", "list[0].metadata.foo"]);
    expect(object).toMatchObject({ list: [{ metadata: { name: "n" } }], metadata: { ignored: 1 } });
  });

  test.each<[JsonObject, string]>([
    [{ kind: 5 }, "one.kind: Invalid value: 5: must be a string"],
    [
      { metadata: { name: 5, b: 1 } },
      'one.metadata: Invalid value: {"b":1,"name":5}: json: cannot unmarshal number into Go struct field ObjectMeta.name of type string',
    ],
  ])("is rejected if it has the wrong type: %j", (one, message) => {
    expect(() => coerceEmbedded({ one }, EMBEDDED, TYPE)).toThrow(message);
  });

  test("loses the fields of the wrong type if the object is read from the store", () => {
    const object = { one: { apiVersion: "v1", kind: 5, metadata: { name: 5, labels: { a: "b" }, foo: 1 } } };
    expect(repairEmbedded(object, EMBEDDED, TYPE)).toBe(true);
    expect(object).toEqual({ one: { apiVersion: "v1", metadata: { labels: { a: "b" } } } });
    expect(repairEmbedded(object, EMBEDDED, TYPE)).toBe(false);
  });
});

describe("the validation of an embedded resource", () => {
  const rules = {
    type: TYPE,
    metadataErrors: (metadata: JsonObject) =>
      stringAt(metadata, "name").includes("/") ? [invalidValue("metadata.name", metadata["name"], "odd")] : [],
  };

  test.each<[JsonObject, string[]]>([
    [POD, []],
    [{ ...POD, metadata: {} }, []],
    [{}, ["one.apiVersion: Required value", "one.kind: Required value"]],
    [
      { apiVersion: "", kind: "" },
      ['one.apiVersion: Invalid value: "": must not be empty', 'one.kind: Invalid value: "": must not be empty'],
    ],
    [
      { ...POD, apiVersion: "a/b/c" },
      ['one.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ],
    [
      { ...POD, kind: "Pod_x" },
      [
        "one.kind: Invalid value: \"Pod_x\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
    [{ ...POD, metadata: { name: "a/b" } }, ['one.metadata.name: Invalid value: "a/b": odd']],
    [
      { ...POD, metadata: "x" },
      ['one.metadata: Invalid value: "x": json: cannot unmarshal string into Go value of type v1.ObjectMeta'],
    ],
  ])("returns the expected errors for %j", (one, expected) => {
    const reported = embeddedErrors({ one }, EMBEDDED, rules).map(({ field, message }) => `${field}: ${message}`);
    expect(reported).toEqual(expected);
  });
});

test("compileEmbedded returns undefined for a schema without embedded resources", () => {
  expect(compileEmbedded(parseStructural({ type: "object", properties: { a: { type: "string" } } }))).toBeUndefined();
});
