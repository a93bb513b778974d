import fc from "fast-check";
import { describe, expect, test } from "vitest";

import { protobufTables } from "../catalog/protobuf-tables.ts";
import { isJsonObject, type JsonObject } from "../../meta/json.ts";
import { JSON_DEPTH_MAX } from "../json/json-text.ts";
import { decodeEnvelope, decodeProtobufObject, isProtobufEnvelope, ProtobufDecodeError } from "./decode.ts";
import { MESSAGES_MAX } from "./message-decoder.ts";
import {
  delimited,
  encodeEnvelope,
  encodeProtobufObject,
  integer,
  text,
  varint,
} from "../../../test/testing/objects/protobuf/encode.ts";
import { KUBECTL_BODIES } from "../../../test/testing/objects/protobuf/kubectl-bodies.ts";

const tables = protobufTables();
const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

/** Decodes a message without its envelope. */
function decode(apiVersion: string, kind: string, ...fields: Buffer[]): JsonObject {
  return decodeProtobufObject(encodeEnvelope({ apiVersion, kind, raw: Buffer.concat(fields) }), tables);
}

function encodeAndDecode(object: JsonObject): JsonObject {
  return decodeProtobufObject(encodeProtobufObject(object, tables), tables);
}

describe("the protobuf bodies of kubectl are decoded:", () => {
  test.each(KUBECTL_BODIES)("kubectl $command", ({ hex, object }) => {
    const decoded = decodeProtobufObject(Buffer.from(hex, "hex"), tables);
    expect(decoded).toEqual(object);
    expect(JSON.stringify(decoded), "the order of members").toBe(JSON.stringify(object));
  });
});

describe("the envelope", () => {
  test("is recognized by its first four bytes, the magic number", () => {
    expect(isProtobufEnvelope(Buffer.from("k8s\0"))).toBe(true);
    expect(isProtobufEnvelope(Buffer.from("k8s"))).toBe(false);
    expect(isProtobufEnvelope(Buffer.from('{"a":1}'))).toBe(false);
    expect(isProtobufEnvelope(Buffer.alloc(0))).toBe(false);
  });

  test("contains the type, the message and the encoding of the message", () => {
    const raw = Buffer.from("raw");
    const parts = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      raw,
      contentEncoding: "gzip",
      contentType: "text/plain",
    };
    expect(decodeEnvelope(encodeEnvelope(parts))).toEqual(parts);
    expect(decodeEnvelope(Buffer.from("k8s\0"))).toMatchObject({ apiVersion: "", kind: "", contentType: "" });
  });

  test.each([
    ["no magic bytes", Buffer.from("{}"), "does not begin with its four magic bytes"],
    ["no type", Buffer.from("k8s\0"), "has no apiVersion or no kind"],
    ["an unknown kind", encodeEnvelope({ apiVersion: "v1", kind: "Pot", raw: Buffer.alloc(0) }), '"Pot" of "v1"'],
    ["compressed content", encodeEnvelope({ ...CRD, raw: Buffer.alloc(0), contentEncoding: "gzip" }), '"gzip"'],
    ["other content", encodeEnvelope({ ...CRD, raw: Buffer.alloc(0), contentType: "text/plain" }), '"text/plain"'],
  ])("with %s is rejected", (_case, bytes, message) => {
    expect(() => decodeProtobufObject(bytes, tables)).toThrow(ProtobufDecodeError);
    expect(() => decodeProtobufObject(bytes, tables)).toThrow(message);
  });
});

