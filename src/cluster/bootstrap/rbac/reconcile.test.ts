import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { AUTO_UPDATE, bindingCorrection, mustBeReplaced, roleCorrection } from "./reconcile.ts";
import { may } from "./notation.ts";

const LABELS = { "kubernetes.io/bootstrapping": "rbac-defaults" };

function object(members: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { metadata: { name: "x", annotations: { [AUTO_UPDATE]: "true" }, labels: LABELS, ...metadata }, ...members };
}

const stored = (members: JsonObject, metadata: JsonObject = {}): JsonObject =>
  object(members, { resourceVersion: "7", ...metadata });

const LEFT_ALONE = { annotations: { [AUTO_UPDATE]: "false" } };

describe("a role", () => {
  const expected = object({ rules: [may("get list", "core", "pods")] });

  test.each<[string, JsonObject, JsonObject | undefined]>([
    [
      "that covers the expected rules in another form is kept",
      stored({ rules: [may("*", "core apps", "pods nodes")] }),
      undefined,
    ],
    [
      "gets its missing permissions",
      stored({ rules: [may("get watch", "core", "pods")] }),
      { metadata: { resourceVersion: "7" }, rules: [may("get watch", "core", "pods"), may("list", "core", "pods")] },
    ],
    ["with autoupdate disabled is kept", stored({ rules: [] }, LEFT_ALONE), undefined],
    [
      "gets missing labels and annotations, and keeps existing values",
      stored({ rules: expected["rules"] }, { labels: { own: "x" }, annotations: { [AUTO_UPDATE]: "maybe" } }),
      { metadata: { resourceVersion: "7", labels: LABELS } },
    ],
    [
      "loses an aggregation rule that it should not have",
      stored({ rules: expected["rules"], aggregationRule: { clusterRoleSelectors: [{}] } }),
      { metadata: { resourceVersion: "7" }, aggregationRule: null },
    ],
  ])("%s", (_, existing, patch) => {
    expect(roleCorrection(expected, existing)).toEqual(patch);
  });

  test("with an aggregation rule gets missing selectors, and keeps whatever rules it has", () => {
    const selector = (to: string) => ({ matchLabels: { to } });
    const gathering = object({ rules: null, aggregationRule: { clusterRoleSelectors: [selector("a")] } });
    const existing = stored({
      rules: [may("*", "*", "*")],
      aggregationRule: { clusterRoleSelectors: [selector("b")] },
    });
    expect(roleCorrection(gathering, existing)).toEqual({
      metadata: { resourceVersion: "7" },
      aggregationRule: { clusterRoleSelectors: [selector("b"), selector("a")] },
    });
    expect(roleCorrection(gathering, stored({ aggregationRule: gathering["aggregationRule"] }))).toBeUndefined();
  });
});

describe("a binding", () => {
  const subject = (name: string, namespace?: string) => ({ kind: "ServiceAccount", name, namespace });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" };
  const expected = object({ roleRef, subjects: [subject("a", "kube-system"), subject("b", "kube-system")] });

  test("gets missing subjects and keeps additional ones", () => {
    const existing = stored({ roleRef, subjects: [subject("b", "kube-system"), subject("a", "team")] });
    expect(bindingCorrection(expected, existing)).toEqual({
      metadata: { resourceVersion: "7" },
      subjects: [subject("b", "kube-system"), subject("a", "team"), subject("a", "kube-system")],
    });
    expect(mustBeReplaced(expected, existing)).toBe(false);
  });

  test("that references another role is replaced, unless autoupdate is disabled", () => {
    const other = { roleRef: { ...roleRef, name: "other" }, subjects: [] };
    expect(bindingCorrection(expected, stored(other))).toBeUndefined();
    expect(mustBeReplaced(expected, stored(other))).toBe(true);
    expect(bindingCorrection(expected, stored(other, LEFT_ALONE))).toBeUndefined();
    expect(mustBeReplaced(expected, stored(other, LEFT_ALONE))).toBe(false);
  });

  test("with invalid metadata and subjects gets the expected ones", () => {
    expect(bindingCorrection(expected, { metadata: null, roleRef, subjects: "x" })).toEqual({
      metadata: { annotations: { [AUTO_UPDATE]: "true" }, labels: LABELS },
      subjects: expected["subjects"],
    });
  });
});
