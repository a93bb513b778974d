import { describe, expect, test } from "vitest";
import { jsonEquals, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX } from "../json/json-text.ts";
import { applyJsonPatch, JsonPatchError } from "./json-patch.ts";

function patched(document: unknown, operations: readonly unknown[]): unknown {
  return applyJsonPatch(document as JsonObject, operations);
}

/**
 * The examples of RFC 6902, appendix A: section number, document, patch and result. The result is undefined if the
 * patch must fail.
 */
const APPENDIX: readonly (readonly [section: string, document: unknown, patch: readonly unknown[], result: unknown])[] =
  [
    ["A.1", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux" }], { baz: "qux", foo: "bar" }],
    ["A.2", { foo: ["bar", "baz"] }, [{ op: "add", path: "/foo/1", value: "qux" }], { foo: ["bar", "qux", "baz"] }],
    ["A.3", { baz: "qux", foo: "bar" }, [{ op: "remove", path: "/baz" }], { foo: "bar" }],
    ["A.4", { foo: ["bar", "qux", "baz"] }, [{ op: "remove", path: "/foo/1" }], { foo: ["bar", "baz"] }],
    ["A.5", { baz: "qux", foo: "bar" }, [{ op: "replace", path: "/baz", value: "boo" }], { baz: "boo", foo: "bar" }],
    [
      "A.6",
      { foo: { bar: "baz", waldo: "fred" }, qux: { corge: "grault" } },
      [{ op: "move", from: "/foo/waldo", path: "/qux/thud" }],
      { foo: { bar: "baz" }, qux: { corge: "grault", thud: "fred" } },
    ],
    [
      "A.7",
      { foo: ["all", "grass", "cows", "eat"] },
      [{ op: "move", from: "/foo/1", path: "/foo/3" }],
      { foo: ["all", "cows", "eat", "grass"] },
    ],
    [
      "A.8",
      { baz: "qux", foo: ["a", 2, "c"] },
      [
        { op: "test", path: "/baz", value: "qux" },
        { op: "test", path: "/foo/1", value: 2 },
      ],
      { baz: "qux", foo: ["a", 2, "c"] },
    ],
    ["A.9", { baz: "qux" }, [{ op: "test", path: "/baz", value: "bar" }], undefined],
    [
      "A.10",
      { foo: "bar" },
      [{ op: "add", path: "/child", value: { grandchild: {} } }],
      { foo: "bar", child: { grandchild: {} } },
    ],
    ["A.11", { foo: "bar" }, [{ op: "add", path: "/baz", value: "qux", xyz: 123 }], { foo: "bar", baz: "qux" }],
    ["A.12", { foo: "bar" }, [{ op: "add", path: "/baz/bat", value: "qux" }], undefined],
    ["A.14", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: 10 }], { "/": 9, "~1": 10 }],
    ["A.15", { "/": 9, "~1": 10 }, [{ op: "test", path: "/~01", value: "10" }], undefined],
    [
      "A.16",
      { foo: ["bar"] },
      [{ op: "add", path: "/foo/-", value: ["abc", "def"] }],
      { foo: ["bar", ["abc", "def"]] },
    ],
  ];

