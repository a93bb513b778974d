import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import type { Attributes } from "../admission.ts";
import { attributes, readerOf, rejectionOf } from "../../../../test/testing/access/admission/plugins/attributes.ts";
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
  ])("%j matches a pod in a namespace with the label env=prod: %s", async (namespaceSelector, expected) => {
    expect(await isMatch({ namespaceSelector })).toBe(expected);
  });

  test("a namespace that is not cached is read from the store", async () => {
    expect(await isMatch(PROD, { namespace: "new" })).toBe(true);
  });

  test("the selector rejects a write to a missing namespace only if the rules match", async () => {
    expect(await rejectionOf(() => isMatch(PROD, { namespace: "gone" }))).toBe('404 namespaces "gone" not found');
    expect(await isMatch({ ...PROD, rules: [] }, { namespace: "gone" })).toBe(false);
  });

  test("a cluster-scoped object always matches", async () => {
    expect(await isMatch({ namespaceSelector: { matchLabels: { no: "body" } } }, { namespace: "" })).toBe(true);
  });

  test("a created or updated Namespace is matched by its new labels, and all other requests for it by its stored labels", async () => {
    const about = { resource: "namespaces", namespace: "ns", object: labelled("ns", { env: "test" }) };
    expect(await isMatch(PROD, { ...about, operation: "UPDATE" })).toBe(false);
    expect(await isMatch(PROD, { ...about, operation: "UPDATE", subresource: "status" })).toBe(true);
    expect(await isMatch(PROD, { ...about, operation: "DELETE", object: undefined })).toBe(true);
  });
});

describe("objectSelector", () => {
  const WEB = { objectSelector: { matchLabels: { app: "web" } } };

  test("matches if the new or the old object has the labels", async () => {
    const other = labelled("p", { app: "db" });
    expect(await isMatch(WEB)).toBe(true);
    expect(await isMatch(WEB, { object: other })).toBe(false);
    expect(await isMatch(WEB, { object: other, existing: labelled("p", { app: "web" }) })).toBe(true);
    expect(await isMatch(WEB, { object: undefined, existing: labelled("p", { app: "web" }) })).toBe(true);
  });

  test("never matches CONNECT requests, whose options have no labels", async () => {
    const selector = { objectSelector: { matchExpressions: [{ key: "x", operator: "DoesNotExist" }] } };
    expect(await isMatch(selector, { operation: "CONNECT", object: { kind: "PodExecOptions" } })).toBe(false);
  });

  test("rejects writes that all other criteria match if the selector is invalid", async () => {
    const unknown = { objectSelector: { matchExpressions: [{ key: "x", operator: "Near" }] } };
    const message = '500 Internal error occurred: "Near" is not a valid label selector operator';
    expect(await rejectionOf(() => isMatch(unknown))).toBe(message);
    const value = { objectSelector: { matchLabels: { x: "-" } } };
    expect(await rejectionOf(() => isMatch(value))).toMatch(/^500 .*values\[0\]\[x\]: Invalid value: "-": /);
    expect(await isMatch({ ...unknown, namespaceSelector: { matchLabels: { no: "body" } } })).toBe(false);
  });
});

test("policies match all resources without rules, and may exclude resources", async () => {
  const given = attributes({ object: labelled("p", {}) });
  const match = (criteria: JsonObject): Promise<unknown> => matchCriteria(readMatchResources(criteria), given, objects);
  expect(await match({})).toMatchObject({ resource: "pods" });
  expect(await match({ excludeResourceRules: [{ ...EVERYTHING, resourceNames: ["p"] }] })).toBeUndefined();
  expect(await match({ excludeResourceRules: [{ ...EVERYTHING, resourceNames: ["q"] }] })).toMatchObject({});
});

test("webhooks do not apply to webhook configurations and policies, and policies apply neither to policies nor to reviews", () => {
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
