import { expect, test } from "vitest";
import { createErrorsOf } from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { DEVICE_CLASS } from "./device-class.ts";

test("a DeviceClass is validated for its selectors, configuration and extended resource name", () => {
  const spec = { selectors: [{}], config: [{ opaque: { driver: "" } }], extendedResourceName: "cpu" };
  expect(createErrorsOf(DEVICE_CLASS, { metadata: { name: "c" }, spec })).toEqual([
    "spec.selectors[0].cel: Required value",
    "spec.config[0].opaque.driver: Required value",
    "spec.config[0].opaque.parameters: Required value",
    'spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name',
  ]);
});
