import { describe, expect, test } from "vitest";
import {
  cloneJson,
  isJsonObject,
  jsonEquals,
  objectAt,
  objectsAt,
  parseJsonObject,
  setMember,
  stringAt,
  stringsAt,
  type JsonObject,
} from "./json.ts";

const DEEP = 500;
function nested(levels: number): unknown {
  return JSON.parse("[".repeat(levels) + "]".repeat(levels));
}

describe("jsonEquals", () => {
  const rows: readonly (readonly [left: string, right: string, isEqual: boolean])[] = [
    ["1", "1.0", true],
    ["0", "-0", true],
    ["1", '"1"', false],
    ["null", "null", true],
    ["null", "{}", false],
    ["[]", "{}", false],
    ["{}", "[]", false],
    ["[1,2]", "[1,2]", true],
    ["[1,2]", "[2,1]", false],
    ["[1]", "[1,null]", false],
    ['{"a":1,"b":2}', '{"b":2,"a":1}', true],
    ['{"a":1}', '{"a":1,"b":null}', false],
    ['{"a":null}', "{}", false],
    ['{"a":{"b":[{"c":1}]}}', '{"a":{"b":[{"c":1}]}}', true],
    ['{"a":{"b":[{"c":1}]}}', '{"a":{"b":[{"c":2}]}}', false],
    ["{}", '{"constructor":1}', false],
    ['{"constructor":1}', "{}", false],
    ["{}", '{"toString":{}}', false],
    ['{"__proto__":{}}', "{}", false],
    ["{}", '{"__proto__":{}}', false],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}', true],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":2}}', false],
  ];
  test.each(rows)("of %s and %s is %s", (left, right, isEqual) => {
    expect(jsonEquals(JSON.parse(left), JSON.parse(right))).toBe(isEqual);
  });

  test("treats an undefined field as absent", () => {
    expect(jsonEquals({ a: undefined }, {})).toBe(true);
    expect(jsonEquals({}, { a: undefined })).toBe(true);
  });

  test("handles values that are nested as deeply as a request body may be", () => {
    expect(jsonEquals(nested(DEEP), nested(DEEP))).toBe(true);
    expect(jsonEquals(nested(DEEP), nested(DEEP - 1))).toBe(false);
  });
});

describe("cloneJson", () => {
  test.each(["1", "null", '{"a":[1,{"b":null}],"__proto__":{"c":1},"constructor":{}}'])(
    "of %s is equal and shares nothing",
    (text) => {
      const value = JSON.parse(text) as unknown;
      expect(JSON.stringify(cloneJson(value))).toBe(text);
    },
  );

  test("returns a copy that can be changed without changing the original", () => {
    const value = { a: [{ b: 1 }] };
    cloneJson(value).a[0]!.b = 2;
    expect(value).toEqual({ a: [{ b: 1 }] });
  });

  test("copies __proto__ as a field, not as a prototype", () => {
    const copy = cloneJson(JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject);
    expect(copy["polluted"]).toBeUndefined();
    expect(Object.keys(copy)).toEqual(["__proto__"]);
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });

  test("handles values that are nested as deeply as a request body may be", () => {
    expect(JSON.stringify(cloneJson(nested(DEEP)))).toHaveLength(2 * DEEP);
  });
});

test("setMember never touches a prototype", () => {
  const target: JsonObject = {};
  setMember(target, "__proto__", { polluted: true });
  setMember(target, "__proto__", { again: true });
  setMember(target, "constructor", 1);
  expect(Object.getPrototypeOf(target)).toBe(Object.prototype);
  expect(JSON.stringify(target)).toBe('{"__proto__":{"again":true},"constructor":1}');
  delete target["__proto__"];
  expect(Object.keys(target)).toEqual(["constructor"]);
});

test("objectAt and the other readers return an empty value for a field of another type", () => {
  const parent = { text: "a", list: ["a", 1, null, "b"], object: { a: 1 }, nothing: null };
  expect([stringAt(parent, "text"), stringAt(parent, "list"), stringAt(parent, "absent")]).toEqual(["a", "", ""]);
  expect([stringsAt(parent, "list"), stringsAt(parent, "text")]).toEqual([["a", "b"], []]);
  expect([objectAt(parent, "object"), objectAt(parent, "list"), objectAt(parent, "nothing")]).toEqual([
    { a: 1 },
    {},
    {},
  ]);
  expect([objectsAt({ list: [{ a: 1 }, [], null, {}] }, "list"), objectsAt(parent, "object")]).toEqual([
    [{ a: 1 }, {}],
    [],
  ]);
  expect([isJsonObject({}), isJsonObject([]), isJsonObject(null), isJsonObject("")]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test.each(['{"a":1}', "{", "", "[]", "null", '"text"'])(
  "parseJsonObject of %s is defined only for an object",
  (text) => {
    expect(parseJsonObject(text)).toEqual(text === '{"a":1}' ? { a: 1 } : undefined);
  },
);
