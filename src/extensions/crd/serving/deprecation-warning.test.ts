import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { deprecationWarning } from "./deprecation-warning.ts";
import {
  establishedDefinition,
  servedVersion,
  storedVersion,
} from "../../../../test/testing/extensions/crd/crd-object.ts";

const IS_DEPRECATED = "test.example.com/v1 Widget is deprecated";

test.each<[string, JsonObject[], string | undefined]>([
  ["is not deprecated", [storedVersion("v1")], undefined],
  ["has a warning but is not deprecated", [storedVersion("v1", { deprecationWarning: "no" })], undefined],
  ["is the only version", [storedVersion("v1", { deprecated: true })], IS_DEPRECATED],
  ["has its own warning", [storedVersion("v1", { deprecated: true, deprecationWarning: "no" })], "no"],
  ["has an empty warning", [storedVersion("v1", { deprecated: true, deprecationWarning: "" })], ""],
  [
    "has better versions beside it",
    [storedVersion("v1", { deprecated: true }), servedVersion("v2"), servedVersion("v3"), servedVersion("v4beta1")],
    `${IS_DEPRECATED}; use test.example.com/v3 Widget`,
  ],
  [
    "has no better version beside it",
    [
      storedVersion("v1", { deprecated: true }),
      servedVersion("v2", { deprecated: true }),
      servedVersion("v3", { served: false }),
      servedVersion("v1beta1"),
    ],
    IS_DEPRECATED,
  ],
])("deprecationWarning returns the warning of a version that %s", (_what, versions, warning) => {
  const crd = establishedDefinition({ versions });
  expect(deprecationWarning(crd, crd.versions[0]!)).toBe(warning);
});
