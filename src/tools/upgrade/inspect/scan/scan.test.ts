import { expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { protobuf } from "../../../../../test/testing/tools/upgrade/stored-objects.ts";
import { ByteStrings } from "./byte-strings.ts";
import { JsonScan } from "./json-scan.ts";
import { ABSENT, ObjectHead } from "./object-head.ts";
import { ProtobufScan } from "./protobuf-scan.ts";
import { UidTable } from "./uid-table.ts";

const UID = "01234567-89ab-cdef-0123-456789abcdef";

const POD: JsonObject = {
  kind: "Pod",
  apiVersion: "v1",
  metadata: {
    name: "a",
    uid: UID,
    labels: { uid: "not this", kind: '{["\\' },
    deletionTimestamp: "2026-01-02T03:04:05Z",
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "odd uid", controller: true },
      { apiVersion: "v1", kind: "Node", name: "n", uid: UID },
    ],
    finalizers: ["example.com/a", "example.com/b"],
    managedFields: [
      {
        manager: "kubectl",
        operation: "Update",
        apiVersion: "v1",
        time: "2026-01-02T03:04:05Z",
        fieldsV1: { "f:a": {} },
      },
      { manager: "kubelet", operation: "Update", apiVersion: "v1", subresource: "status" },
    ],
  },
  spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
};

function newHead(): ObjectHead {
  return new ObjectHead(new ByteStrings(), new ByteStrings());
}

function shown(head: ObjectHead): unknown {
  const { types, strings } = head;
  const texts = (ids: Int32Array, count: number): string[] =>
    [...ids.subarray(0, count)].map((id) => strings.textOf(id));
  return {
    type: [types.textOf(head.apiVersion), types.textOf(head.kind)],
    uid: [...head.uid],
    isDeleting: head.isDeleting,
    finalizers: texts(head.finalizerIds, head.finalizers),
    ownerKinds: texts(head.ownerKinds, head.owners),
    ownerVersions: texts(head.ownerVersions, head.owners),
    secondOwner: [...head.ownerUids.subarray(4, 8)],
    managers: texts(head.managers, head.entries),
    versions: texts(head.managerVersions, head.entries),
    times: [...head.times.subarray(0, head.entries)],
  };
}

const EXPECTED = {
  type: ["v1", "Pod"],
  uid: [0x01234567, 0x89abcdef, 0x01234567, 0x89abcdef],
  isDeleting: true,
  finalizers: ["example.com/a", "example.com/b"],
  ownerKinds: ["ReplicaSet", "Node"],
  ownerVersions: ["apps/v1", "v1"],
  secondOwner: [0x01234567, 0x89abcdef, 0x01234567, 0x89abcdef],
  managers: ["kubectl", "kubelet"],
  versions: ["v1", "v1"],
  times: [Date.UTC(2026, 0, 2, 3, 4, 5) / 1000, 0],
};

test.each([
  ["protobuf", protobuf(POD)],
  ["JSON", Buffer.from(JSON.stringify(POD))],
  ["JSON with white space", Buffer.from(JSON.stringify(POD, null, 2))],
  [
    "JSON with the metadata at the end",
    Buffer.from(JSON.stringify({ spec: POD["spec"], metadata: POD["metadata"], kind: "Pod", apiVersion: "v1" })),
  ],
])("%s: type, UID, owners, finalizers and managers are read", (_name, value) => {
  const head = newHead();
  const scan = value[0] === 0x7b ? new JsonScan() : new ProtobufScan();
  expect(scan.scan(value, head)).toBeUndefined();
  expect(shown(head)).toEqual(EXPECTED);
});

test("a truncated value is unreadable at every length", () => {
  for (const value of [protobuf(POD), Buffer.from(JSON.stringify(POD))]) {
    const isJson = value[0] === 0x7b;
    const head = newHead();
    for (let length = isJson ? 1 : 5; length < value.length; length++) {
      const cut = value.subarray(0, length);
      const problem = (isJson ? new JsonScan() : new ProtobufScan()).scan(cut, head);
      expect(problem ?? (head.kind === ABSENT ? "untyped" : undefined), `length ${length}`).toBeDefined();
    }
  }
});

