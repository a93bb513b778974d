import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { RESOURCE_QUOTA } from "./resource-quota.ts";
import {
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";

const quota = (spec: JsonObject): JsonObject => ({ spec });

describe("a ResourceQuota", () => {
  test("stores its amounts in canonical form", () => {
    expect(prepared(RESOURCE_QUOTA, quota({ hard: { cpu: "1000m", memory: "1024Mi" } }))).toEqual({
      spec: { hard: { cpu: "1", memory: "1Gi" } },
      status: {},
    });
  });

  test("rejects unknown resources and invalid amounts", () => {
    const hard = { pods: "1.5", foo: "1", "count/jobs.batch": "2", "requests.a.io/gpu": "1", "limits.cpu": "-1" };
    expect(createErrorsOf(RESOURCE_QUOTA, quota({ hard }))).toEqual([
      'spec.hard[foo]: Invalid value: "foo": must be a standard resource type or fully qualified',
      'spec.hard[foo]: Invalid value: "foo": must be a standard resource for quota',
      'spec.hard[limits.cpu]: Invalid value: "-1": must be greater than or equal to 0',
      'spec.hard[pods]: Invalid value: "1500m": must be an integer',
    ]);
  });

  test("rejects scopes that conflict or do not apply to its resources", () => {
    const scopes = ["BestEffort", "NotBestEffort", "X"];
    const shown = JSON.stringify(scopes);
    expect(createErrorsOf(RESOURCE_QUOTA, quota({ hard: { pods: "1", cpu: "1" }, scopes }))).toEqual([
      `spec.scopes: Invalid value: ${shown}: unsupported scope applied to resource`,
      `spec.scopes: Invalid value: ${shown}: unsupported scope`,
      `spec.scopes: Invalid value: ${shown}: conflicting scopes`,
    ]);
  });

  test("reports only one error if its list of scopes is long", () => {
    const scopes = Array.from({ length: 200 }, () => "X");
    expect(createErrorsOf(RESOURCE_QUOTA, quota({ scopes }))).toHaveLength(1);
  });

  test("validates its scope selector", () => {
    const field = "spec.scopeSelector.matchExpressions";
    const matchExpressions = [
      { scopeName: "BestEffort", operator: "In" },
      { scopeName: "PriorityClass", operator: "Exists", values: ["a"] },
      { scopeName: "Y", operator: "Z" },
    ];
    expect(createErrorsOf(RESOURCE_QUOTA, quota({ hard: { pods: "1" }, scopeSelector: { matchExpressions } }))).toEqual(
      [
        `${field}.operator: Invalid value: "In": must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity`,
        `${field}.values: Required value: must be at least one value when \`operator\` is 'In' or 'NotIn' for scope selector`,
        `${field}.values: Invalid value: ["a"]: must be no value when \`operator\` is 'Exist' or 'DoesNotExist' for scope selector`,
        `${field}.scopeName: Invalid value: "Y": unsupported scope`,
        `${field}.operator: Invalid value: "Z": not a valid selector operator`,
      ],
    );
  });

  test("shows a scope selector in its internal type in errors", () => {
    const scopeSelector = { matchExpressions: [{ scopeName: "BestEffort", operator: "Exists" }] };
    expect(createErrorsOf(RESOURCE_QUOTA, quota({ hard: { cpu: "1" }, scopeSelector }))).toEqual([
      'spec.scopeSelector.matchExpressions: Invalid value: {"MatchExpressions":[{"ScopeName":"BestEffort","Operator":"Exists","Values":null}]}: unsupported scope applied to resource',
    ]);
  });

  test("cannot change its scopes, except their order", () => {
    const before = quota({ scopes: ["BestEffort", "Terminating"] });
    expect(updateErrorsOf(RESOURCE_QUOTA, before, quota({ scopes: ["Terminating", "BestEffort"] }))).toEqual([]);
    expect(updateErrorsOf(RESOURCE_QUOTA, before, quota({}))).toEqual([
      "spec.scopes: Invalid value: null: field is immutable",
    ]);
  });

  test("rejects invalid amounts in its status", () => {
    const metadata = { resourceVersion: "1" };
    expect(statusUpdateErrorsOf(RESOURCE_QUOTA, {}, { metadata, status: { used: { pods: "0.5" } } })).toEqual([
      'status.used[pods]: Invalid value: "500m": must be an integer',
    ]);
  });

  test("causes a warning if requests exceed limits", () => {
    expect(warningsOf(RESOURCE_QUOTA, quota({ hard: { cpu: "2", "limits.cpu": "1", "limits.memory": "1" } }))).toEqual([
      "ResourceQuota cpu (2) should be less than limits.cpu (1)",
    ]);
  });
});
