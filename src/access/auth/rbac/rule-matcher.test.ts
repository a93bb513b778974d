import { expect, test } from "vitest";
import { policyRules } from "./policy-rule.ts";
import { combinedResource, compilePolicyRules } from "./rule-matcher.ts";
import { accessOf, clusterRole, paths, rule } from "../../../../test/testing/access/auth/rbac/objects.ts";

test.each([
  // [rule, requested access, allowed]
  ["get core pods", "get pods", true],
  ["get core pods", "list pods", false],
  ["get core pods", "get secrets", false],
  ["get core pods", "get pods.apps", false],
  ["* core pods", "anything pods", true],
  ["get * pods", "get pods.apps", true],
  ["get core *", "get pods/log", true],
  ["get core pods", "get pods/log", false],
  ["get core pods/log", "get pods/log", true],
  ["get core pods/log", "get pods", false],
  ["get * */scale", "get deployments/scale.apps", true],
  ["get * */scale", "get deployments/status.apps", false],
  ["get * */scale", "get deployments.apps", false],
  ["get * */", "get deployments.apps", false],
  ["get * pods/*", "get pods/log", false],
  ["get core pods a,b", "get pods a", true],
  ["get core pods a,b", "get pods c", false],
  ["create core pods a", "create pods", false],
  ["deletecollection core pods a", "deletecollection pods", false],
  ["get core pods", "get pods a", true],
  ["get core pods", "get /pods", false],
])("the rule %j allows %j: %j", (text, wanted, isAllowed) => {
  const matcher = compilePolicyRules(policyRules(clusterRole("r", rule(text))));
  expect(matcher.allows(accessOf(wanted), combinedResource(accessOf(wanted)))).toBe(isAllowed);
});

test.each([
  ["get", "/healthz", "get /healthz", true],
  ["get", "/healthz", "post /healthz", false],
  ["get", "/healthz", "get /healthz/ping", false],
  ["get", "/healthz/*", "get /healthz/ping", true],
  ["get", "/healthz/*", "get /healthz", false],
  ["get", "/healthz*", "get /healthz", true],
  ["get", "/health**", "get /healthz", true],
  ["*", "*", "head /anything", true],
  ["get", "/*/x", "get /a/x", false],
  ["get", "*", "get pods", false],
])("the verb %j on the path %j allows %j: %j", (verbs, path, wanted, isAllowed) => {
  const matcher = compilePolicyRules(policyRules(clusterRole("r", paths(verbs, path))));
  expect(matcher.allows(accessOf(wanted), combinedResource(accessOf(wanted)))).toBe(isAllowed);
});

test("an invalid rule grants nothing", () => {
  const odd = { rules: [null, 7, "x", {}, { verbs: "*", apiGroups: 1, resources: {} }, { verbs: [1, null] }] };
  const matcher = compilePolicyRules(policyRules(odd));
  expect(matcher.allows(accessOf("get pods"), "pods")).toBe(false);
  expect(policyRules({ rules: "*" })).toEqual([]);
});
