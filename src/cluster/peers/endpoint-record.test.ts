import { describe, expect, test } from "vitest";
import {
  decodeEndpointRecord,
  encodeEndpointRecord,
  endpointKey,
  endpointRecordKind,
  type EndpointRecord,
} from "./endpoint-record.ts";

const RECORD: EndpointRecord = {
  id: "apiserver-a",
  address: { host: "192.0.2.1", port: 6443 },
  generation: 7,
  state: "draining",
  release: "1.36",
  compatibilityVersion: "1.35",
  binaryVersion: "0.3.0",
  incarnation: "uuid",
  document: '"etag"',
  hasPublishedStorageVersions: true,
  publishedAddress: undefined,
};

/** A record as kube-apiserver writes it. */
const FOREIGN = {
  kind: "Endpoints",
  apiVersion: "v1",
  metadata: { generation: 3, labels: { apiserverIdentity: "apiserver-a" } },
  subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "https", port: 6443, protocol: "TCP" }] }],
};

describe("the endpoint record", () => {
  test("has the format that kube-apiserver writes, and Evenkeel's properties in annotations", () => {
    expect(encodeEndpointRecord(RECORD)).toEqual({
      ...FOREIGN,
      metadata: {
        generation: 7,
        labels: { apiserverIdentity: "apiserver-a" },
        annotations: {
          "evenkeel.io/state": "draining",
          "evenkeel.io/release": "1.36",
          "evenkeel.io/compatibility-version": "1.35",
          "evenkeel.io/binary-version": "0.3.0",
          "evenkeel.io/incarnation": "uuid",
          "evenkeel.io/document": '"etag"',
          "evenkeel.io/storage-versions": "published",
        },
      },
    });
  });

  test("is decoded as it was encoded", () => {
    expect(decodeEndpointRecord("apiserver-a", JSON.parse(JSON.stringify(encodeEndpointRecord(RECORD))))).toEqual(
      RECORD,
    );
  });

  test("of a kube-apiserver has only an address", () => {
    expect(decodeEndpointRecord("apiserver-a", FOREIGN)).toEqual({
      id: "apiserver-a",
      address: { host: "192.0.2.1", port: 6443 },
      generation: 3,
      state: "serving",
      release: undefined,
      compatibilityVersion: undefined,
      binaryVersion: undefined,
      incarnation: undefined,
      document: undefined,
      hasPublishedStorageVersions: false,
    });
  });

  test("is stored under the server's ID", () => {
    expect(endpointKey("/registry/", "apiserver-a")).toBe("/registry/peerserverleases/apiserver-a");
    expect(endpointRecordKind("/registry/").idOf("/registry/peerserverleases/apiserver-a")).toBe("apiserver-a");
    for (const rest of ["peerserverleases/", "peerserverleases/a/b", "pods/a", `peerserverleases/${"a".repeat(300)}`])
      expect(endpointRecordKind("/registry/").idOf(`/registry/${rest}`)).toBeUndefined();
  });
});

describe("an invalid value", () => {
  const subset = (ip: unknown, port: unknown): object => ({
    ...FOREIGN,
    subsets: [{ addresses: [{ ip }], ports: [{ port }] }],
  });

  test.each([
    ["nothing", undefined],
    ["null", null],
    ["a text", "Endpoints"],
    ["a list", [FOREIGN]],
    ["another kind", { ...FOREIGN, kind: "Pod" }],
    ["no label", { ...FOREIGN, metadata: {} }],
    ["another server's label", { ...FOREIGN, metadata: { labels: { apiserverIdentity: "apiserver-b" } } }],
    ["no subsets", { ...FOREIGN, subsets: undefined }],
    ["empty subsets", { ...FOREIGN, subsets: [] }],
    ["subsets of nonsense", { ...FOREIGN, subsets: [null, 1, "x"] }],
    ["no addresses", { ...FOREIGN, subsets: [{ ports: [{ port: 1 }] }] }],
    ["a host name", subset("localhost", 1)],
    ["an empty address", subset("", 1)],
    ["the unspecified address", subset("0.0.0.0", 1)],
    ["an address with a zone", subset("fe80::1%eth0", 1)],
    ["port 0", subset("192.0.2.1", 0)],
    ["port 65536", subset("192.0.2.1", 65_536)],
    ["a port that is a text", subset("192.0.2.1", "1")],
    ["half a port", subset("192.0.2.1", 1.5)],
  ])("(%s) is not decoded", (_what, stored) => {
    expect(decodeEndpointRecord("apiserver-a", stored)).toBeUndefined();
  });

  test('of an annotation (too long, not printable, not a string) is dropped, and an unknown state is read as "serving"', () => {
    const annotations = {
      "evenkeel.io/release": "x".repeat(257),
      "evenkeel.io/incarnation": "a\nb",
      "evenkeel.io/document": 5,
      "evenkeel.io/binary-version": "",
      "evenkeel.io/state": "confused",
    };
    const metadata = { labels: { apiserverIdentity: "apiserver-a" }, generation: -1, annotations };
    expect(decodeEndpointRecord("apiserver-a", { ...FOREIGN, metadata })).toMatchObject({
      generation: 0,
      state: "serving",
      release: undefined,
      incarnation: undefined,
      document: undefined,
      hasPublishedStorageVersions: false,
      binaryVersion: undefined,
    });
  });
});
