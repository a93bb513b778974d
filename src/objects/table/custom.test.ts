import { expect, test } from "vitest";
import { customTableRenderer, SCALE_COLUMNS, type CustomColumn } from "./custom.ts";

const NOW = Date.parse("2026-01-01T01:00:00Z");

function column(type: string, jsonPath = ".spec.value"): CustomColumn {
  return { name: "Value", type, format: "", description: "", priority: 0, jsonPath };
}

function cell(type: string, value: unknown): unknown {
  const object = { metadata: { name: "one" }, spec: { value } };
  return customTableRenderer([column(type)]).cells(object, NOW)[1];
}

test.each([
  ["string", "text", "text"],
  ["string", 5, "5"],
  ["string", 0.5, "0.5"],
  ["string", 0.000_01, "1e-05"],
  ["string", 1_234_567, "1234567"],
  ["string", 1_234_567.5, "1.2345675e+06"],
  ["string", 1e21, "1e+21"],
  ["string", true, "true"],
  ["string", null, "<no value>"],
  ["string", { b: "<&>", a: [1, { d: 1, c: 2 }] }, '{"a":[1,{"c":2,"d":1}],"b":"\\u003c\\u0026\\u003e"}'],
  ["string", JSON.parse('{"__proto__":1}'), '{"__proto__":1}'],
  ["integer", 5, 5],
  ["integer", -5.7, -5],
  ["integer", "5", null],
  ["integer", null, null],
  ["number", 5.7, 5.7],
  ["number", "5", null],
  ["boolean", false, false],
  ["boolean", "false", null],
  ["date", "2026-01-01T00:00:00Z", "60m"],
  ["date", "2026-01-01T1:00:00,5+01:00", "59m"],
  ["date", "", "<unknown>"],
  ["date", "null", "<unknown>"],
  ["date", "0001-01-01T00:00:00Z", "<unknown>"],
  ["date", "2026-01-01T02:00:00Z", "<invalid>"],
  ["date", "yesterday", "<invalid>"],
  ["date", 5, null],
  ["other", "text", null],
])("a cell of type %s for %j is %j", (type, value, expected) => expect(cell(type, value)).toBe(expected));

test("an absent value is an empty cell, regardless of the type of its column", () => {
  for (const type of ["string", "integer", "number", "boolean", "date"])
    expect(customTableRenderer([column(type, ".spec.gone")]).cells({}, NOW)).toEqual(["", null]);
});

test("a resource without columns of its own shows its age", () => {
  const renderer = customTableRenderer([]);
  expect(renderer.columns.map(({ name, type, format }) => [name, type, format])).toEqual([
    ["Name", "string", "name"],
    ["Age", "date", ""],
  ]);
  expect(renderer.columns.every(({ description }) => description !== "")).toBe(true);
  const metadata = { name: "one", creationTimestamp: "2026-01-01T00:00:00Z" };
  expect(renderer.cells({ metadata }, NOW)).toEqual(["one", "60m"]);
});

test("a column without a description is described by its path", () => {
  const described = { ...column("string"), description: "as said", format: "byte", priority: 1 };
  expect(customTableRenderer([column("integer"), described]).columns.slice(1)).toEqual([
    {
      name: "Value",
      type: "integer",
      format: "",
      description: "Custom resource definition column (in JSONPath format): .spec.value",
      priority: 0,
    },
    { name: "Value", type: "string", format: "byte", description: "as said", priority: 1 },
  ]);
});

test("a column whose path does not parse hides all columns after it", () => {
  const renderer = customTableRenderer([column("string"), column("string", ".a["), column("string")]);
  expect(renderer.columns).toHaveLength(2);
  expect(renderer.cells({ metadata: { name: "one" }, spec: { value: 1 } }, NOW)).toEqual(["one", "1"]);
});

test("the scale of a custom resource shows desired and actual replicas", () => {
  const scale = { metadata: { name: "one" }, spec: { replicas: 3 }, status: { replicas: 2 } };
  expect(customTableRenderer(SCALE_COLUMNS).cells(scale, NOW)).toEqual(["one", 3, 2, null]);
});
