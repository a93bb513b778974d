import { describe, expect, test } from "vitest";
import { protobufTables } from "../../../objects/catalog/protobuf-tables.ts";
import { negotiateRepresentation, type ResponseKind, type ProtobufOffer } from "./negotiate.ts";

const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io";
const TABLE_BETA = "application/json;as=Table;v=v1beta1;g=meta.k8s.io";
const PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
const PROTOBUF = "application/vnd.kubernetes.protobuf";

const POD = { group: "", version: "v1", kind: "Pod" };
const CUSTOM = { group: "example.com", version: "v1", kind: "Thing" };

function summary(accept: string | undefined, kind: ResponseKind, offer?: ProtobufOffer): string {
  const { media, form, metaVersion } = negotiateRepresentation(accept, kind, offer);
  return [media, form, metaVersion].filter((part) => part !== "").join(" ");
}

describe("negotiation without protobuf", () => {
  test.each<[what: string, accept: string | undefined, kind: ResponseKind, answer: string]>([
    ["no header", undefined, "object", "json object"],
    ["an empty header", "", "list", "json object"],
    ["anything", "*/*", "watch", "json object"],
    ["anything of application", "application/*", "list", "json object"],
    ["JSON with a charset", "application/json; charset=utf-8", "object", "json object"],
    ["capitals", "Application/JSON", "object", "json object"],
    ["kubectl get", `${TABLE},${TABLE_BETA},application/json`, "list", "json table meta.k8s.io/v1"],
    ["kubectl get NAME", `${TABLE},${TABLE_BETA},application/json`, "object", "json table meta.k8s.io/v1"],
    ["kubectl get -w", `${TABLE},${TABLE_BETA},application/json`, "watch", "json table meta.k8s.io/v1"],
    ["a Table of v1beta1", TABLE_BETA, "list", "json table meta.k8s.io/v1beta1"],
    ["a Table in YAML", TABLE.replace("json", "yaml"), "list", "yaml table meta.k8s.io/v1"],
    [
      "a Table in protobuf, then JSON",
      `${TABLE.replace("application/json", PROTOBUF)},${TABLE}`,
      "list",
      "json table meta.k8s.io/v1",
    ],
    [
      "the metadata client reading",
      `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${PARTIAL},application/json`,
      "object",
      "json partial meta.k8s.io/v1",
    ],
    [
      "the metadata client listing",
      `${PROTOBUF};as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,${PARTIAL_LIST},application/json`,
      "list",
      "json partial meta.k8s.io/v1",
    ],
    [
      "the metadata client watching",
      `${PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,${PARTIAL},application/json`,
      "watch",
      "json partial meta.k8s.io/v1",
    ],
    ["a typed client", `${PROTOBUF},application/json`, "object", "json object"],
    ["@kubernetes/client-node", "application/json, */*;q=0.8", "list", "json object"],
    ["curl", "*/*", "list", "json object"],
    ["a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "list", "json object"],
    ["YAML", "application/yaml", "object", "yaml object"],
    ["YAML rather than JSON", "application/json;q=0.5,application/yaml", "list", "yaml object"],
    ["YAML as a second choice", "application/json,application/yaml;q=0.9", "list", "json object"],
    ["YAML or JSON in a watch, which has no YAML", "application/yaml,application/json;q=0.1", "watch", "json object"],
    [
      "a Table of another group is skipped",
      "application/json;as=Table;v=v1;g=example.com,application/json",
      "list",
      "json object",
    ],
    [
      "a Table of another version is skipped",
      "application/json;as=Table;v=v2;g=meta.k8s.io,application/json",
      "list",
      "json object",
    ],
    [
      "PartialObjectMetadataList is skipped for one object",
      `${PARTIAL_LIST},application/json`,
      "object",
      "json object",
    ],
    ["PartialObjectMetadata is skipped for a list", `${PARTIAL},application/json`, "list", "json object"],
    ["a type with q=0 is skipped", "application/json;q=0,application/yaml", "object", "yaml object"],
  ])("selects the first Accept clause that can be satisfied: %s", (_what, accept, kind, response) => {
    expect(summary(accept, kind)).toBe(response);
  });
});

describe("negotiation with protobuf", () => {
  const PROTOBUF_PARTIAL = PARTIAL.replace("application/json", PROTOBUF);
  const PROTOBUF_PARTIAL_LIST = PARTIAL_LIST.replace("application/json", PROTOBUF);

  test.each<[what: string, accept: string, asked: ResponseKind | "custom", answer: string]>([
    ["a typed client", `${PROTOBUF},application/json`, "object", "protobuf object"],
    ["a typed client listing", `${PROTOBUF},application/json`, "list", "protobuf object"],
    ["a typed client watching", `${PROTOBUF},application/json`, "watch", "protobuf object"],
    ["watching with a stream parameter", `${PROTOBUF};stream=watch,application/json`, "watch", "protobuf object"],
    ["protobuf as a second choice", `application/json,${PROTOBUF};q=0.9`, "object", "json object"],
    ["protobuf as the better choice", `application/json;q=0.9,${PROTOBUF}`, "object", "protobuf object"],
    ["anything", "*/*", "object", "json object"],
    ["a custom kind", `${PROTOBUF},application/json`, "custom", "json object"],
    ["metadata of a custom kind", `${PROTOBUF_PARTIAL},${PARTIAL}`, "custom", "protobuf partial meta.k8s.io/v1"],
    ["metadata of a list", `${PROTOBUF_PARTIAL_LIST},${PARTIAL_LIST}`, "list", "protobuf partial meta.k8s.io/v1"],
    ["metadata of a watch", `${PROTOBUF_PARTIAL},${PARTIAL}`, "watch", "protobuf partial meta.k8s.io/v1"],
    [
      "metadata of v1beta1",
      `${PROTOBUF_PARTIAL.replace("=v1", "=v1beta1")},${PARTIAL}`,
      "watch",
      "json partial meta.k8s.io/v1",
    ],
    ["a Table", `${TABLE.replace("application/json", PROTOBUF)},${TABLE}`, "list", "json table meta.k8s.io/v1"],
  ])("selects protobuf only for kinds that have a protobuf message: %s", (_what, accept, asked, response) => {
    const endpoint = asked === "custom" ? CUSTOM : POD;
    const kind = asked === "custom" ? "object" : asked;
    expect(summary(accept, kind, { endpoint, tables: protobufTables })).toBe(response);
  });

  test.each([
    [PROTOBUF, CUSTOM],
    [TABLE.replace("application/json", PROTOBUF), POD],
  ])("rejects the Accept header %s for %j", (accept, endpoint) => {
    expect(() => negotiateRepresentation(accept, "object", { endpoint, tables: protobufTables })).toThrow(
      expect.objectContaining({ reason: "NotAcceptable" }),
    );
  });

  test("does not load the protobuf tables if the client does not accept or does not prefer protobuf", () => {
    const tables = (): never => expect.unreachable();
    for (const accept of [
      undefined,
      "application/json",
      `application/json,${PROTOBUF}`,
      `${TABLE},application/json`,
      "*/*",
    ])
      expect(negotiateRepresentation(accept, "list", { endpoint: POD, tables }).media).toBe("json");
  });
});

describe("negotiation returns 406 if no Accept clause can be satisfied:", () => {
  const ONLY =
    "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";

  test.each<[accept: string, kind: ResponseKind, message: string]>([
    ["application/json;as=Bogus;v=v1;g=meta.k8s.io", "object", ONLY],
    ["application/json;as=Table;v=v1", "list", ONLY],
    [PARTIAL, "list", ONLY],
    [PARTIAL_LIST, "watch", ONLY],
    [PROTOBUF, "object", ONLY],
    ["application/yaml", "watch", ONLY],
    [
      "application/xml",
      "object",
      "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    ],
    [
      ",,;;,",
      "object",
      "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf",
    ],
  ])("%j for a response of type %s", (accept, kind, message) => {
    expect(() => negotiateRepresentation(accept, kind)).toThrow(
      expect.objectContaining({ reason: "NotAcceptable", message }),
    );
  });
});
