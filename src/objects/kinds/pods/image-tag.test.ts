import { expect, test } from "vitest";
import { defaultPullPolicy } from "./image-tag.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;

test.each([
  ["nginx", "Always"],
  ["nginx:latest", "Always"],
  ["nginx:1.2", "IfNotPresent"],
  ["registry.example.com:5000/team/app", "Always"],
  ["registry.example.com:5000/team/app:1", "IfNotPresent"],
  ["localhost:5000/app:latest", "Always"],
  [`nginx@${DIGEST}`, "IfNotPresent"],
  [`nginx:latest@${DIGEST}`, "Always"],
  ["Not/An Image", "IfNotPresent"],
  ["UPPER/app", "Always"],
  ["team/APP", "IfNotPresent"],
  ["", "IfNotPresent"],
  [" nginx", "IfNotPresent"],
  ["a".repeat(64), "IfNotPresent"],
  [`${"a/".repeat(200)}b`, "IfNotPresent"],
  ["a-".repeat(100_000), "IfNotPresent"],
])("%s has the default pull policy %s", (image, policy) => {
  expect(defaultPullPolicy(image)).toBe(policy);
});
