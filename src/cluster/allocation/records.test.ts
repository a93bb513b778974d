import { describe, expect, test } from "vitest";
import { createEntry } from "../../storage/watch-cache/entry.ts";
import { storedProtobufDecoder } from "../../serving/registry/stored-protobuf.ts";
import { protobufTables } from "../../objects/catalog/protobuf-tables.ts";
import { Bitmap } from "./bitmap.ts";
import { createReleaseGates } from "../../objects/release-gates.ts";
import { createRecordsInUse, numberRecordsOf, type NumberRecords } from "./number-records.ts";
import { decodeRangeAllocation, encodeRangeAllocation } from "./range-allocation.ts";

function recordsOf(releases: readonly (string | undefined)[]): NumberRecords {
  return numberRecordsOf(releases.map((release) => (release === undefined ? undefined : createReleaseGates(release))));
}

describe("a bitmap", () => {
  test("is a big-endian integer without leading zeros", () => {
    expect(Bitmap.of([0]).encode().toString("hex")).toBe("01");
    expect(Bitmap.of([8, 0]).encode().toString("hex")).toBe("0101");
    expect(Bitmap.of([8]).without([8]).encode().length).toBe(0);
    expect([...Bitmap.decode(Buffer.from("8001", "hex")).indexes()]).toEqual([0, 15]);
  });

  test("keeps the original when numbers are added or removed", () => {
    const before = Bitmap.of([3]);
    expect([before.with([100]).has(100), before.without([3]).has(3), before.has(3), before.has(100)]).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(before.without([1_000]).equals(before)).toBe(true);
  });
});

test("a RangeAllocation has the protobuf encoding of kube-apiserver, which the cache decodes", () => {
  const value = encodeRangeAllocation({ range: "10.0.0.0/24", allocated: Bitmap.of([0, 9]) });
  expect(value.toString("latin1")).toBe(
    "k8s\0\n\x15\n\x02v1\x12\x0fRangeAllocation\x12\x13\n\0\x12\x0b10.0.0.0/24\x1a\x02\x02\x01\x1a\0\x22\0",
  );
  const entry = createEntry(
    { key: "/registry/ranges/serviceips", value, modRevision: 5, createRevision: 5 },
    { decodeForeign: storedProtobufDecoder(protobufTables) },
  );
  const decoded = decodeRangeAllocation(entry);
  expect([decoded?.range, [...(decoded?.allocated.indexes() ?? [])]]).toEqual(["10.0.0.0/24", [0, 9]]);
});

describe("the records of cluster IPs", () => {
  test.each([
    { releases: ["1.30", "1.32"], usesBitmap: true, usesAddresses: false, bitmapDecides: true },
    { releases: ["1.32", "1.33"], usesBitmap: true, usesAddresses: true, bitmapDecides: true },
    { releases: ["1.33", "1.36"], usesBitmap: true, usesAddresses: true, bitmapDecides: false },
    { releases: ["1.34", "1.36"], usesBitmap: false, usesAddresses: true, bitmapDecides: false },
    { releases: ["1.36", undefined], usesBitmap: true, usesAddresses: true, bitmapDecides: true },
  ])("of servers of $releases", ({ releases, ...expected }) => {
    expect(recordsOf(releases)).toEqual(expected);
  });

  test("are decided by the bitmap until a repair has run after the last server without IPAddress objects left", () => {
    let releases = ["1.33", "1.32"];
    const records = createRecordsInUse(() => recordsOf(releases));
    records.repairing()();
    releases = ["1.33"];
    expect([records.current().bitmapDecides, records.isRepairDue()]).toEqual([true, true]);
    const repaired = records.repairing();
    expect(records.current().bitmapDecides).toBe(true);
    repaired();
    expect([records.current().bitmapDecides, records.isRepairDue()]).toEqual([false, false]);
  });

  test("of a repair that began before the servers changed do not count", () => {
    let releases = ["1.33", "1.32"];
    const records = createRecordsInUse(() => recordsOf(releases));
    const repaired = records.repairing();
    releases = ["1.33"];
    repaired();
    expect(records.current().bitmapDecides).toBe(true);
  });
});
