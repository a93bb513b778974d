import { describe, expect, test } from "vitest";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import type { ServerStorageVersion } from "./objects.ts";
import { WrittenEntries } from "./written-entries.ts";

const NAME = "apps.deployments";

function entries(apiServerID: string): readonly ServerStorageVersion[] {
  return [{ apiServerID, encodingVersion: "apps/v1", decodableVersions: ["apps/v1"], servedVersions: ["apps/v1"] }];
}

describe("entries that another server has changed", () => {
  test("are repeated at once, and then after waits that grow from 1 s", () => {
    const clock = createManualClock();
    const written = new WrittenEntries(clock);
    const waits: number[] = [];
    for (let revision = 1; revision <= 5; revision++) {
      written.put(NAME, revision, entries("a"));
      waits.push(written.waitMs(NAME, entries("a")));
      clock.advance(waits.at(-1)!);
    }
    expect(waits).toEqual([0, 1_000, 2_000, 4_000, 8_000]);
    expect(written.revision(NAME)).toBe(5);
  });

  test("are written at once if they differ from those that this server wrote last, or stayed for a minute", () => {
    const clock = createManualClock();
    const written = new WrittenEntries(clock);
    for (let revision = 1; revision <= 3; revision++) {
      written.put(NAME, revision, entries("a"));
      written.waitMs(NAME, entries("a"));
    }
    expect(written.waitMs(NAME, entries("b"))).toBe(0);
    written.put(NAME, 4, entries("b"));
    clock.advance(60_000);
    expect(written.waitMs(NAME, entries("b"))).toBe(0);
  });
});
