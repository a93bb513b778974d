import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { migrationErrors, migrationStatusErrors, migrationUpdateErrors } from "./migration-rules.ts";

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const TIME = "2030-01-01T00:00:00Z";

describe("a new migration", () => {
  test.each<[string, JsonObject, readonly unknown[]]>([
    ["is accepted with a resource and its group", { group: "apps", resource: "deployments" }, []],
    ["is accepted without a group", { resource: "secrets" }, []],
    [
      "must name a resource",
      { group: "apps" },
      [
        {
          field: "spec.resource.resource",
          reason: "FieldValueRequired",
          message: "Required value: resource is required to be set",
        },
      ],
    ],
    ["needs a valid resource name", { resource: "." }, [invalid("spec.resource.resource", `".": ${LABEL_1035}`)]],
    [
      "needs a valid group name",
      { resource: "pods", group: "-" },
      [invalid("spec.resource.group", `"-": ${SUBDOMAIN}`)],
    ],
    [
      "limits the length of the resource name",
      { resource: "A".repeat(64) },
      [invalid("spec.resource.resource", `"${"A".repeat(64)}": must be no more than 63 characters,${LABEL_1035}`)],
    ],
  ])("%s", (_what, resource, errors) => {
    expect(migrationErrors({ spec: { resource } })).toEqual(errors);
  });
});

describe("an update of a migration", () => {
  const existing = { metadata: { name: "m" }, spec: { resource: { resource: "pods" } } };

  test("is accepted if it changes only metadata, or sets an absent group to the empty string", () => {
    expect(migrationUpdateErrors(existing, existing)).toEqual([]);
    expect(migrationUpdateErrors({ ...existing, metadata: { name: "m", labels: { a: "b" } } }, existing)).toEqual([]);
    expect(migrationUpdateErrors({ spec: { resource: { resource: "pods", group: "" } } }, existing)).toEqual([]);
  });

  test("of the spec is rejected", () => {
    expect(migrationUpdateErrors({ spec: { resource: { resource: "secrets" } } }, existing)).toEqual([
      invalid("spec", '{"Resource":{"group":"","resource":"secrets"}}: field is immutable'),
    ]);
  });

  test("to an invalid spec reports both the invalid field and the immutable spec", () => {
    expect(migrationUpdateErrors({ spec: {} }, existing).map(({ field }) => field)).toEqual([
      "spec.resource.resource",
      "spec",
    ]);
  });
});