describe("zero values:", () => {
  test("a message without any field decodes as Go's JSON of an empty object", () => {
    expect(decode("apps/v1", "Deployment")).toEqual({
      kind: "Deployment",
      apiVersion: "apps/v1",
      metadata: {},
      spec: { selector: null, template: { metadata: {}, spec: { containers: null } }, strategy: {} },
      status: {},
    });
  });

  test("a pointer keeps its zero, an omitempty value does not", () => {
    const spec = delimited(2, Buffer.concat([integer(1, 0), integer(5, 0), integer(7, 0)]));
    expect(decode("apps/v1", "Deployment", spec)["spec"]).toMatchObject({ replicas: 0 });
    expect(decode("apps/v1", "Deployment", spec)["spec"]).not.toHaveProperty("minReadySeconds");
    expect(decode("apps/v1", "Deployment", spec)["spec"]).not.toHaveProperty("paused");
  });

  test("a value that is always serialized is present whether it was sent or not", () => {
    expect(decode("authorization.k8s.io/v1", "SelfSubjectAccessReview")["status"]).toEqual({ allowed: false });
    expect(decode("scheduling.k8s.io/v1", "PriorityClass")["value"]).toBe(0);
    expect(decode("certificates.k8s.io/v1", "CertificateSigningRequest")["spec"]).toMatchObject({ request: null });
  });

  test("a time without bytes is absent, but a time of zero seconds is 1970", () => {
    const withTime = (...time: Buffer[]): unknown => {
      return decode("v1", "ConfigMap", delimited(1, delimited(8, Buffer.concat(time))))["metadata"];
    };
    expect(withTime()).toEqual({});
    expect(withTime(integer(1, 0), integer(2, 0))).toEqual({ creationTimestamp: "1970-01-01T00:00:00Z" });
    expect(withTime(integer(1, -62_135_596_800n))).toEqual({});
    expect(withTime(integer(1, 1_700_000_000), integer(2, 999_999_999))).toEqual({
      creationTimestamp: "2023-11-14T22:13:20Z",
    });
    expect(() => withTime(integer(1, 253_402_300_800n))).toThrow(/outside the years 1 to 9999/);
    expect(() => withTime(integer(1, -(2n ** 63n)))).toThrow(/outside the years 1 to 9999/);
  });
});

