import { describe, expect, test } from "vitest";
import { encodeStartingRecord, startingId, startingKey, startingRecordKind } from "./starting-record.ts";

const RUN = { id: "apiserver-a", incarnation: "run-1", release: "1.36" };
const { idOf, decode } = startingRecordKind("/registry/");

describe("a starting record", () => {
  test("is stored under the server ID and its run", () => {
    expect(startingKey("/registry/", RUN)).toBe("/registry/evenkeel/starting/apiserver-a/run-1");
    expect(idOf(startingKey("/registry/", RUN))).toBe(startingId(RUN));
    expect(decode(startingId(RUN), encodeStartingRecord(RUN))).toEqual(RUN);
  });

  test.each(["evenkeel/starting/a", "evenkeel/starting/a/b/c", "evenkeel/served/a/b"])(
    "is not stored under %s",
    (rest) => {
      expect(idOf(`/registry/${rest}`)).toBeUndefined();
    },
  );

  test.each<[string, unknown]>([
    ["is not an object", 1],
    ["is of another kind", { ...encodeStartingRecord(RUN), kind: "Endpoints" }],
    ["names another run", encodeStartingRecord({ ...RUN, incarnation: "run-2" })],
    ["has no valid release", encodeStartingRecord({ ...RUN, release: "new" })],
  ])("that %s is invalid", (_name, stored) => {
    expect(decode(startingId(RUN), stored)).toBeUndefined();
  });
});
