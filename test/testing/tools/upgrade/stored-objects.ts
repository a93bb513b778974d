/** Stored data in memory, made from objects, as a kube-apiserver would have written them. */
import type { JsonObject } from "../../../../src/meta/json.ts";
import { protobufTables } from "../../../../src/objects/catalog/protobuf-tables.ts";
import { envelopeHead, ProtobufEncoder } from "../../../../src/objects/protobuf/encode.ts";
import type { StoredData, StoredItem } from "../../../../src/tools/upgrade/stored-data.ts";

export type StoredValue = JsonObject | string | Buffer;

/** Keys below "/registry/"; an object is stored as JSON. Like a real reader, it uses one buffer for all values. */
export function storedData(values: Readonly<Record<string, StoredValue>>): StoredData & { walks: number } {
  const items = Object.entries(values).map(([key, value]): readonly [string, Buffer] => [
    `/registry/${key}`,
    Buffer.isBuffer(value) ? value : Buffer.from(typeof value === "string" ? value : JSON.stringify(value)),
  ]);
  return {
    walks: 0,
    source: "memory",
    revision: 7,
    warnings: [],
    async walk({ prefix, signal }, visit) {
      this.walks++;
      let [keys, bytes] = [0, 0];
      const shared = Buffer.alloc(Math.max(1, ...items.map(([, value]) => value.length)));
      for (const [key, value] of items) {
        await Promise.resolve();
        signal.throwIfAborted();
        if (!key.startsWith(prefix)) continue;
        keys++;
        bytes += key.length + value.length;
        shared.fill(0xff);
        value.copy(shared);
        const item: StoredItem = { key, value: shared.subarray(0, value.length), createRevision: 1, modRevision: 1 };
        visit(item);
      }
      return { keys, bytes };
    },
    close: async () => {},
  };
}

export function protobuf(object: JsonObject): Buffer {
  const { apiVersion, kind, ...rest } = object;
  const type = { apiVersion: String(apiVersion), kind: String(kind) };
  return Buffer.concat([envelopeHead(type), new ProtobufEncoder(protobufTables()).member(rest, type)]);
}