describe("values:", () => {
  test("micro times have six digits, even if the nanoseconds exceed a second", () => {
    const renewTime = (seconds: number, nanos: number): unknown => {
      const time = Buffer.concat([integer(1, seconds), integer(2, nanos)]);
      return (decode("coordination.k8s.io/v1", "Lease", delimited(2, delimited(4, time)))["spec"] as JsonObject)[
        "renewTime"
      ];
    };
    expect(renewTime(1_700_000_000, 0)).toBe("2023-11-14T22:13:20.000000Z");
    expect(renewTime(1_700_000_000, 123_456_789)).toBe("2023-11-14T22:13:20.123456Z");
    expect(renewTime(1_700_000_000, 1_500_000_000)).toBe("2023-11-14T22:13:21.500000Z");
    expect(renewTime(1_700_000_000, -500_000_000)).toBe("2023-11-14T22:13:19.500000Z");
  });

  test("64-bit integers are exact up to 2^53 and rounded beyond", () => {
    const generation = (value: bigint): unknown => {
      return (decode("v1", "ConfigMap", delimited(1, integer(7, value)))["metadata"] as JsonObject)["generation"];
    };
    expect(generation(9_007_199_254_740_991n)).toBe(9_007_199_254_740_991);
    expect(generation(-9_007_199_254_740_991n)).toBe(-9_007_199_254_740_991);
    expect(generation(2n ** 63n - 1n)).toBe(2 ** 63);
    expect(generation(-1n)).toBe(-1);
  });

  test("32-bit integers are truncated as in Go", () => {
    const value = (number: bigint): unknown =>
      decode("scheduling.k8s.io/v1", "PriorityClass", integer(2, number))["value"];
    expect(value(-5n)).toBe(-5);
    expect(value(2n ** 32n + 7n)).toBe(7);
  });

  test("repeated numbers may be packed, sent one by one, or both", () => {
    const packed = delimited(4, Buffer.concat([varint(1), varint(-2), varint(300)]));
    const groups = Buffer.concat([packed, integer(4, 5), delimited(4, Buffer.alloc(0))]);
    const pod = decode("v1", "Pod", delimited(2, delimited(14, groups)));
    expect(pod["spec"]).toMatchObject({ securityContext: { supplementalGroups: [1, -2, 300, 5] } });
  });

  test("bytes are base64, in fields and in maps", () => {
    const bytes = Buffer.from([0, 255, 1]);
    const secret = decode(
      "v1",
      "Secret",
      delimited(2, Buffer.concat([text(1, "a"), delimited(2, bytes)])),
      delimited(2, text(1, "b")),
    );
    expect(secret["data"]).toEqual({ a: "AP8B", b: "" });
  });

  test("a map may have any key, and the last value of a key is used", () => {
    const entry = (key: string, value: string): Buffer => delimited(2, Buffer.concat([text(2, value), text(1, key)]));
    const { data } = decode(
      "v1",
      "ConfigMap",
      entry("__proto__", "x"),
      entry("constructor", "y"),
      entry("a", "1"),
      entry("a", "2"),
    );
    expect(isJsonObject(data) && Object.entries(data)).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
      ["a", "2"],
    ]);
  });

  test("an int-or-string is decoded as an integer or a string, and any other type is rejected", () => {
    const port = (...fields: Buffer[]): JsonObject => {
      return decode("v1", "Service", delimited(2, delimited(1, delimited(4, Buffer.concat(fields)))));
    };
    expect(port(integer(1, 0), integer(2, 80))["spec"]).toMatchObject({ ports: [{ targetPort: 80 }] });
    expect(port(integer(1, 1), integer(2, 0), text(3, "http"))["spec"]).toMatchObject({
      ports: [{ targetPort: "http" }],
    });
    expect(port()["spec"]).toMatchObject({ ports: [{ targetPort: 0 }] });
    expect(() => port(integer(1, 2))).toThrow(/has type 2 instead of 0 or 1/);
  });

  test("raw JSON is decoded unchanged, and rejected if it is invalid", () => {
    const data = (raw: string): unknown => decode("apps/v1", "ControllerRevision", delimited(2, text(1, raw)))["data"];
    expect(data('{"a":[1,null]}')).toEqual({ a: [1, null] });
    expect(data("")).toBeNull();
    expect(() => data("{")).toThrow("raw bytes that are not JSON: unexpected end of JSON input");
    expect(() => data("k8s\0")).toThrow(ProtobufDecodeError);
  });

  test("numbers that JSON cannot represent are rejected", () => {
    const maximum = Buffer.alloc(9, 9 * 8 + 1);
    maximum.writeDoubleLE(Infinity, 1);
    const version = delimited(4, delimited(1, maximum));
    expect(() => decode(CRD.apiVersion, CRD.kind, delimited(2, delimited(7, version)))).toThrow(
      /that JSON cannot represent/,
    );
  });

  test("a CRD schema with JSONSchemaPropsOrBool and similar alternatives survives a round trip", () => {
    const openAPIV3Schema = {
      $ref: "",
      $schema: "s",
      type: "object",
      default: null,
      maximum: 1.5,
      items: [{ type: "string" }, { type: "integer" }],
      additionalItems: false,
      additionalProperties: { type: "string", "x-kubernetes-preserve-unknown-fields": false },
      dependencies: { a: ["b"], c: { type: "string" } },
      properties: { p: { items: { type: "string" }, additionalProperties: true, default: { d: [0] } } },
      "x-kubernetes-validations": [{ rule: "true" }],
    };
    const versions = [{ name: "v1", served: true, storage: false, schema: { openAPIV3Schema } }];
    const decoded = encodeAndDecode({ ...CRD, spec: { versions } });
    const { default: _null, ...shown } = openAPIV3Schema;
    expect(decoded["spec"]).toMatchObject({ versions: [{ ...versions[0], schema: { openAPIV3Schema: shown } }] });
  });

  test("a message that occurs twice is merged from both occurrences, also in nested messages", () => {
    const meta = (...fields: Buffer[]): Buffer => delimited(1, Buffer.concat(fields));
    const label = (key: string): Buffer => delimited(11, Buffer.concat([text(1, key), text(2, "")]));
    expect(
      decode("v1", "ConfigMap", meta(text(1, "a"), label("x")), meta(text(1, "b"), label("y")))["metadata"],
    ).toEqual({
      name: "b",
      labels: { x: "", y: "" },
    });
  });

  test("unknown fields of any wire type are skipped", () => {
    const unknown = Buffer.concat([
      integer(900, 1),
      text(901, "x"),
      varint(902 * 8 + 1),
      Buffer.alloc(8),
      varint(903 * 8 + 5),
      Buffer.alloc(4),
    ]);
    expect(decode("v1", "ConfigMap", unknown, delimited(1, text(1, "a")))["metadata"]).toEqual({ name: "a" });
    expect(decode("v1", "ConfigMap", varint(2 ** 32 - 8), varint(0))["metadata"]).toEqual({});
  });
});

