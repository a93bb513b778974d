/**
 * Turns objects into Kubernetes' protobuf. Everything an object says is written, in the order of the fields' numbers.
 *
 * DIFFERS: Go writes the zero of every field that is not a pointer, also where the object says nothing. Readers put the
 * same zero where nothing comes, so it is left out: an object's bytes and the time to make them go with what it says.
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

/** The envelope's `raw`, the `items` of every list and the object of a watch event have the same number. */
const MEMBER = 2;
const FRAME_LENGTH_BYTES = 4;

export class ProtobufEncoder {
  readonly #tables: ProtobufTables;
  readonly #messages: MessageEncoder;

  constructor(tables: ProtobufTables) {
    this.#tables = tables;
    this.#messages = new MessageEncoder(tables);
  }

  /** The object behind its length, as both an envelope and a list carry it. */
  member(object: JsonObject, type: TypeMeta): Buffer {
    return this.#messages.encodeField(MEMBER, object, this.#messageFor(type));
  }

  /** Everything of a list before its items, which have that many bytes. */
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
    if (name === undefined) throw new Error(`no protobuf message holds the kind ${kind} of ${apiVersion}`);
    return name;
  }
}

/** Everything of an object before its member. */
export function envelopeHead({ apiVersion, kind }: TypeMeta): Buffer {
  const writer = new WireWriter();
  writer.text(2, kind);
  writer.text(1, apiVersion);
  writer.delimit(1, 0);
  writer.bytes(MAGIC);
  return writer.take();
}

/** One event of a watch behind its length. Only the object in it says what it is. */
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
