import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { DEPLOYMENT } from "./deployment.ts";
import {
  CONTEXT,
  created,
  defaulted,
  prepared,
  statusUpdated,
  template,
  updated,
  workload,
} from "../../../../test/testing/objects/kinds/workloads/objects.ts";
import { gatesOf } from "../../catalogue/release-gates.ts";
import type { ReleaseName } from "../../catalogue/release.ts";

const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

describe("a Deployment that says little", () => {
  test("has one replica, rolls by quarters, and keeps ten revisions", () => {
    expect(defaulted(DEPLOYMENT, workload())["spec"]).toMatchObject({
      replicas: 1,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    });
  });

  test("keeps what it says, also a zero, and no numbers for another strategy", () => {
    const spec = { replicas: 0, revisionHistoryLimit: 0, strategy: { type: "Recreate" } };
    expect(defaulted(DEPLOYMENT, workload(spec))["spec"]).toMatchObject(spec);
    expect(defaulted(DEPLOYMENT, workload(spec))["spec"]).not.toHaveProperty("strategy.rollingUpdate");
  });

  test("gets the same defaults once", () => {
    const once = defaulted(DEPLOYMENT, workload());
    expect(defaulted(DEPLOYMENT, once)).toEqual(once);
  });

  test("starts with an empty status", () => {
    expect(prepared(DEPLOYMENT, { ...workload(), status: { replicas: 3 } })["status"]).toEqual({});
  });
});

describe("what is wrong with a Deployment", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["nothing", {}, []],
    ["a negative count", { replicas: -1 }, ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]],
    [
      "no selector",
      { selector: undefined },
      [
        "spec.selector: Required value",
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
      ],
    ],
    [
      "an empty selector",
      { selector: {} },
      ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    ],
    [
      "a selector that cannot be read",
      { selector: { matchExpressions: [{ key: "app", operator: "Is", values: ["web"] }] } },
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Is","values":["web"]}]}: invalid label selector',
      ],
    ],
    [
      "labels that are not selected, in the order of their keys",
      { template: template({ b: "2", app: "other" }) },
      [
        'spec.template.metadata.labels: Invalid value: {"app":"other","b":"2"}: `selector` does not match template `labels`',
      ],
    ],
    [
      "pods that end",
      { template: template({ app: "web" }, { restartPolicy: "Never", activeDeadlineSeconds: 5 }) },
      [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
      ],
    ],
    [
      "a deadline that is over before a pod counts",
      { minReadySeconds: 600 },
      ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    ],
  ])("%s", (_what, spec, errors) => {
    expect(created(DEPLOYMENT, workload({ ...spec }))).toEqual(errors);
  });
});

describe("how a Deployment rolls", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["numbers are fine", { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }, []],
    [
      "not at all",
      { rollingUpdate: { maxSurge: "0%", maxUnavailable: 0 } },
      ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
    ],
    [
      "by what is no share",
      { rollingUpdate: { maxSurge: "some", maxUnavailable: "101%" } },
      [
        `spec.strategy.rollingUpdate.maxSurge: Invalid value: "some": ${PERCENT}`,
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
      ],
    ],
    [
      "although it is recreated",
      { type: "Recreate", rollingUpdate: {} },
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      "in a way nobody knows",
      { type: "Fast", rollingUpdate: { maxSurge: 1 } },
      [
        'spec.strategy: Unsupported value: {"Type":"Fast","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: supported values: "Recreate", "RollingUpdate"',
      ],
    ],
  ])("%s", (_what, strategy, errors) => {
    expect(created(DEPLOYMENT, workload({ strategy }))).toEqual(errors);
  });
});

describe("an update", () => {
  test("may not choose other pods", () => {
    const other = {
      selector: { matchLabels: { app: "web", tier: "x" } },
      template: template({ app: "web", tier: "x" }),
    };
    expect(updated(DEPLOYMENT, workload(), workload(other))).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"x"}}: field is immutable',
    ]);
  });

  test("may write the same selector in another way", () => {
    const same = { selector: { matchLabels: { app: "web" }, matchExpressions: [] } };
    expect(updated(DEPLOYMENT, workload(), workload(same))).toEqual([]);
  });

  test.each([
    ["of annotations counts", { annotations: { a: "2" } }, 6],
    ["of labels does not", { annotations: { a: "1" }, labels: { l: "1" } }, 5],
  ])("%s as a new generation", (_what, metadata, generation) => {
    const existing = workload({}, { generation: 5, annotations: { a: "1" } });
    const next = workload({}, { generation: 5, ...metadata });
    DEPLOYMENT.prepareUpdate?.(next, existing, CONTEXT);
    expect(next["metadata"]).toHaveProperty("generation", generation);
  });
});

describe("a status", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["that adds up is fine", { replicas: 3, readyReplicas: 2, availableReplicas: 1 }, []],
    [
      "cannot have more parts than there are",
      { replicas: 1, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 3 },
      [
        "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
      ],
    ],
    [
      "cannot be negative",
      { unavailableReplicas: -1 },
      ["status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0"],
    ],
  ])("%s", (_what, status, errors) => {
    expect(statusUpdated(DEPLOYMENT, workload(), status)).toEqual(errors);
  });

  test("counts collisions upwards only", () => {
    const before = { ...workload(), status: { collisionCount: 2 } };
    expect(statusUpdated(DEPLOYMENT, before, {})).toEqual([
      "status.collisionCount: Invalid value: 0: cannot be decremented",
    ]);
    expect(statusUpdated(DEPLOYMENT, before, { collisionCount: 3 })).toEqual([]);
  });

  test("comes without labels", () => {
    const next: JsonObject = { ...workload({}, { labels: { mine: "1" } }), status: {} };
    DEPLOYMENT.prepareStatusUpdate?.(next, workload({}, { labels: { old: "1" } }), CONTEXT);
    expect(next["metadata"]).toHaveProperty("labels", { old: "1" });
  });

  test.each<[ReleaseName, number | undefined]>([
    ["1.34", undefined],
    ["1.36", 1],
  ])("of %s", (release, terminatingReplicas) => {
    const next: JsonObject = { ...workload(), status: { terminatingReplicas: 1 } };
    DEPLOYMENT.prepareStatusUpdate?.(next, workload(), { ...CONTEXT, gates: gatesOf(release) });
    expect((next["status"] as JsonObject)["terminatingReplicas"]).toBe(terminatingReplicas);
  });
});

test("a name that is no DNS label is warned about when it is chosen", () => {
  const dotted = workload({}, { name: "a.b" });
  expect([...(DEPLOYMENT.warnings?.(dotted, undefined, CONTEXT) ?? [])]).toEqual([
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ]);
  expect([...(DEPLOYMENT.warnings?.(dotted, dotted, CONTEXT) ?? [])]).toEqual([]);
});

test("what is odd about the template is said when the desired state is new", () => {
  const annotations = { "scheduler.alpha.kubernetes.io/critical-pod": "" };
  const odd = workload(
    { template: { metadata: { labels: { app: "web" }, annotations }, spec: {} } },
    { generation: 1 },
  );
  const newer = { ...odd, metadata: { name: "web", generation: 2 } };
  const warnings = (existing?: JsonObject): string[] => [...(DEPLOYMENT.warnings?.(newer, existing, CONTEXT) ?? [])];
  expect(warnings()).toEqual([
    'spec.template.metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
  ]);
  expect(warnings(odd)).toEqual(warnings());
  expect(warnings(newer)).toEqual([]);
});
