import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import type { Attributes, ServedVersion } from "../admission.ts";
import { attributes } from "../../../../test/testing/access/admission/plugins/attributes.ts";
import { matchRules, readRules } from "./rules.ts";

const EVERYTHING = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };

function matched(
  rule: JsonObject,
  about: Partial<Attributes> = {},
  policy: "Exact" | "Equivalent" = "Exact",
): string | undefined {
  const version = matchRules(readRules({ rules: [{ ...EVERYTHING, ...rule }] }, "rules"), policy, {
    ...attributes({ object: { metadata: { name: "p" } } }),
    ...about,
  });
  return version && `${version.groupVersion.group}/${version.groupVersion.version} ${version.resource}`;
}

const PODS = "/v1 pods";

describe("the version that a rule matches", () => {
  test.each([
    [["*"], "", PODS],
    [["*"], "status", undefined],
    [["*/*"], "status", PODS],
    [["*/*"], "", PODS],
    [["pods"], "", PODS],
    [["pods"], "status", undefined],
    [["pods/*"], "", PODS],
    [["pods/*"], "exec", PODS],
    [["pods/exec"], "exec", PODS],
    [["pods/exec"], "", undefined],
    [["*/status"], "status", PODS],
    [["*/status"], "", undefined],
    [["services", "pods/log", "pods"], "", PODS],
    [[], "", undefined],
  ])("for resources %j and subresource %j is %j", (resources, subresource, expected) => {
    expect(matched({ resources }, { subresource })).toBe(expected);
  });

  test.each([
    [{ operations: ["UPDATE", "CREATE"] }, PODS],
    [{ operations: ["UPDATE"] }, undefined],
    [{ apiGroups: [""] }, PODS],
    [{ apiGroups: ["apps"] }, undefined],
    [{ apiVersions: ["v1"] }, PODS],
    [{ apiVersions: ["v2"] }, undefined],
    [{ resourceNames: ["q", "p"] }, PODS],
    [{ resourceNames: ["q"] }, undefined],
    [{ operations: 5, resources: "pods" }, undefined],
  ])("for the rule %j is %j", (rule, expected) => {
    expect(matched(rule)).toBe(expected);
  });

  test.each([
    ["*", "ns", "pods", true],
    ["Namespaced", "ns", "pods", true],
    ["Namespaced", "", "nodes", false],
    ["Namespaced", "ns", "namespaces", false],
    ["Cluster", "ns", "pods", false],
    ["Cluster", "", "nodes", true],
    ["Cluster", "ns", "namespaces", true],
    ["Elsewhere", "ns", "pods", false],
  ])("with scope %s is found for a write in namespace %j to %s: %s", (scope, namespace, resource, isMatch) => {
    expect(matched({ scope }, { namespace, resource }) !== undefined).toBe(isMatch);
  });
});

describe("matchPolicy Equivalent", () => {
  const served = ["v1", "v1beta1", "v1alpha1"].map((version): ServedVersion => ({
    groupVersion: { group: "g", version },
    resource: "things",
    kind: { group: "g", version, kind: "Thing" },
  }));
  const about: Partial<Attributes> = {
    groupVersion: { group: "g", version: "v1" },
    resource: "things",
    kind: { group: "g", version: "v1", kind: "Thing" },
    versions: { served, convert: (object) => Promise.resolve(object) },
  };

  test("matches another served version if no rule names the requested version", () => {
    expect(matched({ apiVersions: ["v1beta1"] }, about, "Equivalent")).toBe("g/v1beta1 things");
    expect(matched({ apiVersions: ["v1beta1"] }, about, "Exact")).toBeUndefined();
  });

  test("prefers the requested version, regardless of the order of the rules", () => {
    const rules = readRules(
      { rules: ["v1alpha1", "v1"].map((version) => ({ ...EVERYTHING, apiVersions: [version] })) },
      "rules",
    );
    const found = matchRules(rules, "Equivalent", { ...attributes({ object: {} }), ...about });
    expect(found?.groupVersion.version).toBe("v1");
  });

  test("selects the version of the first matching rule if no rule names the requested version", () => {
    const rules = readRules(
      { rules: ["v1alpha1", "v1beta1"].map((version) => ({ ...EVERYTHING, apiVersions: [version] })) },
      "rules",
    );
    const found = matchRules(rules, "Equivalent", { ...attributes({ object: {} }), ...about });
    expect(found?.kind).toEqual({ group: "g", version: "v1alpha1", kind: "Thing" });
  });
});