describe("malicious bytes:", () => {
  const nested = (depth: number): Buffer => {
    let schema: Buffer = Buffer.alloc(0);
    for (let level = 0; level < depth; level++) schema = delimited(28, schema);
    return delimited(2, delimited(7, delimited(4, delimited(1, schema))));
  };

  test.each([
    ["a field that reaches beyond the end", Buffer.from("0a05", "hex"), /field 1 reaches beyond its end/],
    ["a length beyond any buffer", Buffer.from("0affffffff0f", "hex"), /field 1 reaches beyond its end/],
    ["a length beyond 32 bits", Buffer.from("0affffffffff01", "hex"), /length beyond 32 bits/],
    ["a truncated number", Buffer.from("80", "hex"), /ends inside a number/],
    ["a number of eleven bytes", Buffer.from(`0a${"ff".repeat(10)}01`, "hex"), /longer than 64 bits/],
    ["a number of 65 bits", Buffer.from(`0a${"ff".repeat(9)}02`, "hex"), /longer than 64 bits/],
    ["a tag beyond 32 bits", Buffer.from("8080808080800100", "hex"), /tag longer than 32 bits/],
    ["field number 0", Buffer.from("0200", "hex"), /number 0/],
    ["a group", Buffer.from("9b019c01", "hex"), /field 19 with wire type 3, which is not supported/],
    ["an unknown wire type", Buffer.from("9f01", "hex"), /wire type 7/],
    [
      "a known field of another wire type",
      Buffer.from("0801", "hex"),
      /ConfigMap has field 1 with wire type 0 instead of 2/,
    ],
  ])("%s is rejected", (_case, raw, message) => {
    const bytes = encodeEnvelope({ apiVersion: "v1", kind: "ConfigMap", raw });
    expect(() => decodeProtobufObject(bytes, tables)).toThrow(ProtobufDecodeError);
    expect(() => decodeProtobufObject(bytes, tables)).toThrow(message);
  });

  test("the packed numbers of a field cannot continue beyond the field", () => {
    const groups = delimited(2, delimited(14, Buffer.concat([delimited(4, Buffer.from([0x80])), integer(1, 1)])));
    expect(() => decode("v1", "Pod", groups)).toThrow(/PodSecurityContext is truncated: it ends inside a number/);
  });

  test("an object deeper than the limit of JSON bodies is rejected", () => {
    expect(() => decode(CRD.apiVersion, CRD.kind, nested(JSON_DEPTH_MAX - 10))).not.toThrow();
    expect(() => decode(CRD.apiVersion, CRD.kind, nested(JSON_DEPTH_MAX))).toThrow(/nests deeper than 500 levels/);
    expect(() => decode(CRD.apiVersion, CRD.kind, nested(5000))).toThrow(/nests deeper than 500 levels/);
    const raw = delimited(2, text(1, "[".repeat(JSON_DEPTH_MAX) + "]".repeat(JSON_DEPTH_MAX)));
    expect(() => decode("apps/v1", "ControllerRevision", raw)).toThrow(/nests deeper than 500 levels/);
  });

  test("a few bytes cannot expand to an unlimited object", () => {
    const items = Buffer.from("1200".repeat(MESSAGES_MAX), "hex");
    expect(() => decode("v1", "PodList", items)).toThrow(/more than 300000 messages/);
  });

  test("every prefix of a real body, and every body with a changed byte, is decoded or rejected", () => {
    const bodies = KUBECTL_BODIES.map(({ hex }) => Buffer.from(hex, "hex"));
    for (const body of bodies) {
      for (let length = 0; length < body.length; length++) decodedOrRejected(body.subarray(0, length));
    }
    const change = fc.tuple(fc.nat(bodies.length - 1), fc.nat(), fc.integer({ min: 0, max: 255 }));
    fc.assert(
      fc.property(change, ([index, at, value]) => {
        const body = Buffer.from(bodies[index]!);
        body[at % body.length] = value;
        decodedOrRejected(body);
      }),
      { numRuns: 2000, seed: 1 },
    );
  });
});

/** Fails unless the result is an object that JSON can represent, or a ProtobufDecodeError. */
function decodedOrRejected(bytes: Buffer): void {
  try {
    const object = decodeProtobufObject(bytes, tables);
    expect(JSON.parse(JSON.stringify(object))).toEqual(object);
  } catch (error) {
    if (!(error instanceof ProtobufDecodeError)) throw error;
  }
}
