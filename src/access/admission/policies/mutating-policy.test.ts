import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { Reinvocation } from "../webhooks/reinvocation.ts";
import { mutatedPod, mutatingPlugin, TEST_POD } from "../../../../test/testing/access/admission/policies/mutations.ts";
import { binding, policy } from "../../../../test/testing/access/admission/policies/policies.ts";

const apply = (expression: string): JsonObject => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const patch = (expression: string): JsonObject => ({ patchType: "JSONPatch", jsonPatch: { expression } });

async function outcome(mutations: JsonObject | JsonObject[], spec: JsonObject = {}): Promise<JsonObject | StatusError> {
  const plugin = mutatingPlugin(
    [policy("x", { mutations: [mutations].flat(), ...spec })],
    [binding("y", "x", spec["paramKind"] === undefined ? {} : { paramRef: { selector: {} } })],
  );
  return mutatedPod(plugin);
}

async function podOf(mutations: JsonObject | JsonObject[], spec: JsonObject = {}): Promise<JsonObject> {
  const result = await outcome(mutations, spec);
  if (result instanceof StatusError) throw result;
  return result;
}

async function denial(mutations: JsonObject | JsonObject[], spec: JsonObject = {}): Promise<string> {
  const result = await outcome(mutations, spec);
  if (!(result instanceof StatusError)) return "admitted";
  return result.message.replace("policy 'x' with binding 'y' denied request: ", "");
}

describe("an apply configuration", () => {
  test("adds and replaces fields, and the result is defaulted", async () => {
    const object = await podOf(apply(`Object{metadata: Object.metadata{labels: {"a": object.spec.nodeName + "!"}}}`));
    expect(object).toEqual({
      ...TEST_POD,
      metadata: { ...objectAt(TEST_POD, "metadata"), labels: { a: "n!" } },
      status: {},
    });
  });

  test("merges lists by the keys of their items", async () => {
    const items = `[Object.spec.containers{name: "b", image: "z"}, Object.spec.containers{name: "c", ?image: optional.none()}]`;
    const { spec } = await podOf(apply(`Object{spec: Object.spec{containers: ${items}}}`));
    expect(spec).toEqual({
      nodeName: "n",
      containers: [{ name: "a", image: "x" }, { name: "b", image: "z" }, { name: "c" }],
    });
  });

  const TYPED = "error applying patch: failed to convert patch object to typed object: ";
  test.each([
    [
      `Object{spec: Object.metadata{}}`,
      `type mismatch: unexpected type name "Object.metadata", expected "Object.spec", which matches field name path from root Object type`,
    ],
    [`Object{nope: 1}`, `${TYPED}.nope: field not declared in schema`],
    [
      `Object{spec: Object.spec{nodeName: null}}`,
      `${TYPED}.spec.nodeName: expected string, got &value.valueUnstructured{Value:0}`,
    ],
    [`Object{spec: Object.spec{containers: null}}`, `${TYPED}.spec.containers: expected list, got &{NULL_VALUE}`],
    [
      `Object{spec: Object.spec{priority: null}}`,
      `${TYPED}.spec.priority: expected numeric (int or float), got structpb.NullValue`,
    ],
    [`Object{metadata: Object.metadata{labels: {1: "x"}}}`, "invalid return type: *dynamic.ObjectVal"],
    [
      `Object{spec: Object.spec{nodeSelector: {"a": "b"}, containers: [Object.spec.containers{name: "a", args: ["x"]}]}}`,
      "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.nodeSelector, .spec.containers[0].args",
    ],
    [`Object{spec: object.zz}`, `expression 'Object{spec: object.zz}' resulted in error: no such key: zz`],
    ["object", "must evaluate to Object but got dyn"],
  ])("with the expression %s is rejected", async (expression, message) => {
    expect(await denial(apply(expression))).toBe(message);
  });
});

