/**
 * Decodes Kubernetes' protobuf to the object that Go's JSON encoder would have written for the same value. Fields that
 * protobuf always contains are omitted where Go's JSON omits them, and fields that protobuf omits are present where
 * Go's JSON has them. Values that protobuf cannot distinguish are decoded as in Go: an empty list or map of a field
 * that is always serialized is null.
 */
import type { JsonObject } from "../../meta/json.ts";
import { decodeMessage } from "./message-decoder.ts";
import type { ProtobufTables } from "./tables.ts";
import { MessageReader, ProtobufDecodeError } from "./wire-reader.ts";

export { ProtobufDecodeError } from "./wire-reader.ts";
export type { ProtobufTables } from "./tables.ts";

interface ProtobufEnvelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The bytes of the object's message, a view of the given bytes. The message contains neither kind nor apiVersion. */
  readonly raw: Buffer;
  readonly contentType: string;
  readonly contentEncoding: string;
}

export const PROTOBUF_MEDIA_TYPE = "application/vnd.kubernetes.protobuf";

export const MAGIC = Buffer.from("k8s\0", "latin1");

export function isProtobufEnvelope(bytes: Buffer): boolean {
  return bytes.length >= MAGIC.length && bytes.compare(MAGIC, 0, MAGIC.length, 0, MAGIC.length) === 0;
}

export function decodeEnvelope(bytes: Buffer): ProtobufEnvelope {
  if (!isProtobufEnvelope(bytes))
    throw new ProtobufDecodeError("the protobuf body does not begin with its four magic bytes");
  const reader = new MessageReader(bytes, MAGIC.length, bytes.length, "runtime.Unknown");
  const raw: Buffer = bytes.subarray(0, 0);
  const envelope = { apiVersion: "", kind: "", raw, contentType: "", contentEncoding: "" };
  while (reader.next()) {
    if (reader.field === 1) Object.assign(envelope, decodeTypeMeta(reader.bytes()));
    else if (reader.field === 2) envelope.raw = reader.bytes();
    else if (reader.field === 3) envelope.contentEncoding = reader.string();
    else if (reader.field === 4) envelope.contentType = reader.string();
    else reader.skip();
  }
  return envelope;
}

function decodeTypeMeta(bytes: Buffer): { apiVersion?: string; kind?: string } {
  const reader = new MessageReader(bytes, 0, bytes.length, "runtime.TypeMeta");
  const typeMeta: { apiVersion?: string; kind?: string } = {};
  while (reader.next()) {
    if (reader.field === 1) typeMeta.apiVersion = reader.string();
    else if (reader.field === 2) typeMeta.kind = reader.string();
    else reader.skip();
  }
  return typeMeta;
}

/** Decodes the object as JSON has it: with kind, apiVersion, metadata, … */
export function decodeProtobufObject(bytes: Buffer, tables: ProtobufTables): JsonObject {
  const { apiVersion, kind, raw, contentType, contentEncoding } = decodeEnvelope(bytes);
  if (contentEncoding !== "") {
    throw new ProtobufDecodeError(
      `the protobuf object has the content encoding ${quote(contentEncoding)}, which is not supported`,
    );
  }
  if (contentType !== "" && contentType !== PROTOBUF_MEDIA_TYPE) {
    throw new ProtobufDecodeError(`the protobuf envelope contains ${quote(contentType)} instead of protobuf`);
  }
  if (apiVersion === "" || kind === "")
    throw new ProtobufDecodeError("the protobuf object has no apiVersion or no kind");
  const name = tables.messageFor(apiVersion, kind);
  if (name === undefined) {
    throw new ProtobufDecodeError(`no protobuf message is known for the kind ${quote(kind)} of ${quote(apiVersion)}`);
  }
  return { kind, apiVersion, ...decodeMessage(raw, name, tables) };
}

/** Quotes text that a client sent, truncated for a message. */
function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
