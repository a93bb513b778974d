import { describe, expect, test } from "vitest";
import {
  decodeServedRecord,
  encodeServedRecord,
  recordedResources,
  servedRecordKey,
  servedRecordPrefix,
  type ServedRecord,
} from "./served-record.ts";
import { documentOf } from "../../../test/testing/cluster/peers/documents.ts";

const ROOT = "/registry/";
const RECORD: ServedRecord = {
  serverId: "apiserver-abc",
  incarnation: "apiserver-abc_1-2",
  release: "1.36",
  servedAt: "2026-01-02T03:04:05.678Z",
  departedAt: undefined,
  resources: new Map([
    ["/v1", ["pods", "pods/status"]],
    ["apps/v1", ["deployments"]],
  ]),
};
const KEY = servedRecordKey(ROOT, RECORD);

function decoded(fields: unknown, key = KEY): ServedRecord | undefined {
  return decodeServedRecord(ROOT, { key, value: fields });
}

const FIELDS = { kind: "ServedRecord", ...RECORD, resources: Object.fromEntries(RECORD.resources) };

function parsed(value: Buffer): unknown {
  return JSON.parse(value.toString("utf8"));
}

describe("a served record", () => {
  test.each([
    ["of a live server", RECORD],
    ["of a departed one", { ...RECORD, departedAt: "2026-01-02T03:14:05Z" }],
    ["of a server whose ID is a guess", { ...RECORD, calledAt: "192.0.2.7:6443" }],
    ["of a server that does not publish its release", { ...RECORD, release: undefined }],
    ["with names of inherited object properties", { ...RECORD, resources: new Map([["__proto__", ["constructor"]]]) }],
    ["of a server that serves nothing", { ...RECORD, resources: new Map() }],
  ])("(%s) is decoded as it was encoded", (_, record) => {
    expect(decodeServedRecord(ROOT, { key: KEY, value: parsed(encodeServedRecord(record)!) })).toEqual(record);
  });

  test("is stored under the ID of its server and its run", () => {
    expect(KEY).toBe("/registry/evenkeel/served/apiserver-abc/apiserver-abc_1-2");
    expect(KEY.startsWith(servedRecordPrefix(ROOT))).toBe(true);
  });

  test("under the key of another record is not decoded", () => {
    expect(decoded(FIELDS)).toEqual(RECORD);
    expect(decoded(FIELDS, servedRecordKey(ROOT, { ...RECORD, serverId: "other" }))).toBeUndefined();
  });

  test.each([
    ["a list", []],
    ["nothing", undefined],
    ["another value of the store", { ...FIELDS, kind: "Pod" }],
  ])("is not decoded from %s", (_, value) => {
    expect(decodeServedRecord(ROOT, { key: KEY, value })).toBeUndefined();
  });

  test.each([
    ["a server ID that is two key segments", { serverId: "a/b" }],
    ["no server ID", { serverId: undefined }],
    ["an empty run", { incarnation: "" }],
    ["a run of dots", { incarnation: ".." }],
    ["a release that is not a string", { release: 1.36 }],
    ["a release that is too long", { release: "1".repeat(33) }],
    ["no time", { servedAt: undefined }],
    ["a time in another zone", { servedAt: "2026-01-02T03:04:05+01:00" }],
    ["a departure that is not a time", { departedAt: "yesterday" }],
    ["no resources", { resources: undefined }],
    ["resources in a list", { resources: ["pods"] }],
    ["resources that are not strings", { resources: { "/v1": [1] } }],
    ["a name that is too long", { resources: { "/v1": ["x".repeat(513)] } }],
    ["too many resources", { resources: { "/v1": Array.from({ length: 20_001 }, () => "x") } }],
    [
      "too many group versions",
      { resources: Object.fromEntries(Array.from({ length: 2_001 }, (_, i) => [`${i}`, []])) },
    ],
  ])("is not decoded with %s", (_, fields) => {
    const changed = { ...FIELDS, ...fields };
    const key = servedRecordKey(ROOT, { serverId: String(changed.serverId), incarnation: changed.incarnation });
    expect(decoded(changed, key)).toBeUndefined();
  });

  test("is not encoded if no server could decode it", () => {
    expect(encodeServedRecord({ ...RECORD, incarnation: "a/b" })).toBeUndefined();
    expect(encodeServedRecord({ ...RECORD, resources: new Map([["/v1", ["x".repeat(513)]]]) })).toBeUndefined();
  });
});

test("the record of a discovery document has its resources and subresources, without stale group versions", () => {
  const groups = [
    ...documentOf({ v1: { pods: "get", "pods/status": "get" }, "apps/v1": { deployments: "get" } }),
    ...documentOf({ "metrics.k8s.io/v1": { pods: "get" } }, "Stale"),
    ...documentOf({ "empty/v1": {} }),
  ];
  expect([...recordedResources(groups)]).toEqual([
    ["/v1", ["pods", "pods/status"]],
    ["apps/v1", ["deployments"]],
  ]);
});
