import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  alphaMigrationErrors,
  alphaMigrationStatusErrors,
  alphaMigrationUpdateErrors,
} from "./migration-rules-alpha.ts";

const TIME = "2030-01-01T00:00:00Z";

test("a new v1alpha1 migration must name a resource and a version", () => {
  expect(alphaMigrationErrors(migration({ version: "v1", resource: "pods" }))).toEqual([]);
  expect(sentences(alphaMigrationErrors({}))).toEqual([
    "spec.resource.resource: Required value: resource is required",
    "spec.resource.version: Required value: version is required",
  ]);
});

test("an update of a v1alpha1 migration can change the continue token, but not the resource", () => {
  const existing = migration({ group: "apps", version: "v1", resource: "deployments" });
  const spec = { ...(existing["spec"] as JsonObject), continueToken: "t" };
  expect(alphaMigrationUpdateErrors({ spec }, existing)).toEqual([]);
  expect(
    sentences(alphaMigrationUpdateErrors(migration({ group: "g", version: "v2", resource: "r" }), existing)),
  ).toEqual([
    'group: Invalid value: "g": field is immutable',
    'version: Invalid value: "v2": field is immutable',
    'resource: Invalid value: "r": field is immutable',
  ]);
});

describe("the status of a v1alpha1 migration", () => {
  const RUNNING = condition("Running");
  const SUCCEEDED = condition("Succeeded");
  const FAILED = condition("Failed");
  const NOT_RUNNING = condition("Running", "False");

  test("may change from running to succeeded or failed and keep that condition", () => {
    expect(statusErrors({ conditions: [RUNNING] }, {})).toEqual([]);
    for (const end of [SUCCEEDED, FAILED]) {
      expect(statusErrors({ conditions: [NOT_RUNNING, end] }, { conditions: [RUNNING] })).toEqual([]);
      expect(statusErrors({ conditions: [end] }, { conditions: [NOT_RUNNING, end] })).toEqual([]);
    }
  });

  test.each([
    ["123", []],
    ["0", []],
    ["007", []],
    ["9223372036854775807", []],
    ["abc", ['"abc": failed to parse resource version "abc": strconv.ParseInt: parsing "abc": invalid syntax']],
    [
      "9223372036854775808",
      [
        '"9223372036854775808": failed to parse resource version "9223372036854775808": strconv.ParseInt: parsing "9223372036854775808": value out of range',
      ],
    ],
    ["-5", ["-5: must be greater than or equal to 0"]],
    ["-9223372036854775808", ["-9223372036854775808: must be greater than or equal to 0"]],
  ])("with the resource version %s has the errors %j", (resourceVersion, errors) => {
    expect(statusErrors({ resourceVersion }, {})).toEqual(
      errors.map((error) => `status.resourceVersion: Invalid value: ${error}`),
    );
  });

  test.each<[string, JsonObject, JsonObject, string]>([
    [
      "cannot change its resource version",
      { resourceVersion: "1" },
      { resourceVersion: "2" },
      'status.resourceVersion: Invalid value: "2": field is immutable',
    ],
    [
      "cannot be running and succeeded",
      {},
      { conditions: [RUNNING, SUCCEEDED] },
      `status.conditions: Invalid value: [${shown("Running")},${shown("Succeeded")}]: Running condition cannot be true when success condition is true`,
    ],
    [
      "cannot be running and failed",
      {},
      { conditions: [RUNNING, FAILED] },
      `status.conditions: Invalid value: [${shown("Running")},${shown("Failed")}]: Running condition cannot be true when failed condition is true`,
    ],
    [
      "cannot be both succeeded and failed",
      {},
      { conditions: [SUCCEEDED, FAILED] },
      `status.conditions: Invalid value: [${shown("Succeeded")},${shown("Failed")}]: Both success and failed conditions cannot be true at the same time`,
    ],
    [
      "cannot revert its success",
      { conditions: [SUCCEEDED] },
      {},
      "status.conditions: Invalid value: null: Success condition cannot be set to false once it is true",
    ],
    [
      "cannot revert its failure",
      { conditions: [FAILED] },
      { conditions: [] },
      "status.conditions: Invalid value: []: Failed condition cannot be set to false once it is true",
    ],
    [
      "needs the time of its conditions",
      {},
      { conditions: [{ type: "Running", status: "True", reason: "Because" }] },
      "status.conditions[0].lastTransitionTime: Required value",
    ],
  ])("%s", (_what, before, status, error) => {
    expect(statusErrors(status, before)).toEqual([error]);
  });
});

function migration(resource: JsonObject): JsonObject {
  return { spec: { resource } };
}

function condition(type: string, status = "True"): JsonObject {
  return { type, status, lastUpdateTime: TIME, reason: "Because" };
}

function shown(type: string): string {
  return `{"Type":"${type}","Status":"True","LastUpdateTime":"${TIME}","Reason":"Because","Message":""}`;
}

function statusErrors(status: JsonObject, before: JsonObject): string[] {
  return sentences(alphaMigrationStatusErrors({ status }, { status: before }));
}

function sentences(errors: ReturnType<typeof alphaMigrationErrors>): string[] {
  return errors.map(({ field, message }) => `${field}: ${message}`);
}
