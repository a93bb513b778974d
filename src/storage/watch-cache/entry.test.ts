import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { createEntry, createTombstone, encodeItem, parseEntry, type AddDefaults, type Entry } from "./entry.ts";

function entryOf(value: string | Buffer, modRevision = 42): Entry {
  return createEntry({ key: "/registry/pods/a/b", value: Buffer.from(value), modRevision, createRevision: 7 });
}

function itemText(entry: Entry): string {
  return entry.item.toString("utf8");
}

const HEAD = '{"kind":"Pod","apiVersion":"v1","metadata":{';

describe("createEntry", () => {
  const rows: readonly (readonly [what: string, stored: string, item: string])[] = [
    ["canonical bytes", `${HEAD}"name":"b"},"spec":{}}`, ',{"metadata":{"resourceVersion":"42","name":"b"},"spec":{}}'],
    [
      "spaces inside canonical bytes",
      `${HEAD}"name": "b" } , "spec":{ }}`,
      ',{"metadata":{"resourceVersion":"42","name": "b" } , "spec":{ }}',
    ],
    ["empty metadata", `${HEAD}},"spec":{}}`, ',{"metadata":{"resourceVersion":"42"},"spec":{}}'],
    ["empty metadata and nothing else", `${HEAD}}}`, ',{"metadata":{"resourceVersion":"42"}}'],
    [
      "a trailing newline, as kube-apiserver writes it",
      `${HEAD}"name":"b"}}\n`,
      ',{"metadata":{"resourceVersion":"42","name":"b"}}',
    ],
    [
      "another order of members",
      '{"spec":{},"metadata":{"name":"b"},"apiVersion":"v1","kind":"Pod"}',
      ',{"metadata":{"resourceVersion":"42","name":"b"},"spec":{}}',
    ],
    [
      "only what every object has, in another order",
      '{"metadata":{},"apiVersion":"v1","kind":"Pod"}',
      ',{"metadata":{"resourceVersion":"42"}}',
    ],
    [
      "a stored resourceVersion",
      `${HEAD}"resourceVersion":"1","name":"b"},"spec":{}}`,
      ',{"metadata":{"resourceVersion":"42","name":"b"},"spec":{}}',
    ],
    [
      "nothing but a stored resourceVersion",
      `${HEAD}"resourceVersion":"1"}}`,
      ',{"metadata":{"resourceVersion":"42"}}',
    ],
    ["a leading space", ` ${HEAD}"name":"b"}}`, ',{"metadata":{"resourceVersion":"42","name":"b"}}'],
    [
      "members named like indices",
      '{"7":1,"kind":"Pod","apiVersion":"v1","metadata":{"name":"b","3":2}}',
      ',{"metadata":{"resourceVersion":"42","3":2,"name":"b"},"7":1}',
    ],
    [
      "a member named __proto__",
      '{"metadata":{"__proto__":{"x":1}},"__proto__":{},"kind":"Pod","apiVersion":"v1"}',
      ',{"metadata":{"resourceVersion":"42","__proto__":{"x":1}},"__proto__":{}}',
    ],
    ["text beyond ASCII", `${HEAD}"name":"é€😀"}}`, ',{"metadata":{"resourceVersion":"42","name":"é€😀"}}'],
  ];
  test.each(rows)("splices the revision into %s", (_what, stored, item) => {
    const entry = entryOf(stored);
    expect(itemText(entry)).toBe(item);
    expect(entry).toMatchObject({
      key: "/registry/pods/a/b",
      modRevision: 42,
      createRevision: 7,
      kind: "Pod",
      apiVersion: "v1",
      corrupt: undefined,
    });
    expect(JSON.parse(itemText(entry).slice(1))).toEqual(JSON.parse(entry.item.toString("utf8", 1)));
  });

  test("reads the labels of the object, even if they are malformed", () => {
    expect(entryOf(`${HEAD}"labels":{"a":"1"}}}`).labels).toEqual({ a: "1" });
    expect(entryOf(`${HEAD}"labels":[1]}}`).labels).toEqual({});
    expect(entryOf(`${HEAD}"labels":null}}`).labels).toEqual({});
  });

  test("does not keep the given buffer in memory", () => {
    const value = Buffer.from(`${HEAD}"name":"b"}}`);
    const entry = createEntry({ key: "k", value, modRevision: 1, createRevision: 1 });
    expect(entry.item.buffer).not.toBe(value.buffer);
    expect(entry.item.buffer.byteLength).toBe(entry.item.length);
  });

  const corrupt: readonly (readonly [what: string, value: string | Buffer, why: string])[] = [
    ["nothing", "", "the value is not valid JSON"],
    ["broken JSON", `${HEAD}"name":"b"`, "the value is not valid JSON"],
    ["text after the object", `${HEAD}}}{}`, "the value is not valid JSON"],
    ["zeros", Buffer.alloc(64), "the value is not valid JSON"],
    ["bytes that are not text", Buffer.from([0xff, 0xfe, 0x80]), "the value is not valid JSON"],
    ["an array", "[]", "the value is not a JSON object"],
    ["null", "null", "the value is not a JSON object"],
    ["a string", '"Pod"', "the value is not a JSON object"],
    ["an object without a kind", '{"apiVersion":"v1","metadata":{}}', "the value has no kind or apiVersion"],
    [
      "an object whose apiVersion is a number",
      '{"kind":"Pod","apiVersion":1,"metadata":{}}',
      "the value has no kind or apiVersion",
    ],
    ["an object without metadata", '{"kind":"Pod","apiVersion":"v1"}', "the value has no metadata"],
    ["metadata of another type", '{"kind":"Pod","apiVersion":"v1","metadata":[]}', "the value has no metadata"],
    [
      "protobuf",
      Buffer.from("k8s\u0000\n\u0003abc"),
      "the value is encoded as protobuf, which this server cannot decode",
    ],
    [
      "protobuf that ends at once",
      Buffer.from("k8s\u0000"),
      "the value is encoded as protobuf, which this server cannot decode",
    ],
    ["less than the protobuf prefix", Buffer.from("k8s"), "the value is not valid JSON"],
    [
      "nesting without end",
      `{"x":${"[".repeat(200_000)}${"]".repeat(200_000)},"kind":"Pod","apiVersion":"v1","metadata":{}}`,
      "the value nests too deeply",
    ],
  ];
  test.each(corrupt)("%s makes a corrupt entry", (_what, value, why) => {
    const entry = entryOf(value);
    expect(entry).toMatchObject({
      corrupt: why,
      modRevision: 42,
      createRevision: 7,
      kind: "",
      apiVersion: "",
      labels: {},
    });
    expect(entry.item).toHaveLength(0);
    expect(createTombstone(entry, 50)).toMatchObject({ corrupt: why, modRevision: 50 });
  });
});