describe("the status of a migration", () => {
  const RUNNING = condition("Running");
  const SUCCEEDED = condition("Succeeded");
  const FAILED = condition("Failed");
  const NOT_RUNNING = condition("Running", "False");

  test.each<[string, JsonObject, JsonObject]>([
    ["may set its resource version", {}, { resourceVersion: "123" }],
    ["may be running without a resource version", {}, { conditions: [RUNNING] }],
    ["may change from running to succeeded", { conditions: [RUNNING] }, { conditions: [NOT_RUNNING, SUCCEEDED] }],
    ["may change from running to failed", { conditions: [RUNNING] }, { conditions: [NOT_RUNNING, FAILED] }],
    ["may be running and succeeded", { conditions: [RUNNING] }, { conditions: [RUNNING, SUCCEEDED] }],
    ["may stay succeeded", { conditions: [SUCCEEDED] }, { conditions: [SUCCEEDED, NOT_RUNNING] }],
    ["may stay failed", { conditions: [FAILED] }, { conditions: [FAILED] }],
  ])("%s", (_what, before, status) => {
    expect(migrationStatusErrors({ status }, { status: before })).toEqual([]);
  });

  test.each<[string, JsonObject, JsonObject, readonly unknown[]]>([
    [
      "cannot change its resource version",
      { resourceVersion: "123" },
      { resourceVersion: "456" },
      [invalid("status.resourceVersion", '"456": field is immutable')],
    ],
    [
      "cannot remove its resource version",
      { resourceVersion: "123" },
      {},
      [invalid("status.resourceVersion", '"": field is immutable')],
    ],
    ...["abc", "0", "01", "-1", "+1", "1.0"].map((version): [string, JsonObject, JsonObject, readonly unknown[]] => [
      `may not have the resource version ${version}`,
      {},
      { resourceVersion: version },
      [invalid("status.resourceVersion", `"${version}": resource version is not well formed: ${version}`)],
    ]),
    [
      "cannot be both succeeded and failed",
      {},
      { conditions: [SUCCEEDED, FAILED] },
      [
        inConditions(
          `[${shown("Succeeded", "True")},${shown("Failed", "True")}]`,
          "Both success and failed conditions cannot be true at the same time",
        ),
      ],
    ],
    [
      "cannot revert its success",
      { conditions: [SUCCEEDED] },
      { conditions: [condition("Succeeded", "False")] },
      [inConditions(`[${shown("Succeeded", "False")}]`, "Success condition cannot be set to false once it is true")],
    ],
    [
      "cannot remove its success",
      { conditions: [SUCCEEDED] },
      {},
      [inConditions("null", "Success condition cannot be set to false once it is true")],
    ],
    [
      "cannot revert its failure",
      { conditions: [FAILED] },
      { conditions: [condition("Failed", "False")] },
      [inConditions(`[${shown("Failed", "False")}]`, "Failed condition cannot be set to false once it is true")],
    ],
  ])("%s", (_what, before, status, errors) => {
    expect(migrationStatusErrors({ status }, { status: before })).toEqual(errors);
  });

  test("is shown with times in UTC in errors", () => {
    const odd = {
      ...SUCCEEDED,
      status: "False",
      lastTransitionTime: "2030-01-01T02:00:00.5+02:00",
      observedGeneration: 3,
    };
    expect(migrationStatusErrors({ status: { conditions: [odd] } }, { status: { conditions: [SUCCEEDED] } })).toEqual([
      inConditions(
        `[{"type":"Succeeded","status":"False","observedGeneration":3,"lastTransitionTime":"${TIME}","reason":"Because","message":""}]`,
        "Success condition cannot be set to false once it is true",
      ),
    ]);
  });

  test("needs valid conditions, as in every kind", () => {
    const bad = {
      type: "a b",
      status: "Perhaps",
      observedGeneration: -1,
      lastTransitionTime: null,
      reason: "no reason",
    };
    const status = { conditions: [RUNNING, RUNNING, bad, condition("A", "True", { reason: "" })] };
    expect(migrationStatusErrors({ status }, {}).map(({ field, message }) => `${field}: ${message}`)).toEqual([
      'status.conditions[1].type: Duplicate value: "Running"',
      "status.conditions[2].type: Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
      'status.conditions[2].status: Unsupported value: "Perhaps": supported values: "False", "True", "Unknown"',
      "status.conditions[2].observedGeneration: Invalid value: -1: must be greater than or equal to zero",
      "status.conditions[2].lastTransitionTime: Required value",
      "status.conditions[2].reason: Invalid value: \"no reason\": a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
      "status.conditions[3].reason: Required value",
    ]);
    const long = condition("A", "True", { reason: "a".repeat(1025), message: "a".repeat(32 * 1024 + 1) });
    expect(migrationStatusErrors({ status: { conditions: [long] } }, {})).toEqual([
      {
        field: "status.conditions[0].reason",
        reason: "FieldValueTooLong",
        message: "Too long: may not be more than 1024 bytes",
      },
      {
        field: "status.conditions[0].message",
        reason: "FieldValueTooLong",
        message: "Too long: may not be more than 32768 bytes",
      },
    ]);
  });
});

function condition(type: string, status = "True", more: JsonObject = {}): JsonObject {
  return { type, status, lastTransitionTime: TIME, reason: "Because", ...more };
}

function shown(type: string, status: string): string {
  return `{"type":"${type}","status":"${status}","lastTransitionTime":"${TIME}","reason":"Because","message":""}`;
}

function invalid(field: string, rest: string): object {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${rest}` };
}

function inConditions(conditions: string, sentence: string): object {
  return invalid("status.conditions", `${conditions}: ${sentence}`);
}