test("a value with changed bytes never makes a scan throw or read beyond the value", () => {
  for (const value of [protobuf(POD), Buffer.from(JSON.stringify(POD))]) {
    const head = newHead();
    for (let at = 0; at < value.length; at++) {
      for (const byte of [0, 0x22, 0x5c, 0x7b, 0x7d, 0x80, 0xff]) {
        const changed = Buffer.from(value);
        changed[at] = byte;
        const problem = (value[0] === 0x7b ? new JsonScan() : new ProtobufScan()).scan(changed, head);
        expect(["string", "undefined"]).toContain(typeof problem);
      }
    }
  }
});

test.each([
  ['{"a":1,}', "malformed"],
  ['{"a":1 "b":2}', "malformed"],
  ['{"a":[1}', "malformed"],
  ['{"a":{"b":[1}]}', "malformed"],
  ['{"a":x}', "malformed"],
  ['{"a":1}x', "malformed"],
  ['{"a":"\n"}', "malformed"],
  [`{"a":${"[".repeat(20_000)}`, "malformed"],
  ['{"a":"b', "truncated"],
  ['{"a":[', "truncated"],
])("JSON that JSON.parse rejects is unreadable: %.20s", (text, reason) => {
  expect(() => JSON.parse(text) as unknown).toThrow();
  expect(new JsonScan().scan(Buffer.from(text), newHead())).toContain(reason);
});

test.each(['{"a":"\\"}"}', "{ }", '{"a":[],"b":{},"c":[[]]}\n', '{"a":-1.5e+3,"b":null,"c":[true,false]}'])(
  "JSON that JSON.parse accepts is readable: %s",
  (text) => {
    expect(() => JSON.parse(text) as unknown).not.toThrow();
    expect(new JsonScan().scan(Buffer.from(text), newHead())).toBeUndefined();
  },
);

test("long strings end at their quote, wherever escapes are", () => {
  const head = newHead();
  for (let length = 50; length < 300; length++) {
    for (const inside of ["", String.raw`\"`, String.raw`\\`, String.raw`\n{"`.replace('"', String.raw`\"`)]) {
      const text = `${"x".repeat(length)}${inside}${"y".repeat(length % 90)}`;
      const value = Buffer.from(`{"a":"${text}","kind":"K"}`);
      expect(() => JSON.parse(value.toString()) as unknown).not.toThrow();
      expect(new JsonScan().scan(value, head)).toBeUndefined();
      expect(head.types.textOf(head.kind)).toBe("K");
    }
  }
});

test("a manager with escapes in JSON is the same as without", () => {
  const head = newHead();
  const value = String.raw`{"metadata":{"managedFields":[{"manager":"aA"},{"manager":"aA"}]}}`;
  new JsonScan().scan(Buffer.from(value), head);
  expect(head.managers[0]).toBe(head.managers[1]);
});

test("strings beyond the limit are counted as others", () => {
  const strings = new ByteStrings();
  const ids = Array.from({ length: 30_000 }, (_, index) => {
    const bytes = Buffer.from(`name-${index}`);
    return strings.idOf(bytes, 0, bytes.length);
  });
  expect(strings.textOf(ids[5]!)).toBe("name-5");
  expect(strings.textOf(ids.at(-1)!)).toBe("(others)");
  const again = Buffer.from("name-5");
  expect(strings.idOf(again, 0, again.length)).toBe(ids[5]);
});

test("a table of UIDs finds each of many UIDs, and no other", () => {
  const table = new UidTable(100_000);
  const uid = (index: number): Uint32Array => new Uint32Array([index, index * 7, 0, index % 3]);
  for (let index = 0; index < 50_000; index++) expect(table.add(uid(index), 0)).toBe(index);
  for (let index = 0; index < 50_000; index++) expect(table.find(uid(index), 0)).toBe(index);
  expect(table.find(uid(50_001), 0)).toBe(-1);
  expect(table.isComplete).toBe(true);
});

test("a table of UIDs that is full is incomplete", () => {
  const table = new UidTable(2);
  for (let index = 0; index < 3; index++) table.add(new Uint32Array([index, 0, 0, 0]), 0);
  expect(table.isComplete).toBe(false);
});
