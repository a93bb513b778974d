import { describe, expect, test } from "vitest";
import { compareVersions, versionOf } from "./semantic-version.ts";

describe("versions", () => {
  test("are ordered by precedence", () => {
    const ordered = ["0.9.9", "1.0.0-1", "1.0.0-2", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.10.0"];
    for (const [index, version] of ordered.entries())
      for (const [at, other] of ordered.entries())
        expect(Math.sign(compareVersions(versionOf(version), versionOf(other)))).toBe(Math.sign(index - at));
  });

  test.each(["", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-01", "1.2.3-", "1.2.3+"])("%s is not a version", (text) => {
    expect(versionOf(text)).toBeUndefined();
  });
});
