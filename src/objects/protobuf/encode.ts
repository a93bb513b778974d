/**
 * Encodes objects as Kubernetes' protobuf. All fields of an object are written, in the order of their field numbers.
 *
 * DIFFERS: Go writes the zero of every field that is not a pointer, also if the object does not have the field.
 * Decoders set the same zero for absent fields, so it is omitted here: size and time depend only on the fields that the
 * object has.
 */
import type { JsonObject } from "../../meta/json.ts";
import { MAGIC } from "./decode.ts";
import { MessageEncoder } from "./message-encoder.ts";
import type { ProtobufTables } from "./tables.ts";
import { WireWriter } from "./wire-writer.ts";

export interface TypeMeta {
  readonly apiVersion: string;
  readonly kind: string;
}

/** The field number of the envelope's `raw`, the `items` of every list and the object of a watch event. */
const MEMBER = 2;
const FRAME_LENGTH_BYTES = 4;

export class ProtobufEncoder {
  readonly #tables: ProtobufTables;
  readonly #messages: MessageEncoder;

  constructor(tables: ProtobufTables) {
    this.#tables = tables;
    this.#messages = new MessageEncoder(tables);
  }

  /** The object after its length, as in an envelope and in a list. */
  member(object: JsonObject, type: TypeMeta): Buffer {
    return this.#messages.encodeField(MEMBER, object, this.#messageFor(type));
  }

  /** The part of a list before its items, which have this many bytes. */
  listHead(metadata: JsonObject, type: TypeMeta, itemsBytes: number): Buffer {
    const own = this.#messages.encode({ metadata }, this.#messageFor(type));
    const writer = new WireWriter();
    writer.bytes(own);
    writer.head(MEMBER, own.length + itemsBytes);
    writer.bytes(envelopeHead(type));
    return writer.take();
  }

  #messageFor({ apiVersion, kind }: TypeMeta): string {
    const name = this.#tables.messageFor(apiVersion, kind);
    if (name === undefined) throw new Error(`no protobuf message is known for the kind ${kind} of ${apiVersion}`);
    return name;
  }
}

/** The part of an object before its message. */
export function envelopeHead({ apiVersion, kind }: TypeMeta): Buffer {
  const writer = new WireWriter();
  writer.text(2, kind);
  writer.text(1, apiVersion);
  writer.delimit(1, 0);
  writer.bytes(MAGIC);
  return writer.take();
}

/** One watch event after its length. Only the object in it contains its type. */
export function encodeWatchEvent(type: string, object: readonly Buffer[]): Buffer {
  const objectBytes = object.reduce((sum, { length }) => sum + length, 0);
  const writer = new WireWriter();
  writer.head(1, objectBytes);
  writer.head(MEMBER, objectBytes + writer.size);
  writer.text(1, type);
  const head = writer.take();
  const length = Buffer.alloc(FRAME_LENGTH_BYTES);
  length.writeUInt32BE(head.length + objectBytes);
  return Buffer.concat([length, head, ...object]);
}
