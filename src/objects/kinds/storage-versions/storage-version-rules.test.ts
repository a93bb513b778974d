import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { storageVersionErrors, storageVersionNameErrors, storageVersionStatusErrors } from "./storage-version-rules.ts";

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const API_VERSION =
  "an apiVersion is a DNS-1035 label, which must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')";
const QUALIFIED_NAME =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const NO_COMMON =
  "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet";
const UNKNOWN = condition({ status: "Unknown" });

describe("the name of a StorageVersion", () => {
  test.each([
    ["", ["name must be in the form of <group>.<resource>"]],
    ["pods", ["name must be in the form of <group>.<resource>"]],
    ["core.pods", []],
    ["authentication.k8s.io.tokenreviews", []],
    [".pods", [`the group segment ${SUBDOMAIN}`]],
    ["core.", [`the resource segment ${LABEL_1035}`]],
    ["Core.Pods", [`the group segment ${SUBDOMAIN}`, `the resource segment ${LABEL_1035}`]],
    [`${"a".repeat(253)}.pods`, []],
    [`${"a".repeat(254)}.pods`, ["the group segment must be no more than 253 characters"]],
    [`core.${"a".repeat(63)}`, []],
    [`core.${"a".repeat(64)}`, ["the resource segment must be no more than 63 characters"]],
  ])("%j has the errors %j", (name, sentences) => {
    expect(storageVersionNameErrors(name)).toEqual(sentences);
  });

  test("and its generateName are checked by the same rule", () => {
    expect(storageVersionErrors({ metadata: { generateName: "core.pods", name: "core.podsabcde" } })).toEqual([]);
    expect(storageVersionErrors({ metadata: { generateName: "core.pods-", name: "core.pods-abcde" } })).toEqual([
      invalid("metadata.generateName", `"core.pods-": the resource segment ${LABEL_1035}`),
    ]);
    expect(storageVersionErrors({ metadata: { generateName: "core.", name: "core.abcde" } })).toEqual([
      invalid("metadata.generateName", `"core.": the resource segment ${LABEL_1035}`),
    ]);
    expect(storageVersionErrors({ metadata: { generateName: "pods-", name: "pods-abcde" } })).toEqual([
      invalid("metadata.generateName", '"pods-": name must be in the form of <group>.<resource>'),
      invalid("metadata.name", '"pods-abcde": name must be in the form of <group>.<resource>'),
    ]);
  });
});

describe("an entry of a StorageVersion", () => {
  test.each<[string, JsonObject, readonly unknown[]]>([
    ["is accepted", {}, []],
    ["may be of a group", { encodingVersion: "apps/v1", decodableVersions: ["apps/v1", "apps/v1beta2"] }, []],
    ["may serve what it decodes", { decodableVersions: ["v1", "v2"], servedVersions: ["v2"] }, []],
    ["needs a valid ID", { apiServerID: "-fea" }, [inEntry("apiServerID", `"-fea": ${SUBDOMAIN}`)]],
    [
      "is rejected if it does not decode its encoding version",
      { decodableVersions: ["v2", "v3"] },
      [inEntry("decodableVersions", '["v2","v3"]: decodableVersions must include encodingVersion v1')],
    ],
    [
      "is rejected if it decodes nothing",
      { decodableVersions: undefined },
      [inEntry("decodableVersions", "null: decodableVersions must include encodingVersion v1")],
    ],
    [
      "rejects version -fea",
      { decodableVersions: ["v1", "-fea"] },
      [inDecodable("-fea", `version part: ${LABEL_1035}`)],
    ],
    [
      "rejects an empty version",
      { decodableVersions: ["v1", ""] },
      [inDecodable("", "version part: must be non-empty")],
    ],
    [
      "rejects version /v3",
      { decodableVersions: ["v1", "/v3"] },
      [inDecodable("/v3", "group part: must be non-empty")],
    ],
    [
      "rejects version mygroup.com/",
      { decodableVersions: ["v1", "mygroup.com/"] },
      [inDecodable("mygroup.com/", "version part: must be non-empty")],
    ],
    [
      "rejects version mygroup_com/v2",
      { decodableVersions: ["v1", "mygroup_com/v2"] },
      [inDecodable("mygroup_com/v2", `group part: ${SUBDOMAIN}`)],
    ],
    [
      "rejects version mygroup.com/v2_",
      { decodableVersions: ["v1", "mygroup.com/v2_"] },
      [inDecodable("mygroup.com/v2_", `version part: ${LABEL_1035}`)],
    ],
    [
      "rejects version mygroup.com/v2/myresource",
      { decodableVersions: ["v1", "mygroup.com/v2/myresource"] },
      [inDecodable("mygroup.com/v2/myresource", API_VERSION)],
    ],
    [
      "reports an invalid group and an invalid version in one error",
      { decodableVersions: ["v1", "_/_"] },
      [inDecodable("_/_", `group part: ${SUBDOMAIN},version part: ${LABEL_1035}`)],
    ],
    [
      "is rejected if it serves a version that it does not decode",
      { decodableVersions: ["v1", "v3"], servedVersions: ["v1", "v2"] },
      [
        inEntry(
          "servedVersions[1]",
          '"v2": individual served version : v2 must be included in decodableVersions : [v1 v3]',
        ),
      ],
    ],
    [
      "is rejected if it serves an invalid version",
      { servedVersions: ["_"] },
      [
        inEntry("servedVersions[0]", `"_": version part: ${LABEL_1035}`),
        inEntry("servedVersions[0]", '"_": individual served version : _ must be included in decodableVersions : [v1]'),
      ],
    ],
  ])("%s", (_what, fields, errors) => {
    const given = entry(fields);
    expect(errorsOf({ storageVersions: [given], commonEncodingVersion: given["encodingVersion"] })).toEqual(errors);
  });

  test("with an invalid encoding version has one error for each field that contains this version", () => {
    const bad = entry({ encodingVersion: "_", decodableVersions: ["_"] });
    expect(errorsOf({ storageVersions: [bad], commonEncodingVersion: "_" })).toEqual([
      inEntry("encodingVersion", `"_": version part: ${LABEL_1035}`),
      inEntry("decodableVersions[0]", `"_": version part: ${LABEL_1035}`),
    ]);
  });

  test("is a duplicate if its server already has an entry", () => {
    expect(errorsOf({ storageVersions: [entry({}), entry({})], commonEncodingVersion: "v1" })).toEqual([
      {
        field: "status.storageVersions[1].apiServerID",
        reason: "FieldValueDuplicate",
        message: 'Duplicate value: "a"',
      },
    ]);
  });
});

