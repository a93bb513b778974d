/**
 * Turns Kubernetes' protobuf into the object that Go's JSON encoder would have written for the same
 * value. Fields that writers always send are left out where Go's JSON leaves them out, and those a
 * writer left out are there where Go's JSON has them. What protobuf cannot tell apart comes out as Go
 * reads it: an empty list or map of a field that is always shown is null.
 *
 * DIFFERS: null is left out where the field is omitempty (zero times); Go's JSON says null there.
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
  /** The object's own message, a view of the given bytes. It says neither kind nor apiVersion. */
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

/** The object as JSON would have said it: kind, apiVersion, metadata, … */
export function decodeProtobufObject(bytes: Buffer, tables: ProtobufTables): JsonObject {
  const { apiVersion, kind, raw, contentType, contentEncoding } = decodeEnvelope(bytes);
  if (contentEncoding !== "") {
    throw new ProtobufDecodeError(
      `the protobuf object has the content encoding ${quote(contentEncoding)}, which is not supported`,
    );
  }
  if (contentType !== "" && contentType !== PROTOBUF_MEDIA_TYPE) {
    throw new ProtobufDecodeError(`the protobuf envelope holds ${quote(contentType)} instead of protobuf`);
  }
  if (apiVersion === "" || kind === "")
    throw new ProtobufDecodeError("the protobuf object does not say its apiVersion and kind");
  const name = tables.messageFor(apiVersion, kind);
  if (name === undefined) {
    throw new ProtobufDecodeError(`the kind ${quote(kind)} of ${quote(apiVersion)} is not known as a protobuf message`);
  }
  return { kind, apiVersion, ...decodeMessage(raw, name, tables) };
}

/** What a client sent, short enough for a message. */
function quote(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
