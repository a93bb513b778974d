import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { FieldSchema, StructSchema } from "../schema.ts";
import { toFieldsV1 } from "./fields-v1.ts";
import { FieldSetError } from "./path-element.ts";
import { DEDUCED } from "./shape.ts";
import { changedFields, fieldsOf } from "./typed-set.ts";

const schemas = openSchemas("1.36");

function kind(groupVersion: string, name: string): StructSchema {
  const [group, version] = groupVersion.includes("/") ? groupVersion.split("/") : ["", groupVersion];
  return schemas.kind(group ?? "", version ?? "", name)!;
}

const POD = kind("v1", "Pod");
const CONFIG_MAP = kind("v1", "ConfigMap");
const DEPLOYMENT = kind("apps/v1", "Deployment");

function created(object: JsonObject, schema: StructSchema): JsonObject {
  return toFieldsV1(changedFields({}, object, schema, "zero").changed);
}

function diff(before: JsonObject, after: JsonObject, schema = POD): { changed: JsonObject; removed: JsonObject } {
  const { changed, removed } = changedFields(before, after, schema, "zero");
  return { changed: toFieldsV1(changed), removed: toFieldsV1(removed) };
}

function custom(fields: Readonly<Record<string, Partial<FieldSchema>>>): StructSchema {
  const entries = Object.entries(fields).map(([name, field]): [string, FieldSchema] => [
    name,
    { ...DEDUCED, ...field },
  ]);
  return { name: "Custom", fields: new Map(entries), mapType: undefined, preserveUnknown: false };
}

describe("the fields of a new object:", () => {
  test("a map and its entries are all owned", () => {
    expect(created({ metadata: { labels: { a: "1" }, annotations: {} }, data: { k: "v" } }, CONFIG_MAP)).toEqual({
      "f:data": { ".": {}, "f:k": {} },
      "f:metadata": { "f:annotations": {}, "f:labels": { ".": {}, "f:a": {} } },
    });
  });

  test("structs that are always present are not owned, but pointers to structs are", () => {
    const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } };
    expect(created({ spec: { strategy, template: { spec: {} } }, status: {} }, DEPLOYMENT)).toEqual({
      "f:spec": { "f:strategy": { "f:rollingUpdate": { ".": {}, "f:maxSurge": {} }, "f:type": {} } },
    });
  });

  test("list items are identified by their keys, with defaults for absent keys", () => {
    const ports = [{ containerPort: 80 }, { containerPort: 80, protocol: "UDP" }];
    const env = [{ name: "A", value: "1" }];
    expect(created({ spec: { containers: [{ name: "c", env, ports, resources: {} }] } }, POD)).toEqual({
      "f:spec": {
        "f:containers": {
          'k:{"name":"c"}': {
            ".": {},
            "f:env": { ".": {}, 'k:{"name":"A"}': { ".": {}, "f:name": {}, "f:value": {} } },
            "f:name": {},
            "f:ports": {
              ".": {},
              'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} },
              'k:{"containerPort":80,"protocol":"UDP"}': { ".": {}, "f:containerPort": {}, "f:protocol": {} },
            },
            "f:resources": {},
          },
        },
      },
    });
  });

  test("a service port is identified by two keys, and an atomic map is one field", () => {
    const spec = { selector: { a: "b" }, ports: [{ port: 80, protocol: "TCP" }] };
    expect(created({ spec }, kind("v1", "Service"))).toEqual({
      "f:spec": {
        "f:ports": { ".": {}, 'k:{"port":80,"protocol":"TCP"}': { ".": {}, "f:port": {}, "f:protocol": {} } },
        "f:selector": {},
      },
    });
  });

  test("a finalizer is an item of a set, and an owner reference is one field identified by its uid", () => {
    const metadata = {
      finalizers: ["example.com/x"],
      ownerReferences: [{ uid: "u", name: "n", kind: "K", apiVersion: "v1" }],
    };
    expect(created({ metadata }, CONFIG_MAP)).toEqual({
      "f:metadata": {
        "f:finalizers": { ".": {}, 'v:"example.com/x"': {} },
        "f:ownerReferences": { ".": {}, 'k:{"uid":"u"}': {} },
      },
    });
  });

  test("conditions are identified by their type, and atomic lists are owned as a whole", () => {
    const status = { conditions: [{ type: "Ready", status: "True" }] };
    expect(created({ spec: { tolerations: [{ key: "a" }] }, status }, POD)).toEqual({
      "f:spec": { "f:tolerations": {} },
      "f:status": { "f:conditions": { ".": {}, 'k:{"type":"Ready"}': { ".": {}, "f:status": {}, "f:type": {} } } },
    });
  });

  test("a field that is always written is owned only if it differs from its zero value", () => {
    const priority = kind("scheduling.k8s.io/v1", "PriorityClass");
    expect(created({ value: 0 }, priority)).toEqual({});
    expect(created({ value: 1 }, priority)).toEqual({ "f:value": {} });
    expect(created({ rules: null }, kind("rbac.authorization.k8s.io/v1", "ClusterRole"))).toEqual({});
    const binding = kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding");
    expect(created({ spec: { validationActions: ["Deny"] } }, binding)).toEqual({
      "f:spec": { "f:validationActions": { ".": {}, 'v:"Deny"': {} } },
    });
  });

  test("a custom resource has only the fields that were written, including the structs around them", () => {
    const inner = custom({ size: { type: "integer" } });
    const { changed } = changedFields(
      {},
      { spec: { size: 1 } },
      custom({ spec: { type: "struct", struct: inner, default: {} } }),
      "none",
    );
    expect(toFieldsV1(changed)).toEqual({ "f:spec": { ".": {}, "f:size": {} } });
  });

  test("without a schema, maps are owned by their entries and lists as a whole", () => {
    const value = { a: { b: [1] }, c: null, d: {} };
    expect(created({ extra: value }, custom({ extra: {} }))).toEqual({
      "f:extra": { ".": {}, "f:a": { ".": {}, "f:b": {} }, "f:c": {}, "f:d": {} },
    });
    expect(created({ data: { a: 1 } }, kind("apps/v1", "ControllerRevision"))).toEqual({ "f:data": {} });
  });

  test("before 1.30 the patch strategy of a list decides whether its items are owned separately", () => {
    const pod = openSchemas("1.29").kind("", "v1", "Pod")!;
    expect(created({ spec: { containers: [{ name: "c" }] } }, pod)).toEqual({
      "f:spec": { "f:containers": { 'k:{"name":"c"}': { ".": {}, "f:name": {} } } },
    });
  });
});

