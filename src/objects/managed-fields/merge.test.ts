import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import type { JsonObject } from "../../meta/json.ts";
import { mergeObjects } from "./merge.ts";
import { withoutNulls } from "./nulls.ts";

const schemas = openSchemas("1.36");
const pods = schemas.kind("", "v1", "Pod")!;
const services = schemas.kind("", "v1", "Service")!;
const configMaps = schemas.kind("", "v1", "ConfigMap")!;

describe("the order of a merged list", () => {
  test.each([
    ["abc", "c", "abc"],
    ["abc", "ca", "bca"],
    ["abc", "cxa", "bcxa"],
    ["abc", "xby", "axbcy"],
    ["abcd", "dbx", "acdbx"],
    ["abc", "zab", "zabc"],
    ["ab", "cd", "abcd"],
    ["abcde", "ecax", "bdecax"],
    ["abcd", "xdyb", "acxdyb"],
    ["abcdef", "fbxe", "acdfbxe"],
    ["aab", "ca", "cab"],
    ["ab", "", "ab"],
    ["", "ba", "ba"],
  ])("for live %s and applied %s is %s", (live, applied, merged) => {
    const withFinalizers = (text: string): JsonObject => ({ metadata: { finalizers: [...text] } });
    expect(mergeObjects(withFinalizers(live), withFinalizers(applied), configMaps)).toEqual(withFinalizers(merged));
  });
});

describe("a merged value", () => {
  const containers = (...items: JsonObject[]): JsonObject => ({ spec: { containers: items } });

  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    [
      "is merged item by item if items have keys",
      containers({ name: "a", image: "1", args: ["x"] }, { name: "b", image: "1" }),
      containers({ name: "b", image: "2" }, { name: "c" }),
      containers({ name: "a", image: "1", args: ["x"] }, { name: "b", image: "2" }, { name: "c" }),
    ],
    [
      "is replaced if the list is atomic",
      containers({ name: "a", args: ["x", "y"] }),
      containers({ name: "a", args: ["z"] }),
      containers({ name: "a", args: ["z"] }),
    ],
    [
      "merges an item without a key field into the item that has the default of that field",
      containers({ name: "a", ports: [{ containerPort: 80, protocol: "TCP", name: "http" }] }),
      containers({ name: "a", ports: [{ containerPort: 80, hostPort: 1 }] }),
      containers({ name: "a", ports: [{ containerPort: 80, protocol: "TCP", name: "http", hostPort: 1 }] }),
    ],
    [
      "is a separate item if a key differs",
      containers({ name: "a", ports: [{ containerPort: 53, protocol: "UDP" }] }),
      containers({ name: "a", ports: [{ containerPort: 53 }] }),
      containers({ name: "a", ports: [{ containerPort: 53, protocol: "UDP" }, { containerPort: 53 }] }),
    ],
    [
      "is replaced if the map is atomic",
      { spec: { selector: { matchLabels: { a: "1" } }, nodeSelector: { x: "1" } } },
      { spec: { nodeSelector: { y: "1" } } },
      { spec: { selector: { matchLabels: { a: "1" } }, nodeSelector: { y: "1" } } },
    ],
    [
      "keeps the entries of a map and the items of a list to which null is applied",
      { metadata: { labels: { a: "1" }, finalizers: ["x"] }, spec: { hostname: "h" } },
      { metadata: { labels: null, finalizers: null }, spec: { hostname: null } },
      { metadata: { labels: { a: "1" }, finalizers: ["x"] }, spec: {} },
    ],
  ])("%s", (_rule, live, applied, merged) => {
    expect(withoutNulls(mergeObjects(live, applied, pods), pods)).toEqual(merged);
  });

  test("is the live object itself if nothing differs", () => {
    const live = { spec: { ports: [{ port: 80, protocol: "TCP" }], selector: { a: "1" } } };
    const applied = { spec: { ports: [{ port: 80 }], selector: { a: "1" } } };
    expect(mergeObjects(live, applied, services)).toBe(live);
  });

  test("is computed quickly even for long lists", () => {
    const list = (from: number): JsonObject => ({
      metadata: { finalizers: Array.from({ length: 50_000 }, (_, index) => `f${from - index}`) },
    });
    const merged = mergeObjects(list(100_000), list(125_000), configMaps);
    expect((merged["metadata"] as JsonObject)["finalizers"]).toHaveLength(75_000);
  });
});

test("withoutNulls replaces null in a map or list by the zero value and removes it elsewhere", () => {
  const object = { metadata: { labels: { a: null } }, spec: { hostname: null, containers: [{ args: [null] }] } };
  expect(withoutNulls(object, pods)).toEqual({
    metadata: { labels: { a: "" } },
    spec: { containers: [{ args: [""] }] },
  });
});