describe("applyJsonPatch", () => {
  test.each(APPENDIX)("conforms to the example of RFC 6902, %s", (_section, document, patch, result) => {
    if (result === undefined) expect(() => patched(document, patch)).toThrow(JsonPatchError);
    else expect(patched(document, patch)).toEqual(result);
  });

  const edges: readonly (readonly [what: string, document: unknown, operation: unknown, result: unknown])[] = [
    ["an empty pointer is the whole document", { a: 1 }, { op: "replace", path: "", value: { b: 2 } }, { b: 2 }],
    ["the document may become a list", { a: 1 }, { op: "replace", path: "", value: [1] }, [1]],
    ["the whole document can be tested", { a: [1] }, { op: "test", path: "", value: { a: [1] } }, { a: [1] }],
    ["an empty key is a key", { "": 1 }, { op: "replace", path: "/", value: 2 }, { "": 2 }],
    ["adding to an existing member replaces it", { a: 1 }, { op: "add", path: "/a", value: null }, { a: null }],
    ["replacing an absent member adds it", { a: 1 }, { op: "replace", path: "/b", value: 1 }, { a: 1, b: 1 }],
    ["adding at the end of a list appends", { a: [1] }, { op: "add", path: "/a/1", value: 2 }, { a: [1, 2] }],
    ["an absent value is null", { a: 1 }, { op: "add", path: "/a" }, { a: null }],
    ["an absent member tests equal to null", { a: 1 }, { op: "test", path: "/b", value: null }, { a: 1 }],
    ["an absent member equals an absent value in a test", { a: 1 }, { op: "test", path: "/b" }, { a: 1 }],
    ["a null tests equal to null", { a: null }, { op: "test", path: "/a", value: null }, { a: null }],
    ["moving a value onto itself changes nothing", { a: 1 }, { op: "move", from: "/a", path: "/a" }, { a: 1 }],
    [
      "a moved value is removed first",
      { a: [{}, {}] },
      { op: "move", from: "/a/0", path: "/a/0/b" },
      { a: [{ b: {} }] },
    ],
    ["an absent member is copied as null", { a: 1 }, { op: "copy", from: "/b", path: "/c" }, { a: 1, c: null }],
    ["an index into an object is a key", { a: { 0: "x" } }, { op: "remove", path: "/a/0" }, { a: {} }],
    ["-1 is the last item", { a: [1, 2] }, { op: "remove", path: "/a/-1" }, { a: [1] }],
    ["-1 is the last item to replace", { a: [1, 2] }, { op: "replace", path: "/a/-1", value: 3 }, { a: [1, 3] }],
    ["-1 is the last item in the middle of a path", { a: [{ b: 1 }] }, { op: "remove", path: "/a/-1/b" }, { a: [{}] }],
    ["adding at -1 appends", { a: [1, 2] }, { op: "add", path: "/a/-1", value: 3 }, { a: [1, 2, 3] }],
    ["adding at -3 of two prepends", { a: [1, 2] }, { op: "add", path: "/a/-3", value: 3 }, { a: [3, 1, 2] }],
    ["an index may have leading zeros", { a: [1, 2] }, { op: "replace", path: "/a/01", value: 3 }, { a: [1, 3] }],
    ["an index may have a sign", { a: [1, 2] }, { op: "test", path: "/a/+1", value: 2 }, { a: [1, 2] }],
    ["text before the first slash is ignored", { a: 1 }, { op: "remove", path: "x/a" }, {}],
    [
      "a path with the same prefix as another is a different path",
      { a: 1, ab: {} },
      { op: "move", from: "/a", path: "/ab/c" },
      { ab: { c: 1 } },
    ],
    ["slashes in keys are escaped", { "a/b": 1 }, { op: "remove", path: "/a~1b" }, {}],
    ["tildes in keys are escaped", { "a~1": 1 }, { op: "remove", path: "/a~01" }, {}],
  ];
  test.each(edges)("follows the rule that %s", (_what, document, operation, result) => {
    expect(patched(document, [operation])).toEqual(result);
  });

  const rejected: readonly (readonly [what: string, document: unknown, operation: unknown])[] = [
    ["an index after the end", { a: [1] }, { op: "add", path: "/a/2", value: 2 }],
    ["an index before the start", { a: [1] }, { op: "remove", path: "/a/-2" }],
    ["adding before the start", { a: [1] }, { op: "add", path: "/a/-3", value: 2 }],
    ["replacing after the end", { a: [1] }, { op: "replace", path: "/a/1", value: 2 }],
    ["copying from after the end", { a: [1] }, { op: "copy", from: "/a/1", path: "/b" }],
    ["a huge index", { a: [1] }, { op: "remove", path: `/a/${"9".repeat(400)}` }],
    ["a word as an index", { a: [1] }, { op: "add", path: "/a/length", value: 0 }],
    ["a fraction as an index", { a: [1, 2] }, { op: "remove", path: "/a/0.5" }],
    ["removing after the end", { a: [1] }, { op: "remove", path: "/a/-" }],
    ["removing an absent member", { a: 1 }, { op: "remove", path: "/b" }],
    ["moving an absent member", { a: 1 }, { op: "move", from: "/b", path: "/c" }],
    ["removing the document", { a: 1 }, { op: "remove", path: "" }],
    ["adding the document", { a: 1 }, { op: "add", path: "", value: {} }],
    ["copying the document", { a: 1 }, { op: "copy", from: "", path: "/b" }],
    ["a document that is a scalar", { a: 1 }, { op: "replace", path: "", value: 1 }],
    ["a document that is null", { a: 1 }, { op: "replace", path: "", value: null }],
    ["moving a value into itself", { a: { b: {} } }, { op: "move", from: "/a", path: "/a/b/c" }],
    ["moving the document into itself", { a: {} }, { op: "move", from: "", path: "/a/b" }],
    ["a path through a scalar", { a: 1 }, { op: "add", path: "/a/b/c", value: 1 }],
    ["a path through null", { a: null }, { op: "add", path: "/a/b", value: 1 }],
    ["a path without a slash", { a: 1 }, { op: "add", path: "a", value: 1 }],
    ["a member that only a prototype has", { a: {} }, { op: "move", from: "/a/constructor", path: "/b" }],
    ["a path through a prototype", { a: {} }, { op: "add", path: "/__proto__/polluted", value: 1 }],
    ["a number instead of a string in a test", { a: "1" }, { op: "test", path: "/a", value: 1 }],
    ["a missing member in a test", { a: { b: 1, c: 2 } }, { op: "test", path: "/a", value: { b: 1 } }],
    ["an additional member in a test", { a: { b: 1 } }, { op: "test", path: "/a", value: { b: 1, c: null } }],
    ["a list instead of a map in a test", { a: {} }, { op: "test", path: "/a", value: [] }],
    ["a map instead of a list in a test", { a: [] }, { op: "test", path: "/a", value: {} }],
    ["an unknown operation", { a: 1 }, { op: "frobnicate", path: "/a" }],
    ["an operation without a name", { a: 1 }, { path: "/a" }],
    ["an operation with the name of a prototype member", { a: 1 }, { op: "toString", path: "/a" }],
    ["an operation without a path", { a: 1 }, { op: "remove" }],
    ["a path that is not a string", { a: 1 }, { op: "remove", path: 1 }],
    ["a copy without from", { a: 1 }, { op: "copy", path: "/b" }],
    ["an operation that is null", { a: 1 }, null],
    ["an operation that is a list", { a: 1 }, []],
  ];
  test.each(rejected)("rejects %s", (_what, document, operation) => {
    expect(() => patched(document, [operation])).toThrow(JsonPatchError);
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });

  test("treats a member named __proto__ as an ordinary member", () => {
    const result = patched({}, [
      { op: "add", path: "/__proto__", value: {} },
      { op: "add", path: "/__proto__/polluted", value: true },
    ]);
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });

  test("changes neither the document nor the operations, so that the patch can be retried after a conflict", () => {
    const document = { list: [1], kept: { a: 1 } };
    const operations = [
      { op: "add", path: "/made", value: [] },
      { op: "add", path: "/made/-", value: { x: 1 } },
      { op: "replace", path: "/list", value: [2] },
      { op: "add", path: "/list/-", value: 3 },
      { op: "remove", path: "/kept/a" },
    ];
    const expected = { list: [2, 3], kept: {}, made: [{ x: 1 }] };
    expect(applyJsonPatch(document, operations)).toEqual(expected);
    expect(applyJsonPatch(document, operations)).toEqual(expected);
    expect(document).toEqual({ list: [1], kept: { a: 1 } });
  });

  test("copies values instead of sharing them", () => {
    const result = patched({ a: { b: 1 } }, [
      { op: "copy", from: "/a", path: "/c" },
      { op: "replace", path: "/c/b", value: 2 },
    ]);
    expect(result).toEqual({ a: { b: 1 }, c: { b: 2 } });
  });

  test("limits the bytes that copy operations add", () => {
    const doubling = Array.from({ length: 60 }, (_, index) => ({ op: "copy", from: "/a", path: `/a/${index}` }));
    expect(() => patched({ a: { x: "y".repeat(1_000) } }, doubling)).toThrow("the copy operations add too many bytes");
  });

  test("rejects a result that is nested deeper than a request body may be", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(400)}1${"}".repeat(400)}`) as JsonObject;
    const down = "/a".repeat(399);
    expect(() => patched(deep, [{ op: "add", path: `${down}/a`, value: deep }])).toThrow(
      "the patch nests values too deeply",
    );
    expect(() => patched({ x: deep, y: deep }, [{ op: "move", from: "/x", path: `/y${down}/a` }])).toThrow(
      "the patch nests values too deeply",
    );
    const nesting = Array.from({ length: JSON_DEPTH_MAX + 1 }, () => ({ op: "copy", from: "/a", path: "/a/a" }));
    expect(() => patched({ a: {} }, nesting)).toThrow(JsonPatchError);
    expect(jsonEquals(patched(deep, []), deep)).toBe(true);
  });

  test("limits how many list items the operations shift", () => {
    const document = { a: Array.from({ length: 200_000 }, () => 0) };
    const adding = Array.from({ length: 5_000 }, () => ({ op: "add", path: "/a/0", value: 0 }));
    const removing = Array.from({ length: 5_000 }, () => ({ op: "remove", path: "/a/0" }));
    for (const operations of [adding, removing]) {
      expect(() => patched(document, operations)).toThrow("the operations shift too many items");
    }
    const appending = adding.map((operation) => ({ ...operation, path: "/a/-" }));
    expect((patched(document, appending) as typeof document).a.length).toBe(205_000);
  });
});