describe("the fields that differ between two objects:", () => {
  test.each([
    [
      "a changed value",
      { spec: { nodeName: "a" } },
      { spec: { nodeName: "b" } },
      { "f:spec": { "f:nodeName": {} } },
      {},
    ],
    [
      "a new label",
      { metadata: { labels: { a: "1" } } },
      { metadata: { labels: { a: "1", b: "2" } } },
      { "f:metadata": { "f:labels": { "f:b": {} } } },
      {},
    ],
    [
      "a removed label",
      { metadata: { labels: { a: "1", b: "2" } } },
      { metadata: { labels: { a: "1" } } },
      {},
      { "f:metadata": { "f:labels": { "f:b": {} } } },
    ],
    [
      "all labels removed",
      { metadata: { labels: { a: "1" } } },
      { metadata: {} },
      {},
      { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } } },
    ],
    [
      "items of a list: one changed, one added, one removed",
      { spec: { containers: [{ name: "a", image: "1" }, { name: "b" }] } },
      { spec: { containers: [{ name: "c" }, { name: "a", image: "2" }] } },
      {
        "f:spec": {
          "f:containers": { 'k:{"name":"a"}': { "f:image": {} }, 'k:{"name":"c"}': { ".": {}, "f:name": {} } },
        },
      },
      { "f:spec": { "f:containers": { 'k:{"name":"b"}': { ".": {}, "f:name": {} } } } },
    ],
    [
      "none, if the items of a set change their order",
      { metadata: { finalizers: ["a/b", "c/d"] } },
      { metadata: { finalizers: ["c/d", "a/b"] } },
      {},
      {},
    ],
    [
      "an atomic list whose items change their order",
      { spec: { tolerations: [{ key: "a" }, { key: "b" }] } },
      { spec: { tolerations: [{ key: "b" }, { key: "a" }] } },
      { "f:spec": { "f:tolerations": {} } },
      {},
    ],
    [
      "a map that was absent and is empty",
      { metadata: {} },
      { metadata: { labels: {} } },
      { "f:metadata": { "f:labels": {} } },
      {},
    ],
    ["none, if a struct was absent and is empty", { spec: {} }, { spec: {}, status: {} }, {}, {}],
    ["none, if a struct was empty and is absent", { spec: {}, status: {} }, { spec: {} }, {}, {}],
    ["none, if a field was undefined and is absent", { spec: { nodeName: undefined } }, { spec: {} }, {}, {}],
  ])("%s", (...[, before, after, changed, removed]) => {
    expect(diff(before, after)).toEqual({ changed, removed });
  });

  test("a map that becomes a scalar is changed, and the fields below it are removed", () => {
    expect(diff({ x: { a: 1 } }, { x: 1 }, custom({ x: {} }))).toEqual({
      changed: { "f:x": {} },
      removed: { "f:x": { "f:a": {} } },
    });
    expect(diff({ x: [1] }, { x: { a: 1 } }, custom({ x: {} }))).toEqual({
      changed: { "f:x": { ".": {}, "f:a": {} } },
      removed: {},
    });
  });

  test("items with the same key are one field", () => {
    const one = { metadata: { finalizers: ["a/b"] } };
    const two = { metadata: { finalizers: ["a/b", "a/b"] } };
    const item = { "f:metadata": { "f:finalizers": { 'v:"a/b"': {} } } };
    expect(diff(one, two)).toEqual({ changed: item, removed: item });
    expect(diff(two, one)).toEqual({ changed: item, removed: item });
    const three = { metadata: { finalizers: ["a/b", "a/b", "a/b"] } };
    expect(diff(two, three)).toEqual({ changed: item, removed: {} });
    expect(diff(two, two)).toEqual({ changed: {}, removed: {} });
  });

  test("an item without its keys is an error", () => {
    const mapped = custom({ list: { type: "array", listType: "map", listMapKeys: ["name"] } });
    expect(() => diff({}, { list: [{ other: 1 }] }, mapped)).toThrow(FieldSetError);
    expect(() => diff({}, { list: ["text"] }, mapped)).toThrow(FieldSetError);
    expect(() => diff({}, { metadata: { finalizers: [null] } })).toThrow(FieldSetError);
  });
});

describe("the fields of an applied object", () => {
  test("are its leaves, map entries and list items, not the structs, maps and lists around them", () => {
    const object = {
      metadata: { labels: { a: "1" }, annotations: {}, finalizers: [] },
      spec: { containers: [{ name: "c", resources: {}, command: ["x"] }], nodeName: null },
    };
    expect(toFieldsV1(fieldsOf(object, POD))).toEqual({
      "f:metadata": { "f:annotations": {}, "f:labels": { "f:a": {} } },
      "f:spec": {
        "f:containers": { 'k:{"name":"c"}': { ".": {}, "f:command": {}, "f:name": {}, "f:resources": {} } },
        "f:nodeName": {},
      },
    });
  });
});
