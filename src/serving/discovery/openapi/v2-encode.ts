/** Encodes OpenAPI 2 documents in JSON and protobuf, in several turns of the event loop. */
import type { JsonObject } from "../../../meta/json.ts";
import { withHash, type EncodedOpenApi } from "./documents.ts";
import { createProtobufEncoder } from "./v2-protobuf.ts";
import { EntryTable, type V2Entry, type V2Source } from "./v2-source.ts";

/** Runs the callback in the next turn of the event loop. */
export type RunInNextTurn = (callback: () => void) => void;

export interface V2Encoder {
  add(entry: V2Entry): void;
  finish(head: JsonObject): Buffer;
}

/** Entries that are built and encoded in one turn. An entry takes about 50 microseconds. */
const ENTRIES_PER_TURN = 64;

export function encodeV2Json(source: V2Source, nextTurn: RunInNextTurn | undefined): Promise<EncodedOpenApi> {
  return encode(source, createJsonEncoder(), nextTurn);
}

export function encodeV2Protobuf(source: V2Source, nextTurn: RunInNextTurn | undefined): Promise<EncodedOpenApi> {
  return encode(source, createProtobufEncoder(), nextTurn);
}

async function encode(
  source: V2Source,
  encoder: V2Encoder,
  nextTurn: RunInNextTurn | undefined,
): Promise<EncodedOpenApi> {
  let count = 0;
  for (const entry of source.entries()) {
    encoder.add(entry);
    if (nextTurn !== undefined && ++count % ENTRIES_PER_TURN === 0) await new Promise<void>(nextTurn);
  }
  return withHash(encoder.finish(source.head));
}

function createJsonEncoder(): V2Encoder {
  const table = new EntryTable<string>();
  return {
    add: (entry) => table.add(entry, `${JSON.stringify(entry.name)}:${JSON.stringify(entry.value)}`),
    finish(head) {
      const members = Object.entries(head).map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`);
      for (const section of ["paths", "definitions", "parameters"] as const) {
        const entries = table.of(section).map(([, text]) => text);
        members.push(`${JSON.stringify(section)}:{${entries.join(",")}}`);
      }
      return Buffer.from(`{${members.join(",")}}`);
    },
  };
}