describe("a JSON patch", () => {
  test("applies its operations in order", async () => {
    const key = `"/metadata/labels/" + jsonpatch.escapeKey("a/b~c")`;
    const { metadata } = await podOf(
      patch(
        `[JSONPatch{op: "add", path: "/metadata/labels", value: Object.metadata.labels{x: "y"}}, JSONPatch{op: "add", path: ${key}, value: "z"}, JSONPatch{op: "copy", from: "/spec/nodeName", path: "/metadata/labels/node"}]`,
      ),
    );
    expect(metadata).toEqual({ name: "p", namespace: "ns", labels: { x: "y", "a/b~c": "z", node: "n" } });
  });

  test("with a failing test operation changes nothing", async () => {
    const operations = `JSONPatch{op: "test", path: "/kind", value: "x"}, JSONPatch{op: "remove", path: "/spec"}`;
    expect(await podOf(patch(`[${operations}]`))).toBe(TEST_POD);
  });

  test.each([
    [
      `[JSONPatch{op: "remove", path: "/spec/zz"}]`,
      "JSON Patch: error in remove for path: '/spec/zz': Unable to remove nonexistent key: zz: missing value",
    ],
    [`[JSONPatch{op: "sed", path: "/spec"}]`, "JSON Patch: Unexpected kind: sed"],
    [
      `[JSONPatch{op: "add", path: "/x", value: Object.spec{a: Object.b{}}}]`,
      `type mismatch: unexpected type name "Object.b", expected "Object.spec.a", which matches field name path from root Object type`,
    ],
    [
      `[JSONPatch{op: "add", path: "/x", value: {1: 2}}]`,
      "JSONPath valueExpression evaluated to a type that could not marshal to JSON: unsupported type conversion from 'int' to string",
    ],
    [
      `[JSONPatch{op: "replace", path: "/kind", value: "Foo"}]`,
      'Internal error occurred: no kind "Foo" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    ],
  ])("with the expression %s is rejected", async (expression, message) => {
    expect(await denial(patch(expression))).toBe(message);
  });

  test("whose result cannot be decoded returns an internal error", async () => {
    const decode = (): never => {
      throw new Error('strict decoding error: unknown field "x"');
    };
    const spec = { mutations: [patch(`[JSONPatch{op: "add", path: "/x", value: 1}]`)] };
    const result = await mutatedPod(mutatingPlugin([policy("x", spec)], [binding("y", "x")], { decode }));
    expect(result).toMatchObject({
      code: 500,
      message: 'Internal error occurred: strict decoding error: unknown field "x"',
    });
  });
});

test("a denial has the code 403 regardless of its reason, and lists the errors of all mutations", async () => {
  const result = await outcome([apply("Object{a: object.zz}"), apply("Object{b: 1}"), apply("Object{}")]);
  const texts = [
    "expression 'Object{a: object.zz}' resulted in error: no such key: zz",
    "error applying patch: failed to convert patch object to typed object: .b: field not declared in schema",
  ].map((text) => `policy 'x' with binding 'y' denied request: ${text}`);
  expect((result as StatusError).toStatus()).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: texts[0],
    reason: "Invalid",
    details: { name: "p", kind: "pods", causes: texts.map((message) => ({ message })) },
    code: 403,
  });
});

test("failed mutations are skipped if the failurePolicy is Ignore", async () => {
  const mutations = [apply("Object{a: object.zz}"), apply(`Object{spec: Object.spec{nodeName: "m"}}`)];
  expect(objectAt(await podOf(mutations, { failurePolicy: "Ignore" }), "spec")["nodeName"]).toBe("m");
});

test("a policy whose paramKind is not served denies the write", async () => {
  const result = await outcome(apply("Object{}"), { paramKind: { apiVersion: "x/v1", kind: "Limit" } });
  expect(result).toMatchObject({
    reason: "Forbidden",
    message: `policy "x" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x/v1, Kind=Limit'`,
  });
});

test("each mutation sees the result of the previous one, and runs with the variables and each parameter", async () => {
  const variables = [{ name: "node", expression: "object.spec.nodeName" }];
  const mutation = apply(`Object{spec: Object.spec{nodeName: variables.node + params.data.max}}`);
  const object = await podOf([mutation, mutation], { variables, paramKind: { apiVersion: "v1", kind: "ConfigMap" } });
  expect(objectAt(object, "spec")["nodeName"]).toBe("n1122");
});

test("match conditions decide whether the object is mutated", async () => {
  const conditions = (expression: string): JsonObject => ({ matchConditions: [{ name: "c", expression }] });
  const mutation = apply(`Object{spec: Object.spec{nodeName: "m"}}`);
  expect(await podOf(mutation, conditions("object.spec.nodeName == 'z'"))).toBe(TEST_POD);
  expect(await denial(mutation, conditions("object.zz == 1"))).toBe(
    "expression 'object.zz == 1' resulted in error: no such key: zz",
  );
});

test("a write of a kind whose schema is not available yet returns 503", async () => {
  const spec = { mutations: [apply("Object{}")] };
  const plugin = mutatingPlugin([policy("x", spec)], [binding("y", "x")], { schemaOf: () => undefined });
  expect(await mutatedPod(plugin)).toMatchObject({
    code: 503,
    message:
      "Resource kind /v1, Kind=Pod not found. There can be a delay between when CustomResourceDefinitions are created and when they are available.",
  });
});

test("the second invocation runs only reinvocable policies after whose last run the object has changed", async () => {
  const append = (reinvocationPolicy: string, text: string): JsonObject => ({
    mutations: [apply(`Object{spec: Object.spec{nodeName: object.spec.nodeName + "${text}"}}`)],
    reinvocationPolicy,
  });
  const plugin = mutatingPlugin(
    [policy("a", append("IfNeeded", "a")), policy("b", append("Never", "b")), policy("c", append("IfNeeded", "c"))],
    ["a", "b", "c"].map((name) => binding(name, name)),
  );
  const reinvocation = new Reinvocation();
  const first = await mutatedPod(plugin, { reinvocation });
  expect(first).toMatchObject({ spec: { nodeName: "nabc" } });
  expect(reinvocation.isRequested).toBe(true);
  reinvocation.beginSecond();
  expect(await mutatedPod(plugin, { reinvocation })).toMatchObject({ spec: { nodeName: "nac" } });
});

test("policies do not handle deletes", () => {
  const plugin = mutatingPlugin([policy("x", { mutations: [] })], [binding("y", "x")]);
  const about = { groupVersion: { group: "", version: "v1" }, resource: "pods", subresource: "" };
  expect([plugin.handles("CREATE", about), plugin.handles("DELETE", about)]).toEqual([true, false]);
});