describe("createTombstone", () => {
  test.each([
    [`${HEAD}"name":"b"},"spec":{}}`, ',{"metadata":{"resourceVersion":"1000","name":"b"},"spec":{}}'],
    [`${HEAD}},"spec":{}}`, ',{"metadata":{"resourceVersion":"1000"},"spec":{}}'],
    [`${HEAD}}}`, ',{"metadata":{"resourceVersion":"1000"}}'],
  ])("keeps the last state of %s, with the revision of the deletion", (stored, item) => {
    const entry = entryOf(stored, 9);
    entry.memo.set("a", 1);
    const tombstone = createTombstone(entry, 1000);
    expect(itemText(tombstone)).toBe(item);
    expect(tombstone.memo.size).toBe(0);
    expect(itemText(createTombstone(tombstone, 1000))).toBe(item);
    expect(entry.modRevision).toBe(9);
  });
});

test("parsing an entry returns the whole object, with kind and apiVersion first", () => {
  expect(JSON.stringify(parseEntry(entryOf(`${HEAD}"name":"b"},"__proto__":{"a":1}}`)))).toBe(
    '{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"42","name":"b"},"__proto__":{"a":1}}',
  );
});

test("an encoded item does not contain kind and apiVersion", () => {
  const object: JsonObject = { kind: "Pod", apiVersion: "v1", metadata: { name: "b" }, spec: {} };
  expect(encodeItem(object).toString()).toBe(',{"metadata":{"name":"b"},"spec":{}}');
});

test("an entry whose object is already known is not parsed, and equals a parsed entry", () => {
  const object = { kind: "Pod", apiVersion: "v1", metadata: { name: "a", labels: { k: "v" } }, spec: {} };
  const stored = {
    key: "/registry/pods/a",
    value: Buffer.from(JSON.stringify(object)),
    modRevision: 7,
    createRevision: 5,
  };
  const parsed = createEntry(stored);
  const known = createEntry(stored, { object });
  expect(known).toEqual(parsed);
  expect(known.labels).toBe(object.metadata.labels);
});

describe("with a function that adds defaults,", () => {
  const stored = {
    key: "/registry/pods/a/b",
    value: Buffer.from(`${HEAD}"name":"b"},"spec":{}}`),
    modRevision: 42,
    createRevision: 7,
  };
  const addDefaults: AddDefaults = (_key, object) => ({
    object: { ...object, metadata: { name: "b", labels: { a: "1" } }, status: { phase: "Pending" } },
    lacksDefaults: true,
  });

  test("an entry has the complete object, with its labels, and tells that the stored value lacks defaults", () => {
    const entry = createEntry(stored, { addDefaults });
    expect(itemText(entry)).toBe(
      ',{"metadata":{"resourceVersion":"42","name":"b","labels":{"a":"1"}},"spec":{},"status":{"phase":"Pending"}}',
    );
    expect(entry).toMatchObject({ labels: { a: "1" }, lacksDefaults: true });
    expect(createTombstone(entry, 50).item.toString()).toContain('"phase":"Pending"');
  });

  test("an entry of a protobuf value has the complete object", () => {
    const object = { kind: "Pod", apiVersion: "v1", metadata: { name: "b" } };
    const value = Buffer.from("k8s\0");
    const entry = createEntry({ ...stored, value }, { addDefaults, decodeForeign: () => object });
    expect(itemText(entry)).toContain('"phase":"Pending"');
    expect(createEntry({ ...stored, value }, { decodeForeign: () => object })).toMatchObject({ lacksDefaults: false });
  });

  test("an entry of a complete object has the stored bytes", () => {
    const spaced = Buffer.from(`${HEAD}"name": "b"}}`);
    const unchanged: AddDefaults = (_key, object) => ({ object, lacksDefaults: false });
    expect(itemText(createEntry({ ...stored, value: spaced }, { addDefaults: unchanged }))).toBe(
      ',{"metadata":{"resourceVersion":"42","name": "b"}}',
    );
  });

  test("an entry of a value that this server has written is not checked", () => {
    const unused: AddDefaults = () => expect.unreachable("the value is complete");
    const object = { kind: "Pod", apiVersion: "v1", metadata: { name: "b" }, spec: {} };
    const entry = createEntry(stored, { addDefaults: unused, object });
    expect(entry).toEqual(createEntry(stored));
  });
});
