import { describe, expect, test } from "vitest";
import type { ReleaseName } from "./release.ts";
import { effectiveVersion, type EmulationOptions } from "./effective-version.ts";
import { OptionError } from "../../base/option-error.ts";

describe("effectiveVersion", () => {
  const CASES: readonly [binary: ReleaseName, options: EmulationOptions, release: string, oldest: string][] = [
    ["1.36", {}, "1.36", "1.35"],
    ["1.28", {}, "1.28", "1.27"],
    ["1.36", { emulatedVersion: ["1.36"] }, "1.36", "1.35"],
    ["1.36", { emulatedVersion: ["1.35"] }, "1.35", "1.34"],
    ["1.36", { emulatedVersion: ["kube=1.34"] }, "1.34", "1.33"],
    ["1.36", { emulatedVersion: [" kube = v1.34.0 "] }, "1.34", "1.33"],
    ["1.36", { emulatedVersion: ["1.33"] }, "1.33", "1.33"],
    ["1.33", { emulatedVersion: ["1.31"] }, "1.31", "1.31"],
    ["1.32", { emulatedVersion: ["1.31"] }, "1.31", "1.31"],
    ["1.31", { emulatedVersion: ["1.30"] }, "1.30", "1.30"],
    ["1.36", { minCompatibilityVersion: ["1.36"] }, "1.36", "1.36"],
    ["1.36", { minCompatibilityVersion: ["1.33"] }, "1.36", "1.33"],
    ["1.37", { emulatedVersion: ["1.36"], minCompatibilityVersion: ["kube=1.34"] }, "1.36", "1.34"],
  ];

  test.each(CASES)(
    "of a server of release %s with %j: it behaves as %s, and %s must be able to decode its objects",
    (binary, options, release, minCompatibility) => {
      expect(effectiveVersion(binary, options)).toMatchObject({ binary, release, minCompatibility });
    },
  );

  test("has no emulation without options, and holds the options of an emulation", () => {
    expect(effectiveVersion("1.36", {}).emulation).toBeUndefined();
    const options = { emulatedVersion: ["1.35"], emulationForwardCompatible: true };
    expect(effectiveVersion("1.36", options).emulation).toEqual({
      binary: "1.36",
      minCompatibility: "1.34",
      isForwardCompatible: true,
      isRuntimeConfigForwardCompatible: false,
    });
  });
});

describe("effectiveVersion rejects, with kube-apiserver's message,", () => {
  const FORWARD = "cannot be set to true if the emulation version is the same as the binary version";
  const CASES: readonly [binary: ReleaseName, options: EmulationOptions, message: string][] = [
    ["1.36", { emulatedVersion: ["1.37"] }, "emulation version 1.37 is not between [1.33, 1.36]"],
    ["1.36", { emulatedVersion: ["1.32"] }, "emulation version 1.32 is not between [1.33, 1.36]"],
    ["1.33", { emulatedVersion: ["1.30"] }, "emulation version 1.30 is not between [1.31, 1.33]"],
    ["1.32", { emulatedVersion: ["1.30"] }, "emulation version 1.30 is not between [1.31, 1.32]"],
    [
      "1.36",
      { emulatedVersion: ["1.35"], minCompatibilityVersion: ["1.36"] },
      "minCompatibilityVersion version 1.36 is not between [1.33, 1.35]",
    ],
    ["1.36", { minCompatibilityVersion: ["1.32"] }, "minCompatibilityVersion version 1.32 is not between [1.33, 1.36]"],
    ["1.36", { emulatedVersion: ["1.35.1"] }, "patch version not allowed, got: kube=1.35.1"],
    ["1.36", { emulatedVersion: ["1.35", "kube=1.34"] }, "duplicate version flag, kube=1.35 and kube=1.34"],
    ["1.36", { emulatedVersion: ["1.35,1.35"] }, "duplicate version flag, kube=1.35 and kube=1.35"],
    ["1.36", { emulatedVersion: ["wardle=1.2"] }, "component not registered: wardle"],
    ["1.36", { emulatedVersion: ["latest"] }, 'could not parse "latest" as version'],
    ["1.36", { emulatedVersion: ["1"] }, 'illegal version string "1"'],
    ["1.36", { emulatedVersion: ["2.0"] }, "unknown release 2.0"],
    ["1.36", { emulationForwardCompatible: true }, `ServerRunOptions.EmulationForwardCompatible ${FORWARD}`],
    [
      "1.36",
      { emulatedVersion: ["1.36"], runtimeConfigEmulationForwardCompatible: true },
      `ServerRunOptions.RuntimeConfigEmulationForwardCompatible ${FORWARD}`,
    ],
    ["1.30", { emulatedVersion: ["1.30"] }, "release 1.30 has no flag --emulated-version: it was added in 1.31"],
    [
      "1.34",
      { minCompatibilityVersion: ["1.33"] },
      "release 1.34 has no flag --min-compatibility-version: it was added in 1.35",
    ],
    [
      "1.32",
      { emulatedVersion: ["1.31"], emulationForwardCompatible: true },
      "release 1.32 has no flag --emulation-forward-compatible: it was added in 1.33",
    ],
  ];

  test.each(CASES)("release %s with %j: %s", (binary, options, message) => {
    expect(() => effectiveVersion(binary, options)).toThrow(new OptionError(message));
  });
});
