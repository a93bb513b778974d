import { describe, expect, test } from "vitest";
import { withNamespaceConditions, type NamespaceFindings } from "./conditions.ts";
import type { Content } from "./delete-content.ts";
import type { NamespaceCondition } from "./objects.ts";

const EARLIER = "2030-01-01T00:00:00Z";
const NOW = "2030-01-01T00:01:00Z";
const EMPTY: Content = { remaining: [], finalizers: new Map(), estimateSeconds: 0, failures: [] };
const FINE: NamespaceFindings = { isViewCurrent: true, doubts: [], content: EMPTY, purged: undefined };

function messageIn(conditions: readonly NamespaceCondition[], type: string): string {
  const { status, reason, message } = conditions.find((condition) => condition.type === type)!;
  return `${status} ${reason}: ${message}`;
}

describe("without problems", () => {
  test("the conditions have Kubernetes' types, order and wording", () => {
    expect(withNamespaceConditions([], FINE, NOW)).toEqual([
      {
        type: "NamespaceDeletionDiscoveryFailure",
        status: "False",
        lastTransitionTime: NOW,
        reason: "ResourcesDiscovered",
        message: "All resources successfully discovered",
      },
      {
        type: "NamespaceDeletionGroupVersionParsingFailure",
        status: "False",
        lastTransitionTime: NOW,
        reason: "ParsedGroupVersions",
        message: "All legacy kube types successfully parsed",
      },
      {
        type: "NamespaceDeletionContentFailure",
        status: "False",
        lastTransitionTime: NOW,
        reason: "ContentDeleted",
        message: "All content successfully deleted, may be waiting on finalization",
      },
      {
        type: "NamespaceContentRemaining",
        status: "False",
        lastTransitionTime: NOW,
        reason: "ContentRemoved",
        message: "All content successfully removed",
      },
      {
        type: "NamespaceFinalizersRemaining",
        status: "False",
        lastTransitionTime: NOW,
        reason: "ContentHasNoFinalizers",
        message: "All content-preserving finalizers finished",
      },
    ]);
  });

  test("conditions that would not change keep their transition time, and conditions of other types stay", () => {
    const foreign = { type: "example.com/Other", status: "True" };
    const before = withNamespaceConditions([foreign], FINE, EARLIER);
    expect(before[0]).toBe(foreign);
    expect(withNamespaceConditions(before, FINE, NOW)).toBe(before);
  });

  test("a purge is named in the condition NamespaceContentRemaining", () => {
    const conditions = withNamespaceConditions([], { ...FINE, purged: "2030-01-01T00:00:00Z by admin: 2 things" }, NOW);
    expect(messageIn(conditions, "NamespaceContentRemaining")).toBe(
      "False ContentRemoved: All content successfully removed; purged at 2030-01-01T00:00:00Z by admin: 2 things",
    );
  });
});

describe("with remaining content", () => {
  const content: Content = {
    remaining: [
      { group: "", resource: "pods", count: 2 },
      { group: "apps", resource: "deployments", count: 1 },
    ],
    finalizers: new Map([
      ["example.com/b", 1],
      ["example.com/a", 2],
    ]),
    estimateSeconds: 15,
    failures: ["secrets: no", "configmaps: no"],
  };
  const conditions = withNamespaceConditions([], { ...FINE, content }, NOW);

  test.each([
    [
      "NamespaceContentRemaining",
      "True SomeResourcesRemain: Some resources are remaining: deployments.apps has 1 resource instances, pods. has 2 resource instances",
    ],
    [
      "NamespaceFinalizersRemaining",
      "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/a in 2 resource instances, example.com/b in 1 resource instances",
    ],
    [
      "NamespaceDeletionContentFailure",
      "True ContentDeletionFailed: Failed to delete all resource types, 2 remaining: configmaps: no, secrets: no",
    ],
  ])("%s lists the resources, finalizers or failures in a stable order", (type, said) => {
    expect(messageIn(conditions, type)).toBe(said);
  });

  test("the transition time changes only if the status changes, not with the message", () => {
    const fewer = { ...content, remaining: content.remaining.slice(1) };
    const later = withNamespaceConditions(conditions, { ...FINE, content: fewer }, "2030-01-01T00:02:00Z");
    expect(later.find(({ type }) => type === "NamespaceContentRemaining")).toMatchObject({ lastTransitionTime: NOW });
    const done = withNamespaceConditions(later, FINE, "2030-01-01T00:03:00Z");
    expect(done.find(({ type }) => type === "NamespaceContentRemaining")).toMatchObject({
      status: "False",
      lastTransitionTime: "2030-01-01T00:03:00Z",
    });
  });

  test("a long list in a message is truncated", () => {
    const failures = Array.from({ length: 50 }, (_, at) => `resource-${at}: no`);
    const said = messageIn(
      withNamespaceConditions([], { ...FINE, content: { ...EMPTY, failures } }, NOW),
      "NamespaceDeletionContentFailure",
    );
    expect(said).toContain("50 remaining");
    expect(said).toMatch(/and 30 more$/);
  });
});

describe("with doubts", () => {
  test("the condition names the groups, the resources, the server and the reason", () => {
    const doubts = [
      {
        group: "resource.k8s.io",
        resource: "resourceclaims",
        namespaced: true,
        server: "b",
        because: "departed at noon",
      },
      { group: "batch", resource: "jobs", namespaced: true, server: "b", because: "departed at noon" },
      {
        group: undefined,
        resource: undefined,
        namespaced: undefined,
        server: "c",
        because: "has not published anything",
      },
    ];
    expect(messageIn(withNamespaceConditions([], { ...FINE, doubts }, NOW), "NamespaceDeletionDiscoveryFailure")).toBe(
      "True DiscoveryFailed: Discovery failed for some groups, 3 failing: unable to retrieve the complete list of server APIs: any group: c has not published anything, jobs.batch, resourceclaims.resource.k8s.io: b departed at noon",
    );
  });

  test("the condition reports that the live servers are currently unknown", () => {
    const said = messageIn(
      withNamespaceConditions([], { ...FINE, isViewCurrent: false }, NOW),
      "NamespaceDeletionDiscoveryFailure",
    );
    expect(said).toContain("1 failing");
    expect(said).toContain("the live servers are currently unknown");
  });
});
