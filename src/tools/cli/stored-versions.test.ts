import { expect, test } from "vitest";
import { ProgressLine } from "./progress-line.ts";
import { rollbackFindingsText, rollbackCheckPath, rollbackCheckText } from "./rollback-check.ts";
import { storedVersionsText } from "./stored-versions.ts";

const CLAIMS = {
  group: "resource.k8s.io",
  resource: "resourceclaims",
  writes: "resource.k8s.io/v1",
  versions: [
    { apiVersion: "resource.k8s.io/v1", objects: 3 },
    { apiVersion: "resource.k8s.io/v1beta1", objects: 1 },
  ],
  unreadable: 2,
};
const PODS = {
  group: "",
  resource: "pods",
  writes: "v1",
  versions: [{ apiVersion: "v1", objects: 10 }],
  unreadable: 0,
};
const GONE = { group: "a.io", resource: "old", versions: [{ apiVersion: "a.io/v1", objects: 1 }], unreadable: 0 };
const SURVEY = { release: "1.36", revision: 42, isSnapshot: true, privateKeys: 0, unknown: [] };

test("the table has a row for each resource and version, and marks the rows that need attention", () => {
  expect(storedVersionsText({ ...SURVEY, resources: [PODS, CLAIMS, GONE] })).toBe(
    [
      "RESOURCE                        VERSION                  OBJECTS  NOTE",
      "pods                            v1                       10",
      "resourceclaims.resource.k8s.io  resource.k8s.io/v1       3        ! one of 2 stored versions",
      "resourceclaims.resource.k8s.io  resource.k8s.io/v1beta1  1        ! one of 2 stored versions, 1.36 writes resource.k8s.io/v1",
      "resourceclaims.resource.k8s.io  unknown                  2        ! cannot be decoded",
      "old.a.io                        a.io/v1                  1        ! 1.36 does not have this resource",
      "",
      "15 objects of 3 resources at revision 42.",
      "",
    ].join("\n"),
  );
});

test("the notes name both releases of a server that emulates one", () => {
  const text = storedVersionsText({ ...SURVEY, binary: "1.37", resources: [CLAIMS] });
  expect(text).toContain("1.37 as 1.36 writes resource.k8s.io/v1\n");
});

test("keys of unknown resources, and limits of the report's accuracy, are reported after the table", () => {
  const unknown = [{ prefix: "example.com/widgets", keys: 2 }];
  const text = storedVersionsText({ ...SURVEY, resources: [], privateKeys: 7, unknown, isSnapshot: false });
  expect(text).toContain("and 7 internal keys of servers.\n");
  expect(text).toContain("for example of custom resources: example.com/widgets (2).\n");
  expect(text).toContain("History was compacted");
});

test("an invalid report is still shown as a table, without control characters", () => {
  expect(storedVersionsText({})).toMatch(/^RESOURCE/);
  const resources = [{ ...PODS, resource: "\u001b[31mred" }, null, 1];
  expect(storedVersionsText({ ...SURVEY, resources })).not.toContain("\u001b");
  expect(rollbackCheckText({ findings: [{ names: [{ name: "\u001b[31m" }], count: 1 }] })).not.toContain("\u001b");
});

const FINDINGS = [
  {
    problem: "unreadable",
    group: "resource.k8s.io",
    resource: "resourceclaims",
    storedVersion: "resource.k8s.io/v1",
    reason: "it cannot be read",
    count: 4,
    names: [
      { namespace: "a", name: "one" },
      { namespace: "b", name: "two" },
    ],
  },
  { group: "", resource: "nodes", storedVersion: "v1", reason: "it is not served", count: 1, names: [{ name: "n" }] },
];

test("rollback-check lists objects by reason, and counts those that it does not name", () => {
  expect(rollbackCheckText({ ...SURVEY, to: "1.33", objects: 20, findings: FINDINGS, broken: [] })).toBe(
    [
      "A server of Kubernetes 1.33 could not read or would not serve 5 of 20 objects.",
      "",
      "it cannot be read:",
      "  resourceclaims.resource.k8s.io a/one (resource.k8s.io/v1)",
      "  resourceclaims.resource.k8s.io b/two (resource.k8s.io/v1)",
      "  and 2 more",
      "it is not served:",
      "  nodes n (v1)",
      "",
      "",
    ].join("\n"),
  );
  expect(rollbackFindingsText({ findings: FINDINGS }, 1)).toContain("and 3 more\nit is not served:\n  1 more\n");
});

test("rollback-check without findings prints one sentence, followed by the values that no release can decode", () => {
  const broken = [{ group: "", resource: "secrets", count: 2, names: [{ namespace: "a", name: "s" }] }];
  expect(rollbackCheckText({ ...SURVEY, to: "1.33", objects: 20, findings: [], broken })).toBe(
    "A server of Kubernetes 1.33 can read and serve all 20 objects.\n" +
      "2 values of secrets cannot be decoded by any release, for example a/s.\n",
  );
});

test("rollback-check sends the emulated version, runtime config and feature gates of the target release with its request", () => {
  const target = { to: "1.33", runtimeConfig: ["a/v1=true", "b/v1=false"], featureGates: ["G=true"] };
  expect(rollbackCheckPath(target)).toBe(
    "/evenkeel/v1/rollback-check?to=1.33&runtimeConfig=a%2Fv1%3Dtrue&runtimeConfig=b%2Fv1%3Dfalse&featureGates=G%3Dtrue",
  );
  expect(rollbackCheckPath({ ...target, emulatedVersion: ["1.31"] })).toMatch(/\?to=1\.33&emulatedVersion=1\.31&/);
});

test("progress of a large store is shown on a terminal, and then cleared", () => {
  const shown = (isTTY: boolean, total: number): string => {
    let text = "";
    const line = new ProgressLine({ isTTY, write: (more) => (text += more) });
    line.show({ done: total / 2, total });
    line.clear();
    return text;
  };
  expect(shown(true, 10_000)).toBe(`\r[${"#".repeat(15)}${".".repeat(15)}] 50% of 10000 keys\r\u001b[K`);
  expect(shown(false, 10_000)).toBe("");
  expect(shown(true, 100)).toBe("");
});
