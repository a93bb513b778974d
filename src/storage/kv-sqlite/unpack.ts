/**
 * Converts the pages that the worker sends to the types of the storage port. Values are slices of the page's buffer,
 * not copies.
 */
import type { KeyValue, KvEvent } from "../kv.ts";
import type { PackedRows, WireKeyValue } from "./protocol.ts";

export function unpackItems(rows: PackedRows): KeyValue[] {
  return unpack(rows, (row) => row as KeyValue);
}

export function unpackEvents(rows: PackedRows): KvEvent[] {
  return unpack(rows, ({ key, value, createRevision, modRevision }): KvEvent =>
    value === undefined
      ? { kind: "delete", key, modRevision }
      : { kind: "put", key, value, createRevision, modRevision },
  );
}

export function toKeyValue(wire: WireKeyValue): KeyValue {
  const { buffer, byteOffset, byteLength } = wire.value;
  return {
    key: wire.key,
    value: Buffer.from(buffer, byteOffset, byteLength),
    createRevision: wire.createRevision,
    modRevision: wire.modRevision,
  };
}

interface Row {
  readonly key: string;
  /** Undefined for a deletion; the rows of a range contain no deletions. */
  readonly value: Buffer | undefined;
  readonly createRevision: number;
  readonly modRevision: number;
}

function unpack<T>(rows: PackedRows, convert: (row: Row) => T): T[] {
  let offset = 0;
  return rows.keys.map((key, index) => {
    const length = rows.lengths[index]!;
    const value = length < 0 ? undefined : Buffer.from(rows.values, offset, length);
    offset += Math.max(0, length);
    return convert({
      key,
      value,
      createRevision: rows.createRevisions[index]!,
      modRevision: rows.modRevisions[index]!,
    });
  });
}