describe("the common encoding version", () => {
  const agreed = [entry({ apiServerID: "a" }), entry({ apiServerID: "b" })];
  const split = [
    entry({ apiServerID: "a" }),
    entry({ apiServerID: "b", encodingVersion: "v2", decodableVersions: ["v2"] }),
  ];
  const field = "status.commonEncodingVersion";

  test.each<[string, JsonObject, readonly unknown[]]>([
    ["is absent without entries", {}, []],
    ["is rejected without entries", { commonEncodingVersion: "v1" }, [invalid(field, `"v1": ${NO_COMMON}`)]],
    ["is absent if the servers encode different versions", { storageVersions: split }, []],
    [
      "is rejected if the servers encode different versions",
      { storageVersions: split, commonEncodingVersion: "v1" },
      [invalid(field, `"v1": ${NO_COMMON}`)],
    ],
    ["is accepted if all servers encode it", { storageVersions: agreed, commonEncodingVersion: "v1" }, []],
    [
      "is required if all servers encode the same version",
      { storageVersions: agreed },
      [invalid(field, "null: the common encoding version is v1")],
    ],
    [
      "is required even if another condition is unknown",
      { storageVersions: agreed, conditions: [condition({ type: "Other", status: "Unknown" })] },
      [invalid(field, "null: the common encoding version is v1")],
    ],
    ["may be absent while AllEncodingVersionsEqual is unknown", { storageVersions: agreed, conditions: [UNKNOWN] }, []],
    [
      "is rejected if the servers encode another version",
      { storageVersions: agreed, commonEncodingVersion: "v2" },
      [invalid(field, '"v2": the actual common encoding version is v1')],
    ],
    [
      "is rejected if the servers encode another version while AllEncodingVersionsEqual is unknown",
      { storageVersions: agreed, commonEncodingVersion: "v2", conditions: [UNKNOWN] },
      [invalid(field, '"v2": the actual common encoding version is v1')],
    ],
  ])("%s", (_what, status, errors) => {
    expect(errorsOf(status)).toEqual(errors);
  });
});

describe("a condition of a StorageVersion", () => {
  test.each<[string, readonly JsonObject[], readonly unknown[]]>([
    ["is accepted", [condition({})], []],
    ["is accepted with an unknown type and status", [condition({ type: "a/b", status: "Perhaps" })], []],
    [
      "is rejected with an invalid type",
      [condition({ type: "-fea" })],
      [invalid("status[0].type", `"-fea": ${QUALIFIED_NAME}`)],
    ],
    [
      "is rejected with an invalid status",
      [condition({ status: "-fea" })],
      [invalid("status[0].status", `"-fea": ${QUALIFIED_NAME}`)],
    ],
    ["is rejected without a reason", [condition({ reason: "" })], [missing("status[0].reason")]],
    ["is rejected without a message", [condition({ message: undefined })], [missing("status[0].message")]],
    [
      "is rejected if an earlier one has its type",
      [condition({}), condition({}), condition({})],
      [0, 1].map((before) =>
        invalid(
          `status[${before + 1}].type`,
          `"AllEncodingVersionsEqual": the type of the condition is not unique, it also appears in conditions[${before}]`,
        ),
      ),
    ],
  ])("%s", (_what, conditions, errors) => {
    expect(errorsOf({ conditions })).toEqual(errors);
  });
});

test("the errors about a status are limited in number and length", () => {
  const versions = Array.from({ length: 5000 }, (_, index) => `v${index}`);
  const bad = entry({
    decodableVersions: ["v1", ...versions],
    servedVersions: versions.map((version) => `x${version}`),
  });
  const errors = errorsOf({ storageVersions: [bad], commonEncodingVersion: "v1" });
  expect(errors.length).toBeGreaterThan(10);
  expect(errors.length).toBeLessThanOrEqual(100);
  expect(errors.every(({ message }) => message.length < 2000)).toBe(true);
});

function errorsOf(status: JsonObject): ReturnType<typeof storageVersionStatusErrors> {
  return storageVersionStatusErrors({ status });
}

function entry(fields: JsonObject): JsonObject {
  return { apiServerID: "a", encodingVersion: "v1", decodableVersions: ["v1"], ...fields };
}

function condition(fields: JsonObject): JsonObject {
  return { type: "AllEncodingVersionsEqual", status: "True", reason: "Because", message: "so it is", ...fields };
}

function invalid(field: string, rest: string): object {
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${rest}` };
}

function inEntry(member: string, rest: string): object {
  return invalid(`status.storageVersions[0].${member}`, rest);
}

/** An error about the second decodable version. */
function inDecodable(version: string, sentence: string): object {
  return inEntry("decodableVersions[1]", `${JSON.stringify(version)}: ${sentence}`);
}

function missing(field: string): object {
  return { field, reason: "FieldValueRequired", message: "Required value" };
}
