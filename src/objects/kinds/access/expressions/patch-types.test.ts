import { expect, test } from "vitest";
import { ExpressionCheck } from "./expression-errors.ts";
import { gatesOf } from "../../../catalog/release-gates.ts";

function errorOf(kind: "applyConfiguration" | "jsonPatch", source: string): string | undefined {
  const [error] = new ExpressionCheck(gatesOf("1.36")).mutationErrors(source, kind, "f");
  return error?.message.replace(`Invalid value: ${JSON.stringify(source.trim())}: `, "");
}

test.each([
  ["Object{}", undefined],
  [`Object{spec: Object.spec{a: [Object.spec.a{b: 1}], ?c: object.?c}}`, undefined],
  ["true ? Object{} : Object{a: 1}", undefined],
  ["Object.spec{}", "must evaluate to Object but got Object.spec"],
  ["Object", "must evaluate to Object but got type(Object)"],
  ["Object{a: 1}.a", "must evaluate to Object but got dyn"],
  [
    "Foo{}",
    "compilation failed: ERROR: <input>:1:4: undeclared reference to 'Foo' (in container '')\n | Foo{}\n | ...^",
  ],
])("the result type of the apply configuration %s is checked", (source, why) => {
  expect(errorOf("applyConfiguration", source)).toBe(why);
});

test.each([
  [`[JSONPatch{op: "add", path: "/a", value: 1}]`, undefined],
  [`object.data.map(k, JSONPatch{op: "remove", path: "/data/" + jsonpatch.escapeKey(k)})`, undefined],
  ["[]", "must evaluate to list(JSONPatch) but got list(dyn)"],
  [
    "[JSONPatch{op: 1}]",
    "compilation failed: ERROR: <input>:1:14: expected type of field 'op' is 'string' but provided type is 'int'\n | [JSONPatch{op: 1}]\n | .............^",
  ],
  [
    `[JSONPatch{nope: "x"}]`,
    `compilation failed: ERROR: <input>:1:16: expected type of field 'nope' is '' but provided type is 'string'\n | [JSONPatch{nope: "x"}]\n | ...............^`,
  ],
  [
    `[JSONPatch{?op: "x"}]`,
    `compilation failed: ERROR: <input>:1:17: expected type 'optional_type(string)' but found 'string'\n | [JSONPatch{?op: "x"}]\n | ................^`,
  ],
])("the result type of the JSON patch %s is checked", (source, why) => {
  expect(errorOf("jsonPatch", source)).toBe(why);
});

test("expressions other than mutations cannot construct objects", () => {
  const [error] = new ExpressionCheck(gatesOf("1.36")).validationErrors("Object{} == null", "f");
  expect(error?.message).toContain("undeclared reference to 'Object'");
});
