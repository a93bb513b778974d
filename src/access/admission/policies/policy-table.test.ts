import { expect, test } from "vitest";
import { createPolicyTables, type PolicyTables } from "./policy-table.ts";
import {
  validateWith,
  binding,
  policy,
  policyServer,
} from "../../../../test/testing/access/admission/policies/policies.ts";

function names(tables: PolicyTables<unknown>, resource = "pods"): string[] {
  return tables
    .candidates("CREATE", resource)
    .map((bound) => `${bound.policy.name}: ${bound.bindings.map(({ name }) => name).join(" ")}`);
}

test("candidates are the policies with bindings whose rules match the resource, sorted by name", () => {
  const { tables } = policyServer(
    [policy("b", {}), policy("a", {}), policy("unbound", {})],
    [binding("2", "a"), binding("1", "a"), binding("3", "b"), binding("4", "nobody")],
  );
  expect(names(tables)).toEqual(["a: 1 2", "b: 3"]);
  expect(names(tables, "secrets")).toEqual([]);
});

test("candidates reflect each change of policies and bindings at once", () => {
  const { tables } = policyServer([policy("a", {})], [binding("1", "a")]);
  expect(names(tables)).toEqual(["a: 1"]);
  tables.policies.put(policy("b", {}));
  tables.bindings.put(binding("2", "b"));
  expect(names(tables)).toEqual(["a: 1", "b: 2"]);
  tables.bindings.remove("", "1");
  expect(names(tables)).toEqual(["b: 2"]);
  tables.policies.reset([]);
  expect(names(tables)).toEqual([]);
});

test("each revision of a policy is compiled once, on first use", () => {
  let compiled = 0;
  const tables = createPolicyTables(() => ++compiled);
  const first = policy("a", { variables: [] });
  tables.policies.reset([first]);
  tables.bindings.reset([binding("1", "a")]);
  const once = tables.candidates("CREATE", "pods")[0]?.policy;
  expect(compiled).toBe(0);
  once?.compiled();
  tables.policies.put(first);
  tables.policies.reset([first]);
  tables.candidates("CREATE", "pods")[0]?.policy.compiled();
  expect(compiled).toBe(1);
  tables.policies.put(policy("a", {}));
  tables.candidates("CREATE", "pods")[0]?.policy.compiled();
  expect(compiled).toBe(2);
});

test("a policy without match constraints denies all writes", async () => {
  const server = policyServer([policy("x", { matchConstraints: null })], [binding("y", "x")]);
  expect((await validateWith(server)).error?.message).toBe(
    `pods "p" is forbidden: ValidatingAdmissionPolicy 'x' denied request: failed to configure policy: policy contained no match constraints, a required field`,
  );
});
