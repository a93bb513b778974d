/** Decodes the events of a watch from the bytes of its stream: one JSON object per line. */
import { isJsonObject, type JsonObject } from "../meta/json.ts";
import { EVENT_BYTES_MAX } from "./client-limits.ts";
import type { WatchEvent } from "./objects.ts";
import { statusError } from "./status.ts";
import { concatBytes, TransportError, type SharedEvent } from "./transport.ts";

const NEWLINE = 0x0a;
const UTF8 = new TextDecoder();

/**
 * Returns at the end of the stream; throws a StatusError for an ERROR event, and a TransportError for an invalid event.
 * Drops a last line without a newline, because it is incomplete: the server sends the event again to the resumed watch.
 * Yields events that are already values unchanged.
 */
export async function* decodeWatch<T>(
  body: AsyncIterable<Uint8Array | SharedEvent>,
  eventBytesMax = EVENT_BYTES_MAX,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) {
      yield chunk as WatchEvent<T>;
      continue;
    }
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const rest = chunk.subarray(from, end);
      from = end + 1;
      const line = parts.length === 0 ? rest : concatBytes([...parts, rest], length + rest.length);
      parts = [];
      length = 0;
      rejectLong(line.length, eventBytesMax);
      if (line.length > 0) yield toEvent<T>(line);
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    length += chunk.length - from;
    rejectLong(length, eventBytesMax);
  }
}

function rejectLong(length: number, bytesMax: number): void {
  if (length > bytesMax) throw new TransportError("malformed", `a watch event is longer than ${bytesMax} bytes`);
}

function toEvent<T>(line: Uint8Array): WatchEvent<T> {
  const event = parseEvent(line);
  const { type, object } = event;
  if (!isJsonObject(object)) throw new TransportError("malformed", "a watch event has no object");
  switch (type) {
    case "ERROR":
      throw statusError(object, 500);
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
    case "BOOKMARK":
      return event as unknown as WatchEvent<T>;
    default:
      throw new TransportError("malformed", "a watch event has an unknown type");
  }
}

function parseEvent(line: Uint8Array): JsonObject {
  let event: unknown;
  try {
    event = JSON.parse(UTF8.decode(line));
  } catch (thrown) {
    throw new TransportError("malformed", "a watch event is not JSON", { cause: thrown });
  }
  if (!isJsonObject(event)) throw new TransportError("malformed", "a watch event is not an object");
  return event;
}
