import { describe, expect, test } from "vitest";
import { UnreadableVersions } from "./unreadable-versions.ts";

const READABLE = "a/v1";
const UNREADABLE = "a/v2";

interface Scene {
  readonly versions: UnreadableVersions;
  /** The reasons with which writes were rejected, and undefined for each time they were accepted again. */
  readonly rejections: (string | undefined)[];
}

function scene(): Scene {
  const rejections: (string | undefined)[] = [];
  const versions = new UnreadableVersions({
    prefix: "/r/things/",
    decodable: [READABLE],
    reader: "release 1.30",
    reject: (reason) => rejections.push(reason),
  });
  return { versions, rejections };
}

function stored(name: string, apiVersion: string): { key: string; apiVersion: string; corrupt: string | undefined } {
  return { key: `/r/things/${name}`, apiVersion, corrupt: apiVersion === "" ? "junk" : undefined };
}

function because(names: string): string {
  return `release 1.30 cannot read a/v2, in which ${names} are stored`;
}

describe("writes of a resource", () => {
  test("are rejected from the first unreadable object on, and accepted when the last one is gone or rewritten", () => {
    const { versions, rejections } = scene();
    versions.put(stored("a", READABLE));
    versions.put(stored("a", UNREADABLE));
    versions.put(stored("b", UNREADABLE));
    versions.remove("/r/things/a");
    expect([rejections, versions.count]).toEqual([[because("a")], 1]);
    versions.put(stored("b", READABLE));
    expect([rejections, versions.count]).toEqual([[because("a"), undefined], 0]);
  });

  test("are not rejected because of values that have no version, which are corrupt", () => {
    const { versions, rejections } = scene();
    versions.reset([stored("a", "")]);
    versions.put(stored("b", ""));
    expect([rejections, versions.count]).toEqual([[], 0]);
    versions.put(stored("b", UNREADABLE));
    versions.put(stored("b", ""));
    expect(rejections).toEqual([because("b"), undefined]);
  });

  test("are accepted or rejected by the new objects when all objects are loaded again", () => {
    const { versions, rejections } = scene();
    versions.reset([stored("a", UNREADABLE), stored("b", READABLE)]);
    versions.reset([stored("a", UNREADABLE)]);
    versions.reset([stored("b", READABLE)]);
    expect(rejections).toEqual([because("a"), undefined]);
  });

  test("get a new reason only on refresh, so that many unreadable objects do not slow down each change", () => {
    const { versions, rejections } = scene();
    for (const name of ["a", "b", "c", "d", "e", "f", "g"]) versions.put(stored(name, UNREADABLE));
    expect(rejections).toEqual([because("a")]);
    versions.refreshReason();
    versions.refreshReason();
    expect(rejections).toEqual([because("a"), because("a, b, c, d, e and 2 more")]);
  });
});
