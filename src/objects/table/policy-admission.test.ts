import { expect, test } from "vitest";
import { cellOf, rowOf } from "../../../test/testing/objects/table/rows.ts";

test("a disruption budget shows numbers and percentages", () => {
  const key = "policy/PodDisruptionBudget";
  expect(rowOf(key, { spec: { minAvailable: 2 }, status: { disruptionsAllowed: 1 } })).toEqual([
    "x",
    "2",
    "N/A",
    1,
    "60m",
  ]);
  expect(rowOf(key, { spec: { maxUnavailable: "25%" } })).toEqual(["x", "N/A", "25%", 0, "60m"]);
  expect(cellOf(key, "Min Available", { spec: { minAvailable: 0 } })).toBe("0");
});

test.each(["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])("a %s counts its webhooks", (kind) => {
  expect(rowOf(`admissionregistration.k8s.io/${kind}`, { webhooks: [{}, {}] })).toEqual(["x", 2, "60m"]);
  expect(rowOf(`admissionregistration.k8s.io/${kind}`, {})).toEqual(["x", 0, "60m"]);
});

test.each([
  ["ValidatingAdmissionPolicy", "validations"],
  ["MutatingAdmissionPolicy", "mutations"],
])("a %s counts its %s", (kind, list) => {
  const key = `admissionregistration.k8s.io/${kind}`;
  const paramKind = { apiVersion: "rules.example.com/v1", kind: "Limit" };
  expect(rowOf(key, { spec: { [list]: [{}, {}, {}], paramKind } })).toEqual([
    "x",
    3,
    "rules.example.com/v1/Limit",
    "60m",
  ]);
  expect(rowOf(key, {})).toEqual(["x", 0, "<unset>", "60m"]);
});

test.each(["ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding"])(
  "a %s shows its parameters",
  (kind) => {
    const key = `admissionregistration.k8s.io/${kind}`;
    const parameters = (paramRef: unknown): unknown => cellOf(key, "ParamRef", { spec: { paramRef } });
    expect(rowOf(key, { spec: { policyName: "p", paramRef: { name: "n", namespace: "ns" } } })).toEqual([
      "x",
      "p",
      "ns/n",
      "60m",
    ]);
    expect(parameters({ name: "n" })).toBe("*/n");
    expect(parameters(undefined)).toBe("<unset>");
    expect(parameters({})).toBe("<unset>");
    const selector = {
      matchLabels: { b: "2", a: "1" },
      matchExpressions: [{ key: "k", operator: "In", values: ["v", "w"] }],
    };
    expect(parameters({ selector })).toBe(
      "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,}," +
        "MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[v w],},},}",
    );
  },
);
