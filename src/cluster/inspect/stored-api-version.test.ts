import { expect, test } from "vitest";
import { protobufTables } from "../../objects/catalog/protobuf-tables.ts";
import { encodeProtobufObject } from "../../../test/testing/objects/protobuf/encode.ts";
import { storedApiVersion } from "./stored-api-version.ts";
import { json, protobuf } from "../../../test/testing/cluster/inspect/planted-store.ts";

const POD = { kind: "Pod", apiVersion: "v1", metadata: { name: "p" } };

test.each([
  ["as Evenkeel writes it", json("apps/v1"), "apps/v1"],
  ["of the core group", json("v1"), "v1"],
  ["as kube-apiserver writes custom resources", Buffer.from('{"apiVersion":"a.io/v1","kind":"K","x":1}'), "a.io/v1"],
  ["in another order", Buffer.from('{"metadata":{"name":"x"},"kind":"K","apiVersion":"batch/v1"}'), "batch/v1"],
  ["with blank space", Buffer.from('{ "kind": "K", "apiVersion": "batch/v1" }\n'), "batch/v1"],
  ["with escapes", Buffer.from('{"kind":"K","apiVersion":"batch\\u002fv1"}'), "batch/v1"],
  ["as protobuf", protobuf("resource.k8s.io/v1beta1"), "resource.k8s.io/v1beta1"],
  ["as protobuf with a whole object", encodeProtobufObject(POD, protobufTables()), "v1"],
])("the API version of a value %s is found", (_, value, apiVersion) => {
  expect(storedApiVersion(value)).toBe(apiVersion);
});

test.each([
  ["nothing", Buffer.alloc(0)],
  ["blanks", Buffer.from("  \n")],
  ["truncated JSON", json("v1").subarray(0, -2)],
  ["no JSON", Buffer.from("nonsense")],
  ["no object", Buffer.from("[]")],
  ["null", Buffer.from("null")],
  ["no kind", Buffer.from('{"apiVersion":"v1"}')],
  ["no apiVersion", Buffer.from('{"kind":"K"}')],
  ["an apiVersion that is not a name", Buffer.from('{"kind":"K","apiVersion":"<script>"}')],
  ["an apiVersion that is too long", json(`v${"1".repeat(100_000)}`)],
  ["nesting that is too deep", Buffer.from("[".repeat(200_000))],
  ["the magic bytes alone", Buffer.from("k8s\0")],
  ["truncated protobuf", protobuf("v1").subarray(0, -3)],
  ["protobuf with a wrong length", Buffer.from([0x6b, 0x38, 0x73, 0, 0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f])],
  ["protobuf without a kind", protobuf("v1", "")],
  ["an encrypted value", Buffer.from("k8s:enc:aescbc:v1:key1:\u0001\u0002")],
])("no API version is found in %s", (_, value) => {
  expect(storedApiVersion(value)).toBeUndefined();
});
