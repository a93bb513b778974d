import { describe, expect, test } from "vitest";
import { protobufTables } from "../../../objects/catalog/protobuf-tables.ts";
import { bytesBody, type ApiResponse } from "../../http/message.ts";
import { errorResponse, jsonResponse, successStatus } from "../../http/respond.ts";
import { notFound } from "../../../meta/status-error.ts";
import { decodeProtobufObject } from "../../../objects/protobuf/decode.ts";
import { inMedia } from "./media.ts";
import type { Representation } from "./negotiate.ts";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const tables = protobufTables();
const protobuf: Representation = { media: "protobuf", form: "object", metaVersion: "", tables };
const partial: Representation = { media: "protobuf", form: "partial", metaVersion: "meta.k8s.io/v1", tables };
const rejection = errorResponse(notFound({ group: "", resource: "pods" }, "a"));
const success = jsonResponse(200, successStatus({ name: "a", kind: "pods" }));

function bytes({ body }: ApiResponse): Buffer {
  return body.kind === "bytes" ? Buffer.concat(body.chunks) : expect.unreachable();
}

describe("a JSON response that no renderer created", () => {
  test("is unchanged for a client that accepts JSON", () => {
    expect(inMedia(rejection, { media: "json", form: "object", metaVersion: "" })).toBe(rejection);
  });

  test("is converted to YAML for a client that accepts YAML", () => {
    const response = inMedia(success, { media: "yaml", form: "object", metaVersion: "" });
    expect(response.headers["content-type"]).toBe("application/yaml");
    expect(bytes(response).toString()).toContain("status: Success\n");
  });

  test.each([
    ["an error", rejection, protobuf],
    ["a success", success, protobuf],
    ["a success for a request for metadata", success, partial],
  ])("is converted to protobuf for a client that accepts protobuf: %s", (_what, response, representation) => {
    const answer = inMedia(response, representation);
    expect(answer.status).toBe(response.status);
    expect(answer.headers).toMatchObject({ "content-type": PROTOBUF, "cache-control": "no-cache, private" });
    expect(decodeProtobufObject(bytes(answer), tables)).toEqual(JSON.parse(bytes(response).toString()));
  });

  test("stays JSON if it is an error and the client asked for metadata in protobuf", () => {
    expect(inMedia(rejection, partial)).toBe(rejection);
  });

  test.each<[what: string, response: ApiResponse]>([
    ["has a kind without a protobuf message", jsonResponse(200, { kind: "Thing", apiVersion: "example.com/v1" })],
    ["is not an object", jsonResponse(200, [])],
    ["is a stream", { status: 200, headers: {}, body: { kind: "stream", open: () => undefined } }],
    ["is not JSON", { status: 200, headers: { "content-type": PROTOBUF }, body: bytesBody(Buffer.alloc(1)) }],
  ])("is unchanged for a client that accepts protobuf if it %s", (_what, response) => {
    expect(inMedia(response, protobuf)).toBe(response);
  });
});
