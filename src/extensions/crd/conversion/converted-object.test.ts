import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { acceptConverted } from "./converted-object.ts";

const ORIGINAL: JsonObject = {
  apiVersion: "example.com/v1",
  kind: "Thing",
  metadata: { name: "one", namespace: "here", uid: "u", labels: { a: "1" }, generation: 3, finalizers: ["x/y"] },
  spec: { a: 1 },
};
const METADATA = ORIGINAL["metadata"] as JsonObject;
const CONVERSION = { original: ORIGINAL, to: { group: "example.com", version: "v2" }, index: 4 };
const CONVERTED = { ...ORIGINAL, apiVersion: "example.com/v2", spec: { b: 2 } };

test("a converted object keeps the metadata of the original, except for labels and annotations", () => {
  const annotations = { note: "new" };
  const metadata = { name: "one", namespace: "here", uid: "u", annotations, generation: 9, ownerReferences: [] };
  expect(acceptConverted({ ...CONVERTED, metadata }, CONVERSION)).toEqual({
    kind: "accepted",
    object: {
      ...CONVERTED,
      metadata: { name: "one", namespace: "here", uid: "u", annotations, generation: 3, finalizers: ["x/y"] },
    },
  });
  expect(METADATA["labels"]).toEqual({ a: "1" });
});

test("labels of a converted object need not be valid if they are unchanged", () => {
  const original = { ...ORIGINAL, metadata: { ...METADATA, labels: { "not valid!": "?" } } };
  const converted = { ...CONVERTED, metadata: original.metadata };
  expect(acceptConverted(converted, { ...CONVERSION, original }).kind).toBe("accepted");
});

test.each<[sent: unknown, why: string]>([
  [null, "unexpected end of JSON input"],
  ["text", "json: cannot unmarshal string into Go value of type map[string]interface {}"],
  [{ apiVersion: "a/b/c", kind: "Thing" }, `Object 'Kind' is missing in '{"apiVersion":"a/b/c","kind":"Thing"}'`],
  [{ apiVersion: "example.com/v2" }, `Object 'Kind' is missing in '{"apiVersion":"example.com/v2"}'`],
])("the converted object %j is rejected because it is not an object with a kind and an apiVersion", (sent, why) => {
  expect(acceptConverted(sent, CONVERSION)).toEqual({ kind: "refused", why, isBare: true });
});

test.each<[change: JsonObject, why: string]>([
  [{ apiVersion: "v2" }, "at index 4: invalid groupVersion (expected example.com/v2, received v2)"],
  [{ apiVersion: 7 }, "at index 4: invalid groupVersion (expected example.com/v2, received )"],
  [{ kind: "Other" }, "at index 4: invalid kind (expected Thing, received Other)"],
  [{ metadata: { ...METADATA, name: "two" } }, ": must have the same name: one != two"],
  [{ metadata: { ...METADATA, namespace: "there" } }, ": must have the same namespace: here != there"],
  [{ metadata: { ...METADATA, uid: "v" } }, ": must have the same UID: u != v"],
  [{ metadata: undefined }, ": must have the same name: one != "],
])("a converted object is rejected if it differs from the requested one in %j", (change, why) => {
  const space = why.startsWith(":") ? "" : " ";
  expect(acceptConverted({ ...CONVERTED, ...change }, CONVERSION)).toEqual({
    kind: "refused",
    why: `returned invalid object${space}${why}`,
  });
});

test.each<[change: JsonObject, why: string]>([
  [{ labels: [] }, "invalid metadata.labels of type []interface {} in converted object"],
  [{ annotations: "x" }, "invalid metadata.annotations of type string in converted object"],
  [{ labels: { a: null } }, "metadata.labels[a] must be a string, but is <nil> in converted object"],
  [
    { labels: { b: "-" } },
    `metadata.labels: Invalid value: "-": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`,
  ],
  [{ annotations: { a: "x".repeat(262_144) } }, "metadata.annotation: Too long: may not be more than 262144 bytes"],
])("a converted object with the metadata %j is rejected", (change, why) => {
  const metadata = { ...METADATA, ...change };
  expect(acceptConverted({ ...CONVERTED, metadata }, CONVERSION)).toEqual({
    kind: "refused",
    why: `returned invalid metadata: ${why}`,
  });
});

test("a label whose name is also a property of Object.prototype is treated like any other label", () => {
  const metadata = { ...METADATA, labels: JSON.parse('{"__proto__":"x","constructor":"y"}') as JsonObject };
  const accepted = acceptConverted({ ...CONVERTED, metadata }, CONVERSION);
  expect(accepted.kind).toBe("refused");
  const fine = { ...METADATA, labels: { constructor: "y" } };
  expect(acceptConverted({ ...CONVERTED, metadata: fine }, CONVERSION)).toMatchObject({
    object: { metadata: { labels: { constructor: "y" } } },
  });
});
