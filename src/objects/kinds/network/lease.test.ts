import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  prepared,
  createErrorsOf,
  updateErrorsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { LEASE, LEASE_CANDIDATE } from "./lease.ts";

describe("a Lease", () => {
  test("needs a positive duration and a non-negative number of transitions", () => {
    expect(createErrorsOf(LEASE, { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } })).toEqual([
      "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
      "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]);
    expect(createErrorsOf(LEASE, {})).toEqual([]);
  });

  test("drops its strategy and preferred holder, unless the stored Lease has these fields", () => {
    const coordinated = { spec: { holderIdentity: "a", strategy: "X", preferredHolder: "b" } };
    expect(prepared(LEASE, coordinated)).toEqual({ spec: { holderIdentity: "a" } });
    const existing = { spec: { strategy: "OldestEmulationVersion" } };
    const next: JsonObject = { ...coordinated };
    LEASE.prepareUpdate!(next, existing, CONTEXT);
    expect(next).toEqual({ spec: { holderIdentity: "a", strategy: "X" } });
    expect([...LEASE.updateErrors!(next, existing, CONTEXT)]).toMatchObject([
      {
        field: "spec.strategy.strategy",
        message: 'Unsupported value: "X": supported values: "OldestEmulationVersion"',
      },
    ]);
  });
});

describe("a LeaseCandidate", () => {
  const SPEC = {
    leaseName: "l",
    binaryVersion: "1.2.0",
    emulationVersion: "1.1.0",
    strategy: "OldestEmulationVersion",
  };

  test.each<[JsonObject, string[]]>([
    [{}, []],
    [{ leaseName: "" }, ["spec.leaseName: Required value"]],
    [
      { emulationVersion: "1.3.0" },
      ['spec.binaryVersion: Invalid value: "1.2.0": must be greater than or equal to `emulationVersion`'],
    ],
    [
      { binaryVersion: "1.2" },
      [
        'spec.binaryVersion: Invalid value: "1.2": must be a valid semantic version',
        'spec.binaryVersion: Invalid value: "1.2": must be greater than or equal to `emulationVersion`',
      ],
    ],
    [
      { emulationVersion: "" },
      ["spec.emulationVersion: Required value: must be specified when `strategy` is 'OldestEmulationVersion'"],
    ],
    [{ strategy: "" }, ["spec.strategy: Required value"]],
    [{ strategy: "a.io/x" }, []],
  ])("with %j has the expected errors", (change, expected) => {
    expect(createErrorsOf(LEASE_CANDIDATE, { spec: { ...SPEC, ...change } })).toEqual(expected);
  });

  test("cannot change its lease name", () => {
    expect(updateErrorsOf(LEASE_CANDIDATE, { spec: SPEC }, { spec: { ...SPEC, leaseName: "m" } })).toEqual([
      'spec.leaseName: Invalid value: "m": field is immutable',
    ]);
  });
});
