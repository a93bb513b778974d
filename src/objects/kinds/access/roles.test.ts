import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { defaulted, createErrorsOf, updateErrorsOf } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING } from "./roles.ts";

const GROUP = "rbac.authorization.k8s.io";
const READ = { apiGroups: [""], resources: ["pods"], verbs: ["get"] };

describe("a role", () => {
  test("has null rules and null verbs if they are absent", () => {
    expect(defaulted(ROLE, { metadata: { name: "r" } })).toEqual({ metadata: { name: "r" }, rules: null });
    expect(defaulted(CLUSTER_ROLE, { rules: [{ nonResourceURLs: ["/x"] }] })).toEqual({
      rules: [{ verbs: null, nonResourceURLs: ["/x"] }],
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { rules: [READ] }, []],
    [
      "needs verbs, API groups and resources",
      { rules: [{}] },
      [
        "rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
        "rules[0].resources: Required value: resource rules must supply at least one resource",
      ],
    ],
    [
      "rejects non-resource URLs",
      { rules: [{ ...READ, nonResourceURLs: ["/a"] }] },
      [
        'rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
        'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
      ],
    ],
  ])("that is namespaced %s", (_what, role, sentences) => {
    expect(createErrorsOf(ROLE, role)).toEqual(sentences);
    expect(updateErrorsOf(ROLE, {}, role)).toEqual(sentences);
  });

  test("that is a ClusterRole may have non-resource URLs, and an aggregation rule with valid selectors", () => {
    expect(createErrorsOf(CLUSTER_ROLE, { rules: [{ nonResourceURLs: ["/a"], verbs: ["get"] }] })).toEqual([]);
    expect(createErrorsOf(CLUSTER_ROLE, { aggregationRule: {} })).toEqual([
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
    ]);
    const clusterRoleSelectors = [{ matchExpressions: [{ key: "a", operator: "Is" }] }];
    expect(createErrorsOf(CLUSTER_ROLE, { aggregationRule: { clusterRoleSelectors } })).toEqual([
      'aggregationRule.clusterRoleSelectors[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
      "aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.",
    ]);
  });
});

describe("a role binding", () => {
  const admin = { kind: "ClusterRole", name: "admin" };

  test("defaults the API group of its roleRef, users and groups", () => {
    const subjects = [
      { kind: "User", name: "jane" },
      { kind: "ServiceAccount", name: "s", namespace: "n" },
    ];
    expect(defaulted(ROLE_BINDING, { roleRef: admin, subjects })).toEqual({
      roleRef: { ...admin, apiGroup: GROUP },
      subjects: [{ kind: "User", name: "jane", apiGroup: GROUP }, subjects[1]],
    });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { roleRef: admin }, []],
    [
      "needs a ClusterRole with a name",
      { roleRef: { apiGroup: "x", kind: "Role", name: "" } },
      [
        `roleRef.apiGroup: Unsupported value: "x": supported values: "${GROUP}"`,
        'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
        "roleRef.name: Required value",
      ],
    ],
    [
      "needs a role name without slashes",
      { roleRef: { ...admin, name: "a/b" } },
      ["roleRef.name: Invalid value: \"a/b\": may not contain '/'"],
    ],
    [
      "needs subjects of known kinds with their API groups",
      {
        roleRef: admin,
        subjects: [
          { kind: "Robot" },
          { kind: "Group", name: "g", apiGroup: "x" },
          { kind: "ServiceAccount", name: "s", apiGroup: "x" },
        ],
      },
      [
        "subjects[0].name: Required value",
        'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
        `subjects[1].apiGroup: Unsupported value: "x": supported values: "${GROUP}"`,
        'subjects[2].apiGroup: Unsupported value: "x": supported values: ""',
        "subjects[2].namespace: Required value",
      ],
    ],
  ])("that is a ClusterRoleBinding %s", (_what, binding, sentences) => {
    expect(createErrorsOf(CLUSTER_ROLE_BINDING, binding)).toEqual(sentences);
  });

  test("that is namespaced may refer to a Role, and to service accounts in its own namespace", () => {
    const subjects = [{ kind: "ServiceAccount", name: "s" }];
    expect(createErrorsOf(ROLE_BINDING, { roleRef: { kind: "Role", name: "r" }, subjects })).toEqual([]);
  });

  test("cannot change its roleRef", () => {
    expect(updateErrorsOf(ROLE_BINDING, { roleRef: admin }, { roleRef: { kind: "Role", name: "r" } })).toEqual([
      `roleRef: Invalid value: {"APIGroup":"${GROUP}","Kind":"Role","Name":"r"}: cannot change roleRef`,
    ]);
  });
});
