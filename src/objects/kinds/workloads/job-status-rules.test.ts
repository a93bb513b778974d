import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { jobStatusErrors } from "./job-status-rules.ts";
import { gatesOf } from "../../catalog/release-gates.ts";
import type { ReleaseName } from "../../catalog/release.ts";
import { CONTEXT, sentences } from "../../../../test/testing/objects/kinds/workloads/objects.ts";

const START = "2030-01-01T00:00:00Z";
const END = "2030-01-01T00:01:00Z";

function conditions(...types: string[]): JsonObject[] {
  return types.map((type) => ({ type, status: "True" }));
}

const DONE = { startTime: START, completionTime: END, conditions: conditions("SuccessCriteriaMet", "Complete") };

function changed(
  before: JsonObject,
  status: JsonObject,
  spec: JsonObject = {},
  release: ReleaseName = "1.36",
): string[] {
  return sentences(
    jobStatusErrors({ spec, status }, { spec, status: before }, { ...CONTEXT, gates: gatesOf(release) }),
  );
}

describe("a finished Job", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted with a completion time", DONE, []],
    [
      "needs a completion time",
      { startTime: START, conditions: conditions("SuccessCriteriaMet", "Complete") },
      ["status.completionTime: Required value: completionTime is required for Complete jobs"],
    ],
    [
      "rejects a completion before its start, and active pods",
      { ...DONE, startTime: END, completionTime: START, active: 1, terminating: 2 },
      [
        `status.completionTime: Invalid value: "${START}": must be equal to or after \`startTime\``,
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
        "status.terminating: Invalid value: 2: terminating>0 is invalid for finished job",
      ],
    ],
    [
      "needs FailureTarget for Failed",
      { startTime: START, conditions: conditions("Failed") },
      ["status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition"],
    ],
    [
      "cannot be both Complete and Failed",
      { ...DONE, conditions: conditions("Complete", "Failed", "FailureTarget") },
      [
        "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
        "status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions",
        "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
      ],
    ],
    [
      "rejects uncounted terminated pods",
      { ...DONE, uncountedTerminatedPods: { succeeded: ["a"] } },
      [
        'status.uncountedTerminatedPods: Invalid value: {"Succeeded":["a"],"Failed":null}: must be empty for finished job',
      ],
    ],
  ])("%s", (_what, status, errors) => {
    expect(changed({ startTime: START }, { ...status })).toEqual(
      status["startTime"] === END ? [...errors, START_IS_FIXED] : errors,
    );
  });

  const START_IS_FIXED = `status.startTime: Invalid value: "${END}": field is immutable for unsuspended job once set`;
});

describe("an update of a Job status", () => {
  test("cannot remove the terminal condition or decrease counts", () => {
    expect(changed({ ...DONE, failed: 2, succeeded: 1 }, { startTime: START, failed: 1 })).toEqual([
      "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
      "status.failed: Invalid value: 1: cannot decrease the failed counter",
      "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
      "status.conditions: Invalid value: cannot disable the SuccessCriteriaMet=True condition",
    ]);
  });

  test("cannot remove the start time of an unsuspended Job", () => {
    expect(changed({ startTime: START }, {}, {}, "1.35")).toEqual([
      "status.startTime: Required value: startTime cannot be removed for unsuspended job",
    ]);
    expect(changed({ startTime: START }, {}, { suspend: true })).toEqual([]);
  });

  test("may keep invalid values that are already stored", () => {
    const odd = { conditions: conditions("Failed"), startTime: START, active: 1 };
    expect(changed(odd, { ...odd, failed: 1 })).toEqual([]);
  });
});

describe("the indexes of a Job status", () => {
  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ["are accepted if they are valid", { completionMode: "Indexed", completions: 3 }, { completedIndexes: "0,2" }, []],
    [
      "are rejected if the Job is not indexed",
      { completions: 3 },
      { completedIndexes: "0", failedIndexes: "1" },
      [
        'status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode',
        'status.failedIndexes: Invalid value: "1": cannot set non-null failedIndexes when backoffLimitPerIndex is null',
      ],
    ],
    [
      "cannot be both completed and failed",
      { completionMode: "Indexed", completions: 3, backoffLimitPerIndex: 1 },
      { completedIndexes: "0-1", failedIndexes: "1" },
      ['status.failedIndexes: Invalid value: "1": failedIndexes and completedIndexes overlap at index: 1'],
    ],
    [
      "are rejected beyond the last index",
      { completionMode: "Indexed", completions: 3 },
      { completedIndexes: "3" },
      ['status.completedIndexes: Invalid value: "3": error parsing completedIndexes: too large index: "3"'],
    ],
  ])("%s", (_what, spec, status, errors) => {
    expect(changed({}, status, spec)).toEqual(errors);
  });
});

test("the status of a Job must list terminated pods once, and count ready pods as active", () => {
  const uncountedTerminatedPods = { succeeded: ["a", ""], failed: ["a"] };
  expect(changed({}, { ready: 1, uncountedTerminatedPods })).toEqual([
    'status.uncountedTerminatedPods.succeeded[1]: Invalid value: "": must not be empty',
    'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
    "status.ready: Invalid value: 1: cannot set more ready pods than active",
  ]);
});
