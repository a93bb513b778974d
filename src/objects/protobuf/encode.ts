/**
 * Encodes objects as Kubernetes' protobuf. All fields of an object are written, in the order of their field numbers.
 *
 * DIFFERS: Go writes the zero of every field that is not a pointer, even if the object does not have the field.
 * Decoders set the same zero for absent fields, so zeros are omitted here, and size and time depend only on the fields
 * that the object has.
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

/** The field number of `raw` in an envelope, of `items` in every list, and of the object in a watch event. */
const MEMBER = 2;
const FRAME_LENGTH_BYTES = 4;

export class ProtobufEncoder {
  readonly #tables: ProtobufTables;
  readonly #messages: MessageEncoder;

  constructor(tables: ProtobufTables) {
    this.#tables = tables;
    this.#messages = new MessageEncoder(tables);
  }

  /** The object as a length-delimited field, as in an envelope and in a list. */
  member(object: JsonObject, type: TypeMeta): Buffer {
    return this.#messages.encodeField(MEMBER, object, this.#messageFor(type));
  }

  /** The part of a list before its items. `itemsBytes`: the size of all encoded items. */
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

/** The part of an envelope before the message of the object. */
export function envelopeHead({ apiVersion, kind }: TypeMeta): Buffer {
  const writer = new WireWriter();
  writer.text(2, kind);
  writer.text(1, apiVersion);
  writer.delimit(1, 0);
  writer.bytes(MAGIC);
  return writer.take();
}

/** One watch event, preceded by its length. Only the object inside has an envelope with its type. */
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
