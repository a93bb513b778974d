import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import type { JsonObject } from "../../meta/json.ts";
import { unstructuredError } from "./unstructured-error.ts";

const SCHEMAS = openSchemas("1.36");

describe("unstructuredError", () => {
  test.each<[group: string, kind: string, object: JsonObject, sentence: string | undefined]>([
    ["", "ConfigMap", { data: { a: 1 } }, "cannot convert int64 to string"],
    ["", "ConfigMap", { data: { a: 1.5 } }, "unrecognized type: string"],
    ["", "ConfigMap", { data: { a: true } }, "unrecognized type: string"],
    ["", "ConfigMap", { data: { a: {} } }, "unrecognized type: string"],
    ["", "ConfigMap", { data: [] }, "cannot restore map from slice"],
    ["", "ConfigMap", { data: { a: null } }, undefined],
    ["", "ConfigMap", { binaryData: { a: "%" } }, "error decoding from json: illegal base64 data at input byte 0"],
    ["", "ConfigMap", { binaryData: { a: 1 } }, "cannot restore slice from int64"],
    ["", "ConfigMap", { immutable: "true" }, "unrecognized type: bool"],
    ["", "ConfigMap", { metadata: "x" }, "cannot restore struct from: string"],
    ["", "ConfigMap", { metadata: { finalizers: "x" } }, "cannot restore slice from string"],
    [
      "",
      "ConfigMap",
      { metadata: { deletionTimestamp: 1 } },
      "json: cannot unmarshal number into Go value of type string",
    ],
    ["apps", "Deployment", { spec: { replicas: "1" } }, "unrecognized type: int32"],
    ["apps", "Deployment", { spec: { replicas: 1.5 } }, "cannot convert float64 to int32"],
    [
      "apps",
      "Deployment",
      { spec: { template: { spec: { containers: [{ name: "a" }, { tty: 1 }] } } } },
      "unrecognized type: bool",
    ],
    [
      "apps",
      "Deployment",
      { spec: { strategy: { rollingUpdate: { maxSurge: true } } } },
      "json: cannot unmarshal bool into Go value of type int32",
    ],
    [
      "apps",
      "Deployment",
      { spec: { strategy: { rollingUpdate: { maxSurge: 1.5 } } } },
      "json: cannot unmarshal number 1.5 into Go value of type int32",
    ],
    ["apps", "Deployment", { spec: { replicas: 1 }, bogus: 1, metadata: { labels: { a: "b" } } }, undefined],
    [
      "",
      "LimitRange",
      { spec: { limits: [{ max: { cpu: "x" } }] } },
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
    ["", "LimitRange", { spec: { limits: [{ max: { cpu: 1 } }] } }, undefined],
  ])("returns the expected message for %s/%s %j", (group, kind, object, sentence) => {
    expect(unstructuredError(object, SCHEMAS.kind(group, "v1", kind)!)).toBe(sentence);
  });
});
