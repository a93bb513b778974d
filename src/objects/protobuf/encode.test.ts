import { describe, expect, test } from "vitest";

import { protobufTables } from "../catalog/protobuf-tables.ts";
import type { JsonObject } from "../../meta/json.ts";
import { decodeEnvelope, decodeProtobufObject } from "./decode.ts";
import { encodeWatchEvent, envelopeHead, ProtobufEncoder, type TypeMeta } from "./encode.ts";
import { delimited, encodeProtobufObject, integer, text } from "../../../test/testing/objects/protobuf/encode.ts";
import { kindsOf } from "../../../test/testing/objects/protobuf/kinds.ts";
import { KUBECTL_BODIES } from "../../../test/testing/objects/protobuf/kubectl-bodies.ts";
import { MessageReader } from "./wire-reader.ts";

const tables = protobufTables();
const POD: TypeMeta = { apiVersion: "v1", kind: "Pod" };
const SCHEMAS: TypeMeta = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

function encode(object: JsonObject, type: TypeMeta = POD): Buffer {
  return Buffer.concat([envelopeHead(type), new ProtobufEncoder(tables).member(object, type)]);
}

function roundTrip(object: JsonObject, type: TypeMeta = POD): JsonObject {
  return decodeProtobufObject(encode(object, type), tables);
}

/** The fields of a message in order, each as "number: hex" or with the fields of its nested message. Omits zeros. */
function significant(bytes: Buffer, message: string): string[] {
  const table = tables.message(message)!;
  const reader = new MessageReader(bytes, 0, bytes.length, message);
  const fields: string[] = [];
  while (reader.next()) {
    const field = table.byNumber[reader.field]!;
    if (field.scalar === "bool" || field.scalar === "int32" || field.scalar === "int64") {
      const value = reader.int64();
      if (value !== 0 || field.shape === "pointer") fields.push(`${field.number}: ${value}`);
      continue;
    }
    const inner = reader.bytes();
    const isNested = field.scalar === undefined && field.shape !== "map";
    const said = isNested ? `{ ${significant(inner, field.message!).join(", ")} }` : inner.toString("hex");
    const isZero = field.shape !== "pointer" && field.shape !== "list" && (said === "" || said === "{  }");
    if (!isZero) fields.push(`${field.number}: ${said}`);
  }
  return fields;
}

describe("objects are encoded as by Go, without zeros:", () => {
  test.each(KUBECTL_BODIES)("kubectl $command", ({ hex, object }) => {
    const type = { apiVersion: String(object["apiVersion"]), kind: String(object["kind"]) };
    const theirs = Buffer.from(hex, "hex");
    const ours = encode(object, type);
    const message = tables.messageFor(type.apiVersion, type.kind)!;
    expect(significant(decodeEnvelope(ours).raw, message)).toEqual(significant(decodeEnvelope(theirs).raw, message));
    expect(decodeProtobufObject(ours, tables)).toEqual(decodeProtobufObject(theirs, tables));
    expect(ours.length).toBeLessThan(theirs.length);
  });

  test("every list has its items in the field whose number an envelope uses for raw, after its metadata", () => {
    const lists = kindsOf("1.36").filter(({ kind }) => kind.endsWith("List"));
    expect(lists.length).toBeGreaterThan(80);
    for (const { apiVersion, kind } of [
      ...lists,
      { apiVersion: "meta.k8s.io/v1", kind: "PartialObjectMetadataList" },
    ]) {
      const { byNumber } = tables.message(tables.messageFor(apiVersion, kind)!)!;
      expect([byNumber[1]?.name, byNumber[2]?.name, byNumber[2]?.shape]).toEqual(["metadata", "items", "list"]);
    }
  });
});

