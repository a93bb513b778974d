/** Converts JSON responses that no renderer created, such as a Status, to the media type that the client accepts. */
import { bytesBody, type ApiResponse } from "../../http/message.ts";
import { isJsonObject, stringAt } from "../../../meta/json.ts";
import { PROTOBUF_MEDIA_TYPE } from "../../../objects/protobuf/decode.ts";
import { envelopeHead, ProtobufEncoder } from "../../../objects/protobuf/encode.ts";
import type { ProtobufTables } from "../../../objects/protobuf/tables.ts";
import { toYaml } from "../../../objects/yaml/yaml.ts";
import type { Representation } from "./negotiate.ts";

export function inMedia(response: ApiResponse, { media, form, tables }: Representation): ApiResponse {
  if (media === "json" || response.body.kind !== "bytes" || response.status === 204) return response;
  if (response.headers["content-type"] !== "application/json") return response;
  // As kubernetes: a client that asked for metadata in protobuf receives errors in JSON.
  if (tables !== undefined && form !== "object" && response.status >= 400) return response;
  const value: unknown = JSON.parse(Buffer.concat(response.body.chunks).toString("utf8"));
  if (tables !== undefined) return protobufResponse(response, value, tables);
  return withBody(response, "application/yaml", [Buffer.from(toYaml(value))]);
}

function protobufResponse(response: ApiResponse, value: unknown, tables: ProtobufTables): ApiResponse {
  if (!isJsonObject(value)) return response;
  const type = { apiVersion: stringAt(value, "apiVersion"), kind: stringAt(value, "kind") };
  if (tables.messageFor(type.apiVersion, type.kind) === undefined) return response;
  const chunks = [envelopeHead(type), new ProtobufEncoder(tables).member(value, type)];
  return withBody(response, PROTOBUF_MEDIA_TYPE, chunks);
}

function withBody(response: ApiResponse, contentType: string, chunks: Buffer[]): ApiResponse {
  return {
    ...response,
    headers: { ...response.headers, "content-type": contentType },
    body: bytesBody(...chunks),
  };
}
