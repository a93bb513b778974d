import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import type { JsonObject } from "../../meta/json.ts";
import {
  encodeEndpointRecord,
  endpointRecordKind,
  type EndpointRecord,
  type EndpointTable,
} from "./endpoint-record.ts";
import { RecordTable } from "./record-table.ts";

const ROOT = "/registry/";

function record(id: string, more: Partial<EndpointRecord> = {}): EndpointRecord {
  return {
    id,
    address: { host: "192.0.2.1", port: 6443 },
    generation: 1,
    state: "serving",
    release: "1.36",
    compatibilityVersion: "1.36",
    binaryVersion: "0.3.0",
    incarnation: "one",
    document: "etag-1",
    hasPublishedStorageVersions: true,
    publishedAddress: undefined,
    ...more,
  };
}

function stored(id: string, more: Partial<EndpointRecord> = {}): [string, JsonObject] {
  return [`/registry/peerserverleases/${id}`, encodeEndpointRecord(record(id, more))];
}

describe("a table of records", () => {
  function setUp(): { table: EndpointTable; news: () => number } {
    const table = new RecordTable(endpointRecordKind(ROOT), SILENT_LOG);
    let count = 0;
    table.onChange(() => count++);
    return { table, news: () => count };
  }

  test("holds the records of the store by server ID", () => {
    const { table } = setUp();
    table.upsert(...stored("b"));
    table.upsert(...stored("a"));
    expect(table.all().map(({ id }) => id)).toEqual(["a", "b"]);
    table.upsert(...stored("a", { address: { host: "192.0.2.9", port: 1 } }));
    expect(table.get("a")?.address).toEqual({ host: "192.0.2.9", port: 1 });
    table.remove("/registry/peerserverleases/a");
    expect(table.get("a")).toBeUndefined();
    table.reset([stored("c")]);
    expect(table.all()).toEqual([record("c")]);
  });

  test("reports a change of the content, but not of the generation alone", () => {
    const { table, news } = setUp();
    table.reset([stored("a")]);
    expect([news(), table.isLoaded]).toEqual([1, true]);
    table.upsert(...stored("a", { generation: 2 }));
    table.reset([stored("a", { generation: 3 })]);
    table.remove("/registry/peerserverleases/nobody");
    table.remove("/registry/pods/a");
    expect(news()).toBe(1);
    expect(table.get("a")?.generation).toBe(3);
    table.upsert(...stored("a", { state: "draining" }));
    table.upsert(...stored("a", { document: "etag-2" }));
    expect(news()).toBe(3);
    table.reset([]);
    expect(news()).toBe(4);
  });

  test("keeps an invalid record without its address, so that its ID is still known", () => {
    const { table, news } = setUp();
    table.upsert(...stored("a"));
    table.upsert("/registry/peerserverleases/a", { kind: "Endpoints" });
    table.upsert("/registry/peerserverleases/a", null);
    expect(table.get("a")).toBeUndefined();
    expect(table.all()).toEqual([]);
    expect(table.has("a")).toBe(true);
    expect(table.has("b")).toBe(false);
    expect(news()).toBe(2);
  });

  test("ignores keys that belong to no server, and records beyond the limit", () => {
    const { table } = setUp();
    table.upsert("/registry/pods/a", stored("a")[1]);
    table.upsert("/registry/peerserverleases/", stored("a")[1]);
    expect(table.all()).toEqual([]);
    table.reset(Array.from({ length: 1_100 }, (_, index) => stored(`s${index}`)));
    expect(table.all()).toHaveLength(1_000);
  });

  test("calls every listener, even if one throws", () => {
    const { table } = setUp();
    table.onChange(() => {
      throw new Error("no");
    });
    let reported = 0;
    const leave = table.onChange(() => reported++);
    table.upsert(...stored("a"));
    leave();
    table.upsert(...stored("b"));
    expect(reported).toBe(1);
  });
});