describe("values:", () => {
  test.each<[what: string, metadata: JsonObject]>([
    ["times in 1970", { creationTimestamp: "1970-01-01T00:00:00Z" }],
    ["times before 1970", { creationTimestamp: "1901-02-03T04:05:06Z" }],
    ["the latest times", { creationTimestamp: "9999-12-31T23:59:59Z" }],
    ["large numbers", { generation: 9_007_199_254_740_991 }],
    ["negative numbers", { generation: -1 }],
    ["numbers just over 31 bits", { generation: 2_147_483_648 }],
    ["texts longer than the buffer", { name: "é".repeat(5_000), uid: "x".repeat(20_000) }],
    [
      "texts of many lengths",
      { labels: Object.fromEntries([39, 40, 41, 127, 128].map((n) => [`${n}`, "y".repeat(n)])) },
    ],
    ["characters of every width", { name: "aé€😀" }],
    ["names of prototype members", { labels: JSON.parse('{"__proto__":"a","constructor":"b"}') as JsonObject }],
  ])("%s survive a round trip", (_what, metadata) => {
    expect(roundTrip({ metadata })["metadata"]).toEqual(metadata);
  });

  test.each<[what: string, given: string, shown: string | undefined]>([
    ["in another zone", "2030-01-01T02:00:00+02:00", "2030-01-01T00:00:00Z"],
    ["with a fraction", "2030-01-01T00:00:00.999Z", "2030-01-01T00:00:00Z"],
    ["that are Go's zero", "0001-01-01T00:00:00Z", undefined],
    ["that are invalid", "tomorrow", undefined],
  ])("times %s, such as %s, are decoded as %s", (_what, given, shown) => {
    expect(roundTrip({ metadata: { creationTimestamp: given } })["metadata"]).toEqual(
      shown === undefined ? {} : { creationTimestamp: shown },
    );
  });

  test.each([
    ["2030-01-01T00:00:00.000001Z", "2030-01-01T00:00:00.000001Z"],
    ["2030-01-01T00:00:00.5Z", "2030-01-01T00:00:00.500000Z"],
    ["2030-01-01T00:00:00.123456789Z", "2030-01-01T00:00:00.123456Z"],
    ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.000000Z"],
  ])("the micro time %s is decoded as %s", (given, shown) => {
    const type = { apiVersion: "coordination.k8s.io/v1", kind: "Lease" };
    expect(roundTrip({ spec: { renewTime: given } }, type)["spec"]).toEqual({ renewTime: shown });
  });

  test.each<[what: string, schema: JsonObject]>([
    ["a schema or a list of them", { items: { type: "string" } }],
    [
      "a schema or a boolean",
      { additionalProperties: false, properties: { a: { additionalProperties: { type: "x" } } } },
    ],
    ["a schema or a list of names", { dependencies: { a: ["b"], c: { type: "x" } } }],
    ["fractions", { maximum: 0.1, minimum: -1e300 }],
    ["any JSON", { default: { a: [1, null, "é"] }, enum: [1, "a", true, { b: null }] }],
  ])("values that are %s survive a round trip", (_what, openAPIV3Schema) => {
    const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema } };
    const decoded = roundTrip({ spec: { group: "g", versions: [version] } }, SCHEMAS);
    expect(decoded).toMatchObject({ spec: { versions: [{ schema: { openAPIV3Schema } }] } });
  });

  test("an empty object is encoded if the field is a pointer in Go, and null is not encoded", () => {
    const volumes = [{ name: "v", emptyDir: {} }];
    const decoded = roundTrip({ spec: { volumes, securityContext: {}, affinity: null, containers: null } });
    expect(decoded["spec"]).toEqual({ volumes, securityContext: {}, containers: null });
  });

  test("values of a wrong type and unknown fields are omitted", () => {
    const spec = { nodeName: 5, hostNetwork: "true", priority: "1", volumes: {}, nodeSelector: [], tolerations: ["x"] };
    expect(() => encode({ metadata: "text", spec, more: 1 })).not.toThrow();
    expect(roundTrip({ spec: { ...spec, hostname: "h" }, more: 1 })["spec"]).toMatchObject({ hostname: "h" });
    expect(roundTrip({ metadata: { generation: 1.9 } })["metadata"]).toEqual({ generation: 1 });
    expect(roundTrip({ metadata: { generation: Infinity } })["metadata"]).toEqual({});
  });
});

describe("encodings around objects:", () => {
  test("a list is encoded as its head followed by its items", () => {
    const encoder = new ProtobufEncoder(tables);
    const pods: JsonObject[] = [{ metadata: { name: "a" } }, { metadata: { name: "b".repeat(300) } }];
    const items = pods.map((pod) => encoder.member(pod, POD));
    const metadata = { resourceVersion: "7", continue: "next", remainingItemCount: 3 };
    const bytes = items.reduce((sum, { length }) => sum + length, 0);
    const head = encoder.listHead(metadata, { apiVersion: "v1", kind: "PodList" }, bytes);
    const list = decodeProtobufObject(Buffer.concat([head, ...items]), tables);
    expect(list).toMatchObject({ kind: "PodList", apiVersion: "v1", metadata, items: pods });
    expect(list).toEqual(
      decodeProtobufObject(
        encodeProtobufObject({ kind: "PodList", apiVersion: "v1", metadata, items: pods }, tables),
        tables,
      ),
    );
  });

  test("a watch event is encoded as a length, its type, and the whole object with its envelope", () => {
    const object = encode({ metadata: { name: "a".repeat(200) } });
    const expected = Buffer.concat([text(1, "ADDED"), delimited(2, delimited(1, object))]);
    const frame = encodeWatchEvent("ADDED", [object.subarray(0, 5), object.subarray(5)]);
    expect(frame.readUInt32BE()).toBe(expected.length);
    expect(frame.subarray(4)).toEqual(expected);
  });

  test("an encoder can be used again after an error", () => {
    const endless: JsonObject = {};
    endless["a"] = endless;
    const encoder = new ProtobufEncoder(tables);
    const crd = (schema: unknown): JsonObject => ({ spec: { versions: [{ schema: { openAPIV3Schema: schema } }] } });
    expect(() => encoder.member(crd({ default: endless }), SCHEMAS)).toThrow(TypeError);
    expect(encoder.member(crd({}), SCHEMAS)).toEqual(new ProtobufEncoder(tables).member(crd({}), SCHEMAS));
  });

  test("encoding a kind without a message throws an error", () => {
    expect(() => new ProtobufEncoder(tables).member({}, { apiVersion: "example.com/v1", kind: "Thing" })).toThrow(
      "no protobuf message is known for the kind Thing of example.com/v1",
    );
  });

  test("an envelope contains the type and the message", () => {
    const typeMeta = Buffer.concat([text(1, "apps/v1"), text(2, "Deployment")]);
    expect(envelopeHead({ apiVersion: "apps/v1", kind: "Deployment" })).toEqual(
      Buffer.concat([Buffer.from("k8s\0"), delimited(1, typeMeta)]),
    );
    expect(decodeEnvelope(encode({ metadata: { generation: 1 } })).raw).toEqual(delimited(1, integer(7, 1)));
  });
});
