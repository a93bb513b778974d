import { expect, test } from "vitest";
import { goPrettyLines, goValue, isSemanticallyEqual, LABEL_SELECTOR, type GoType } from "./go-value.ts";

const TYPE: GoType = {
  struct: [
    ["Name", "name", "string"],
    ["Count", "count", "number"],
    ["IsOn", "isOn", "boolean"],
    ["Size", "size", "quantity"],
    ["Values", "values", { list: "string" }],
    ["Labels", "labels", { map: "string" }],
    ["Ref", "ref", { struct: [["Key", "key", "string"]], isPointer: true }],
  ],
};

test("every member is shown, in its order, and maps by their keys", () => {
  expect(JSON.stringify(goValue({ labels: { b: "1", a: "2" }, ref: {}, size: "1024Mi" }, TYPE))).toBe(
    '{"Name":"","Count":0,"IsOn":false,"Size":"1Gi","Values":null,"Labels":{"a":"2","b":"1"},"Ref":{"Key":""}}',
  );
});

test("types that have JSON names leave out what is not said", () => {
  expect(goValue({ matchLabels: { a: "b" } }, LABEL_SELECTOR)).toEqual({ matchLabels: { a: "b" } });
  expect(goValue({ matchExpressions: [{}] }, LABEL_SELECTOR)).toEqual({
    matchExpressions: [{ key: "", operator: "" }],
  });
  expect(goValue(undefined, LABEL_SELECTOR)).toBeNull();
});

test("what is empty equals what is absent, and amounts equal amounts", () => {
  expect(isSemanticallyEqual({ values: [], labels: {}, size: "1Ki" }, { size: "1024" }, TYPE)).toBe(true);
  expect(isSemanticallyEqual({ ref: {} }, {}, TYPE)).toBe(false);
  expect(isSemanticallyEqual({ name: "a" }, { name: "b" }, TYPE)).toBe(false);
});

test("lines are indented by one, and escaped for the web", () => {
  expect(goPrettyLines({ A: "<&>", B: [] })).toEqual(["{", ' "A": "\\u003c\\u0026\\u003e",', ' "B": []', "}"]);
});
