import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import { checkApplied } from "./applied-check.ts";

const schema = openSchemas("1.36").kind("apps", "v1", "Deployment")!;
const template = (spec: unknown): object => ({ template: { spec } });

describe("checkApplied reports", () => {
  test.each<[string, unknown]>([
    [".spec.nope: field not declared in schema", { nope: 1 }],
    [".spec.replicas: expected numeric (int or float), got string", { replicas: "1" }],
    [".spec.replicas: expected numeric (int or float), got map[string]interface {}", { replicas: {} }],
    [".spec.paused: expected boolean, got &{yes}", { paused: "yes" }],
    [
      ".spec.template.spec.hostname: expected string, got &value.valueUnstructured{Value:1e+06}",
      template({ hostname: 1_000_000 }),
    ],
    [
      '.spec.template.spec.hostname: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":"b", "c":[]interface {}{true, interface {}(nil)}}}',
      template({ hostname: { c: [true, null], a: "b" } }),
    ],
    [
      ".spec.template.spec.containers: expected list, got &{map[a:1.5 b:<nil>]}",
      template({ containers: { b: null, a: 1.5 } }),
    ],
    [".spec.template: expected map, got &{[x 1e-05]}", { template: ["x", 0.00001] }],
    [
      ".spec.strategy.rollingUpdate.maxSurge: expected any scalar, got &{[]}",
      { strategy: { rollingUpdate: { maxSurge: [] } } },
    ],
    [
      '.spec.template.spec.containers: duplicate entries for key [name="a"]',
      template({ containers: [{ name: "a" }, { name: "a" }] }),
    ],
    [
      '.spec.template.spec.containers[name="a"].ports: duplicate entries for key [containerPort=80,protocol="TCP"]',
      template({ containers: [{ name: "a", ports: [{ containerPort: 80 }, { containerPort: 80, protocol: "TCP" }] }] }),
    ],
    [
      '.spec.template.metadata.finalizers: duplicate entries for key [="x"]',
      { template: { metadata: { finalizers: ["x", "x"] } } },
    ],
    [
      ".spec.template.spec.containers: element 1: associative list with keys may not have a null element",
      template({ containers: [{ name: "a" }, null] }),
    ],
    [
      ".spec.template.spec.containers: element 0: associative list with keys may not have non-map elements",
      template({ containers: ["a"] }),
    ],
    [
      ".spec.template.metadata.finalizers: element 0: associative list without keys has an element that's a map type",
      { template: { metadata: { finalizers: [{}] } } },
    ],
    [
      '.spec.template.spec.containers[name="a"].args[1]: expected string, got &value.valueUnstructured{Value:true}',
      template({ containers: [{ name: "a", args: ["x", true] }] }),
    ],
  ])("%s", (problem, spec) => {
    expect(checkApplied({ spec }, schema).problem).toBe(problem);
  });

  test("several problems as a list", () => {
    const spec = { replicas: "1", paused: 1 };
    expect(checkApplied({ spec }, schema).problem).toBe(
      [
        "errors:",
        "  .spec.replicas: expected numeric (int or float), got string",
        "  .spec.paused: expected boolean, got &{1}",
      ].join("\n"),
    );
  });

  test("a limited number of problems", () => {
    const finalizers = Array.from({ length: 10_000 }, () => "x");
    expect(checkApplied({ metadata: { finalizers } }, schema).problem?.split("\n")).toHaveLength(101);
  });
});

test.each([
  [{ spec: { replicas: 1, template: { spec: { containers: [{ name: "a" }] } } } }, false],
  [{ spec: { replicas: null } }, true],
  [{ spec: { template: { metadata: { creationTimestamp: null } } } }, true],
])("checkApplied reports no problem for %j", (object, hasNull) => {
  expect(checkApplied(object, schema)).toEqual({ problem: undefined, hasUndeclaredField: false, hasNull });
});
