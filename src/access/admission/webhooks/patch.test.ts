import { describe, expect, test } from "vitest";
import { messageOf } from "../../../base/within.ts";
import { patchAnnotation, patched, readWebhookPatch } from "./patch.ts";

const DOCUMENT = { kind: "K", data: { a: "1" }, list: [{}] };

function problem(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (thrown) {
    return messageOf(thrown);
  }
}

describe("the error of a failing patch is that of kubernetes for", () => {
  test.each<[Record<string, unknown>, string]>([
    [{}, "Unexpected kind: unknown"],
    [{ op: 5 }, "Unexpected kind: unknown"],
    [{ op: "frob" }, "Unexpected kind: frob"],
    [{ op: "add" }, "add operation failed to decode path: missing value"],
    [{ op: "add", path: "/q/x" }, 'add operation does not apply: doc is missing path: "/q/x": missing value'],
    [{ op: "add", path: "/data/a/b" }, 'add operation does not apply: doc is missing path: "/data/a/b": missing value'],
    [{ op: "add", path: "" }, 'add operation does not apply: doc is missing path: "": missing value'],
    [
      { op: "add", path: "/list/7" },
      "error in add for path: '/list/7': Unable to access invalid index: 7: invalid index referenced",
    ],
    [
      { op: "add", path: "/list/x" },
      "error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
    ],
    [
      { op: "remove", path: "/data/z" },
      "error in remove for path: '/data/z': Unable to remove nonexistent key: z: missing value",
    ],
    [
      { op: "remove", path: "/list/-7" },
      "error in remove for path: '/list/-7': Unable to access invalid index: -7: invalid index referenced",
    ],
    [
      { op: "remove", path: "/list/x" },
      "error in remove for path: '/list/x': strconv.Atoi: parsing \"x\": invalid syntax",
    ],
    [{ op: "replace" }, "replace operation failed to decode path: operation missing path field: missing value"],
    [
      { op: "replace", path: 1 },
      "replace operation failed to decode path: json: cannot unmarshal number into Go value of type string",
    ],
    [{ op: "replace", path: "", value: 5 }, "replace operation value must be object or array: %!w(<nil>)"],
    [
      { op: "replace", path: "/list/7", value: 1 },
      "replace operation does not apply: doc is missing key: /list/7: missing value",
    ],
    [
      { op: "replace", path: "/q/7", value: 1 },
      "replace operation does not apply: doc is missing path: /q/7: missing value",
    ],
    [{ op: "test", path: "/data/a", value: "2" }, "testing value /data/a failed: test failed"],
    [{ op: "test", path: "/q/a" }, "test operation does not apply: is missing path: /q/a: missing value"],
    [
      { op: "test", path: "/list/9" },
      "error in test for path: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ],
    [{ op: "move" }, "move operation failed to decode from: operation, missing from field: missing value"],
    [
      { op: "move", from: "/data/z", path: "/x" },
      "error in move for path: 'z': Unable to remove nonexistent key: z: missing value",
    ],
    [
      { op: "move", from: "/data/a", path: "/q/x" },
      "move operation does not apply: doc is missing destination path: /q/x: missing value",
    ],
    [
      { op: "copy", from: "/list/9", path: "/x" },
      "error in copy for from: '/list/9': Unable to access invalid index: 9: invalid index referenced",
    ],
    [{ op: "copy", from: "/data/a" }, "copy operation failed to decode path: missing value"],
    [
      { op: "copy", from: "/data/a", path: "/list/9" },
      "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced",
    ],
  ])("%j", (operation, expected) => {
    expect(problem(() => patched(DOCUMENT, [operation]))).toBe(expected);
  });

  test.each([0, 1, 7, 8, 100])("the first failing operation, after %i operations that succeed", (count) => {
    const fine = Array.from({ length: count }, (_, index) => ({ op: "add", path: `/data/k${index}`, value: "v" }));
    const again = { op: "remove", path: `/data/k${count - 1}` };
    const operations = [...fine, again, again, { op: "frob" }];
    expect(problem(() => patched({ ...DOCUMENT, data: { "k-1": "" } }, operations))).toBe(
      `error in remove for path: '/data/k${count - 1}': Unable to remove nonexistent key: k${count - 1}: missing value`,
    );
  });

  test("a result that is not an object", () => {
    expect(problem(() => patched(DOCUMENT, [{ op: "replace", path: "", value: [] }]))).toMatch(
      /^couldn't get version\/kind; json parse error: json: cannot unmarshal array into/,
    );
  });
});

test.each<[string, string | undefined]>([
  ["[]", undefined],
  ["null", undefined],
  ["[null]", undefined],
  ["hello", "invalid character 'h' looking for beginning of value"],
  ["{}", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"],
  ['["a"]', "json: cannot unmarshal string into Go value of type jsonpatch.Operation"],
  [`[${"{},".repeat(10_000)}{}]`, "The allowed maximum operations in a JSON patch is 10000, got 10001"],
])("the patch %.20s is parsed, or rejected with kubernetes' message", (text, expected) => {
  expect(problem(() => readWebhookPatch(Buffer.from(text)))).toBe(expected);
});

test("the audit annotation shows patches in Go's JSON format", () => {
  const operations = [{ value: { b: "<&", a: 1 }, path: "/x", op: "add" }];
  expect(patchAnnotation({ configuration: "c", name: "w" }, operations)).toBe(
    String.raw`{"configuration":"c","webhook":"w","patch":[{"op":"add","path":"/x","value":{"b":"\u003c\u0026","a":1}}],"patchType":"JSONPatch"}`,
  );
});
