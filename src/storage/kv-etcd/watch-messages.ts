/** The messages of etcd's Watch stream; messages.ts has the others. */
import type { KeyValue, KvEvent } from "../kv.ts";
import { encodeFrame } from "../grpc/frames.ts";
import { readHeader, readKeyValue } from "./messages.ts";
import { DecodeError, GrpcReader } from "../grpc/wire.ts";

const EVENT_PUT = 0;
const EVENT_DELETE = 1;

export interface WatchCreateMessage {
  /** Chosen by this client and greater than 0, because 0 lets etcd choose. */
  readonly watchId: number;
  readonly key: string;
  readonly rangeEnd: string;
  readonly startRevision: number;
}

export interface WatchResponse {
  readonly revision: number;
  readonly watchId: number;
  readonly isCreated: boolean;
  readonly isCanceled: boolean;
  /** Greater than 0 if the watch ended because its start revision was compacted. */
  readonly compactRevision: number;
  readonly cancelReason: string;
  /** True if the next response continues the events of this one. */
  readonly isFragment: boolean;
  readonly events: readonly KvEvent[];
}

/**
 * Encodes the creation of a watch. It requests fragments, because otherwise a single response could hold a thousand
 * revisions of any size.
 */
export function encodeWatchCreate(request: WatchCreateMessage): Buffer {
  return encodeFrame(2 * (request.key.length + request.rangeEnd.length) + 64, (writer) => {
    writer.message(1, (create) => {
      create.string(1, request.key);
      create.string(2, request.rangeEnd);
      create.int64(3, request.startRevision);
      create.bool(4, true);
      create.int64(7, request.watchId);
      create.bool(8, true);
    });
  });
}

export function encodeWatchCancel(watchId: number): Buffer {
  return encodeFrame(0, (writer) => writer.message(2, (cancel) => cancel.int64(1, watchId)));
}

export function decodeWatchResponse(message: Buffer): WatchResponse {
  const reader = new GrpcReader(message);
  const events: KvEvent[] = [];
  const response = { revision: 0, watchId: 0, compactRevision: 0, cancelReason: "" };
  const flags = { isCreated: false, isCanceled: false, isFragment: false };
  while (reader.next()) {
    if (reader.field === 11) events.push(readEvent(reader.message()));
    else if (reader.field === 1) response.revision = readHeader(reader.message()).revision;
    else if (reader.field === 2) response.watchId = reader.int64();
    else if (reader.field === 3) flags.isCreated = reader.bool();
    else if (reader.field === 4) flags.isCanceled = reader.bool();
    else if (reader.field === 5) response.compactRevision = reader.int64();
    else if (reader.field === 6) response.cancelReason = reader.string();
    else if (reader.field === 7) flags.isFragment = reader.bool();
    else reader.skip();
  }
  return { ...response, ...flags, events };
}

function readEvent(reader: GrpcReader): KvEvent {
  let type = EVENT_PUT;
  let item: KeyValue | undefined;
  while (reader.next()) {
    if (reader.field === 1) type = reader.int64();
    else if (reader.field === 2) item = readKeyValue(reader.message());
    else reader.skip();
  }
  if (item === undefined || item.modRevision < 1) throw new DecodeError("an event has no revision");
  if (type !== EVENT_PUT && type !== EVENT_DELETE) throw new DecodeError(`an event has the unknown type ${type}`);
  const { key, value, createRevision, modRevision } = item;
  if (type === EVENT_DELETE) return { kind: "delete", key, modRevision };
  return { kind: "put", key, value, createRevision, modRevision };
}
