import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { REPORTED_PATHS_MAX } from "../../../objects/json/json-text.ts";
import { parseStructural } from "./parse.ts";
import { pruneUnknown } from "./prune.ts";

const NAMED: JsonObject = { type: "object", properties: { a: { type: "string" } } };
const OPEN = { "x-kubernetes-preserve-unknown-fields": true };

function pruned(source: JsonObject, object: JsonObject, isResourceRoot = false): [JsonObject, string[]] {
  const copy = structuredClone(object);
  const removed = pruneUnknown(copy, parseStructural(source), { isResourceRoot });
  return [copy, removed];
}

describe("pruneUnknown", () => {
  test.each<[string, JsonObject, JsonObject, [JsonObject, string[]]]>([
    ["unspecified fields", NAMED, { a: "x", c: 1, b: { d: 1 } }, [{ a: "x" }, ["b", "c"]]],
    [
      "fields in lists",
      { type: "object", properties: { l: { type: "array", items: NAMED } } },
      { l: [{ a: "x", b: 1 }, 5, null, { c: 2 }] },
      [{ l: [{ a: "x" }, 5, null, {}] }, ["l[0].b", "l[3].c"]],
    ],
    [
      "fields in maps",
      { type: "object", additionalProperties: NAMED },
      { k: { a: "x", b: 1 } },
      [{ k: { a: "x" } }, ["k.b"]],
    ],
    [
      "objects in maps of anything",
      { type: "object", additionalProperties: true },
      { k: 1, m: { b: 1 }, l: [{ c: 1 }] },
      [{ k: 1, m: {}, l: [{}] }, ["l[0].c", "m.b"]],
    ],
    ["nothing where unknown fields are preserved", { type: "object", ...OPEN }, { b: { c: 1 } }, [{ b: { c: 1 } }, []]],
    [
      "unknown fields below a specified field, even if its parent preserves unknown fields",
      { type: "object", properties: { n: NAMED }, ...OPEN },
      { n: { b: 1 }, other: { c: 1 } },
      [{ n: {}, other: { c: 1 } }, ["n.b"]],
    ],
    [
      "nothing from the items of a list that preserves unknown fields",
      { type: "object", properties: { l: { type: "array", items: NAMED, ...OPEN } } },
      { l: [{ b: 1 }] },
      [{ l: [{ b: 1 }] }, []],
    ],
  ])("removes %s", (_, source, object, expected) => {
    expect(pruned(source, object)).toEqual(expected);
  });

  test("keeps apiVersion, kind and metadata of a resource, but not of an object that is not a resource", () => {
    const meta = { apiVersion: "v1", kind: "A", metadata: { x: 1 } };
    expect(pruned(NAMED, { ...meta, b: 1 }, true)).toEqual([meta, ["b"]]);
    expect(pruned(NAMED, { ...meta, b: 1 })).toEqual([{}, ["b"]]);
    const embedded = {
      type: "object",
      properties: { e: { ...NAMED, "x-kubernetes-embedded-resource": true }, n: NAMED },
    };
    expect(pruned(embedded, { e: { ...meta, b: 1 }, n: meta })).toEqual([
      { e: meta, n: {} },
      ["e.b", "n.apiVersion", "n.kind", "n.metadata"],
    ]);
  });

  test("removes all unknown fields, but reports only a limited number", () => {
    const [object, removed] = pruned(
      NAMED,
      Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, at])),
    );
    expect(object).toEqual({});
    expect(removed).toHaveLength(REPORTED_PATHS_MAX);
  });

  test("treats a field whose name is also a property of Object.prototype like any other field", () => {
    const object = JSON.parse('{"__proto__":{"a":1},"constructor":1,"a":"x"}') as JsonObject;
    expect(pruneUnknown(object, parseStructural(NAMED), { isResourceRoot: false })).toEqual([
      "__proto__",
      "constructor",
    ]);
    expect(Object.keys(object)).toEqual(["a"]);
  });
});
