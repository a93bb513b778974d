import { expect, test } from "vitest";
import { resolveFieldPath } from "./field-path.ts";

const SCHEMA = {
  properties: {
    spec: { properties: { "a.b": { type: "string" } } },
    labels: { additionalProperties: { type: "integer" } },
    any: { additionalProperties: true },
    "it's": { type: "boolean" },
  },
};

test.each([
  [".spec", { path: "spec", root: "spec" }],
  ["['spec']['a.b']", { path: "spec.a.b", root: "spec" }],
  [".labels.app", { path: "labels[app]", root: "labels", schema: { type: "integer" } }],
  [".any.x", { path: "any[x]", root: "any", schema: undefined }],
  [String.raw`['it\'s']`, { path: "it's", schema: { type: "boolean" } }],
])("the path %s resolves to a field", (path, found) => {
  expect(resolveFieldPath(path, SCHEMA, { allowsBrackets: true })).toMatchObject(found);
});

test.each([
  ["spec", "expected [ or . but got: spec"],
  [".", "unexpected end of JSON path"],
  [".spec.constructor", "does not refer to a valid field"],
  [".any.x.y", "does not refer to a valid field"],
  ["[spec]", "expected single quoted string but got spec"],
  ["['spec'", "unexpected end of JSON path"],
  ["['spec'.a", "expected ] but got ."],
  [String.raw`['\q']`, String.raw`expected single quoted string but got '\q'`],
  ["['spec", "expected single quoted string but got 'spec"],
])("the path %s is rejected with the reason %j", (path, sentence) => {
  expect(resolveFieldPath(path, SCHEMA, { allowsBrackets: true })).toBe(sentence);
});
