import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import type { Attributes } from "../admission.ts";
import { attributes, readerOf, refusal } from "../../../../test/testing/access/admission/plugins/attributes.ts";
import { matchCriteria, readMatchResources, readWebhookCriteria } from "./criteria.ts";
import { isExemptFromPolicies, isExemptFromWebhooks } from "./exemptions.ts";

const EVERYTHING = { operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] };
const labelled = (name: string, labels: JsonObject): JsonObject => ({ metadata: { name, labels } });
const objects = readerOf(
  { namespaces: [labelled("ns", { env: "prod" })] },
  { namespaces: [labelled("new", { env: "prod" })] },
);

async function isMatch(webhook: JsonObject, about: Partial<Attributes> = {}): Promise<boolean> {
  const criteria = readWebhookCriteria({ rules: [EVERYTHING], ...webhook });
  const given: Attributes = { ...attributes({ object: labelled("p", { app: "web" }) }), ...about };
  return (await matchCriteria(criteria, given, objects)) !== undefined;
}

const PROD = { namespaceSelector: { matchLabels: { env: "prod" } } };

describe("namespaceSelector", () => {
  test.each<[JsonObject, boolean]>([
    [{}, true],
    [{ matchLabels: { env: "prod" } }, true],
    [{ matchLabels: { env: "test" } }, false],
    [{ matchExpressions: [{ key: "env", operator: "In", values: ["prod", "test"] }] }, true],
    [{ matchExpressions: [{ key: "env", operator: "NotIn", values: ["prod"] }] }, false],
    [{ matchExpressions: [{ key: "tier", operator: "NotIn", values: ["prod"] }] }, true],
    [{ matchExpressions: [{ key: "env", operator: "Exists" }] }, true],
    [{ matchExpressions: [{ key: "env", operator: "DoesNotExist" }] }, false],
    [{ matchExpressions: [{ key: "constructor", operator: "Exists" }] }, false],
  ])("%j", async (namespaceSelector, expected) => {
    expect(await isMatch({ namespaceSelector })).toBe(expected);
  });

  test("what this server does not know yet is read", async () => {
    expect(await isMatch(PROD, { namespace: "new" })).toBe(true);
  });

  test("a namespace that is not there is an error only where the rules apply", async () => {
    expect(await refusal(() => isMatch(PROD, { namespace: "gone" }))).toBe('404 namespaces "gone" not found');
    expect(await isMatch({ ...PROD, rules: [] }, { namespace: "gone" })).toBe(false);
  });

  test("what is in no namespace is always selected", async () => {
    expect(await isMatch({ namespaceSelector: { matchLabels: { no: "body" } } }, { namespace: "" })).toBe(true);
  });

  test("of a Namespace that is written, the new labels count; of one that is deleted, the stored ones", async () => {
    const about = { resource: "namespaces", namespace: "ns", object: labelled("ns", { env: "test" }) };
    expect(await isMatch(PROD, { ...about, operation: "UPDATE" })).toBe(false);
    expect(await isMatch(PROD, { ...about, operation: "UPDATE", subresource: "status" })).toBe(true);
    expect(await isMatch(PROD, { ...about, operation: "DELETE", object: undefined })).toBe(true);
  });
});

describe("objectSelector", () => {
  const WEB = { objectSelector: { matchLabels: { app: "web" } } };

  test("the object as it is or was", async () => {
    const other = labelled("p", { app: "db" });
    expect(await isMatch(WEB)).toBe(true);
    expect(await isMatch(WEB, { object: other })).toBe(false);
    expect(await isMatch(WEB, { object: other, existing: labelled("p", { app: "web" }) })).toBe(true);
    expect(await isMatch(WEB, { object: undefined, existing: labelled("p", { app: "web" }) })).toBe(true);
  });

  test("options of a connection have no labels, not even absent ones", async () => {
    const selector = { objectSelector: { matchExpressions: [{ key: "x", operator: "DoesNotExist" }] } };
    expect(await isMatch(selector, { operation: "CONNECT", object: { kind: "PodExecOptions" } })).toBe(false);
  });

  test("a selector that cannot be read refuses what the rules apply to", async () => {
    const unknown = { objectSelector: { matchExpressions: [{ key: "x", operator: "Near" }] } };
    const message = '500 Internal error occurred: "Near" is not a valid label selector operator';
    expect(await refusal(() => isMatch(unknown))).toBe(message);
    const value = { objectSelector: { matchLabels: { x: "-" } } };
    expect(await refusal(() => isMatch(value))).toMatch(/^500 .*values\[0\]\[x\]: Invalid value: "-": /);
    expect(await isMatch({ ...unknown, namespaceSelector: { matchLabels: { no: "body" } } })).toBe(false);
  });
});

test("policies may exclude what they match, and match everything without rules", async () => {
  const given = attributes({ object: labelled("p", {}) });
  const match = (criteria: JsonObject): Promise<unknown> => matchCriteria(readMatchResources(criteria), given, objects);
  expect(await match({})).toMatchObject({ resource: "pods" });
  expect(await match({ excludeResourceRules: [{ ...EVERYTHING, resourceNames: ["p"] }] })).toBeUndefined();
  expect(await match({ excludeResourceRules: [{ ...EVERYTHING, resourceNames: ["q"] }] })).toMatchObject({});
});

test("admission does not judge what configures it, and policies no reviews", () => {
  const group = "admissionregistration.k8s.io";
  const kindOf = (kind: string): boolean => isExemptFromWebhooks({ kind: { group, version: "v1", kind } });
  expect(kindOf("MutatingWebhookConfiguration")).toBe(true);
  expect(kindOf("ValidatingAdmissionPolicyBinding")).toBe(true);
  expect(isExemptFromWebhooks({ kind: { group: "x", version: "v1", kind: "MutatingWebhookConfiguration" } })).toBe(
    false,
  );
  const isUnseen = (inGroup: string, resource: string): boolean =>
    isExemptFromPolicies({ groupVersion: { group: inGroup, version: "v1" }, resource });
  expect(isUnseen("authentication.k8s.io", "tokenreviews")).toBe(true);
  expect(isUnseen(group, "mutatingadmissionpolicies")).toBe(true);
  expect(isUnseen(group, "mutatingwebhookconfigurations")).toBe(false);
  expect(isUnseen("", "bindings")).toBe(false);
});
