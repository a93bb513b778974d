import { describe, expect, test } from "vitest";
import { compacted, uncovered } from "./escalation.ts";
import { compactText, policyRules, type PolicyRule } from "./policy-rule.ts";
import { clusterRole, paths, rule } from "../../../../test/testing/access/auth/rbac/objects.ts";

/** Parses rules in the notation of `rule`, or of the form "paths verbs path...". */
const rules = (...texts: string[]): readonly PolicyRule[] =>
  policyRules(clusterRole("r", ...texts.map((text) => (text.startsWith("paths ") ? pathsOf(text) : rule(text)))));

function pathsOf(text: string) {
  const [, verbs = "", ...urls] = text.split(" ");
  return paths(verbs, ...urls);
}

describe("the missing permissions", () => {
  test.each<[owned: string[], wanted: string[], missing: string[]]>([
    [["get core pods"], ["get core pods"], []],
    [["get core pods"], ["get,list core pods"], ["list core pods"]],
    [["get core pods", "list core pods"], ["get,list core pods"], []],
    [["* core pods"], ["get,* core pods"], []],
    [["get core pods"], ["* core pods"], ["* core pods"]],
    [["get * pods"], ["get core,apps pods"], []],
    [["get core *"], ["get core pods,pods/log"], []],
    [["get core pods"], ["get core pods,pods/log"], ["get core pods/log"]],
    [["get core */log"], ["get core pods/log,pods"], ["get core pods"]],
    [["get core */a/b"], ["get core pods/a/b"], []],
    [["get core */b"], ["get core pods/a/b"], ["get core pods/a/b"]],
    [["get core pods x"], ["get core pods"], ["get core pods"]],
    [["get core pods"], ["get core pods x"], []],
    [["get core pods x"], ["get core pods x,y"], ["get core pods y"]],
    [["get core pods", "* apps *"], ["get core,apps pods"], []],
    [["paths get /a/*"], ["paths get /a/b /a/* /a"], ["paths get /a"]],
    [["paths get /a*"], ["paths get /a/* /ab"], []],
    [["paths * *"], ["paths get /a", "get core pods"], ["get core pods"]],
    [["* * *"], ["get core pods", "paths get /a"], ["paths get /a"]],
    [[], [], []],
    [[], ["get core pods"], ["get core pods"]],
  ])("of a user with %j who grants %j are %j", (owned, wanted, missing) => {
    expect(uncovered(rules(...owned), rules(...wanted))).toEqual({ missing: rules(...missing), isComplete: true });
  });

  test("of a rule without verbs, groups or resources are none", () => {
    const empty = policyRules({ rules: [{ verbs: ["get"] }, { verbs: [], apiGroups: [""], resources: ["pods"] }] });
    expect(uncovered([], empty).missing).toEqual([]);
  });
});

describe("rules with too many permissions to compare", () => {
  const many = (prefix: string, count: number): string =>
    Array.from({ length: count }, (_, index) => `${prefix}${index}`).join(",");

  test("end the comparison early, whether or not a permission was missing until then", () => {
    const vast = rules(`${many("v", 2000)} ${many("g", 2000)} ${many("r", 2000)}`);
    expect(uncovered(rules("* * r"), vast)).toMatchObject({ isComplete: false });
    const narrower = vast.map((one) => ({ ...one, verbs: ["*"] }));
    expect(uncovered(narrower, vast)).toEqual({ missing: [], isComplete: false });
  });

  test("are compared completely for a user with all permissions", () => {
    const vast = rules(`${many("v", 2000)} ${many("g", 2000)} ${many("r", 2000)}`);
    expect(uncovered(rules("* * *"), vast)).toEqual({ missing: [], isComplete: true });
  });

  test("are compared only until the error message would be too long", () => {
    const long = rules(`${many("v", 100)} core ${"r".repeat(500_000)}`);
    expect(uncovered([], long).missing.length).toBeLessThan(5);
  });
});

test("missing verbs of the same resource and name are merged", () => {
  const missing = rules("get core pods", "list core pods", "get core pods x", "list core pods x", "paths get /a");
  expect(compacted(missing).map(compactText)).toEqual([
    '{NonResourceURLs:["/a"], Verbs:["get"]}',
    '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
    '{APIGroups:[""], Resources:["pods"], ResourceNames:["x"], Verbs:["get" "list"]}',
  ]);
});
