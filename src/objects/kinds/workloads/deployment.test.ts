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
import { gatesOf } from "../../catalog/release-gates.ts";
import type { ReleaseName } from "../../catalog/release.ts";

const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

describe("a minimal Deployment", () => {
  test("defaults to one replica, rolling updates by 25% and ten revisions", () => {
    expect(defaulted(DEPLOYMENT, workload())["spec"]).toMatchObject({
      replicas: 1,
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: "25%", maxUnavailable: "25%" } },
      revisionHistoryLimit: 10,
      progressDeadlineSeconds: 600,
    });
  });

  test("keeps explicit zeros, and gets no rolling update settings for another strategy", () => {
    const spec = { replicas: 0, revisionHistoryLimit: 0, strategy: { type: "Recreate" } };
    expect(defaulted(DEPLOYMENT, workload(spec))["spec"]).toMatchObject(spec);
    expect(defaulted(DEPLOYMENT, workload(spec))["spec"]).not.toHaveProperty("strategy.rollingUpdate");
  });

  test("gets the same defaults if they are set twice", () => {
    const once = defaulted(DEPLOYMENT, workload());
    expect(defaulted(DEPLOYMENT, once)).toEqual(once);
  });

  test("is stored with an empty status on create", () => {
    expect(prepared(DEPLOYMENT, { ...workload(), status: { replicas: 3 } })["status"]).toEqual({});
  });
});

describe("a Deployment", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", {}, []],
    [
      "rejects a negative number of replicas",
      { replicas: -1 },
      ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"],
    ],
    [
      "needs a selector",
      { selector: undefined },
      [
        "spec.selector: Required value",
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
      ],
    ],
    [
      "rejects an empty selector",
      { selector: {} },
      ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"],
    ],
    [
      "rejects an invalid selector",
      { selector: { matchExpressions: [{ key: "app", operator: "Is", values: ["web"] }] } },
      [
        'spec.selector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"Is","values":["web"]}]}: invalid label selector',
      ],
    ],
    [
      "rejects template labels that its selector does not match",
      { template: template({ b: "2", app: "other" }) },
      [
        'spec.template.metadata.labels: Invalid value: {"app":"other","b":"2"}: `selector` does not match template `labels`',
      ],
    ],
    [
      "rejects pods that run to completion",
      { template: template({ app: "web" }, { restartPolicy: "Never", activeDeadlineSeconds: 5 }) },
      [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
      ],
    ],
    [
      "needs a progress deadline after minReadySeconds",
      { minReadySeconds: 600 },
      ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than minReadySeconds"],
    ],
  ])("%s", (_what, spec, errors) => {
    expect(created(DEPLOYMENT, workload({ ...spec }))).toEqual(errors);
  });
});

describe("the update strategy of a Deployment", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["may have numbers", { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }, []],
    [
      "needs a positive maxSurge or maxUnavailable",
      { rollingUpdate: { maxSurge: "0%", maxUnavailable: 0 } },
      ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"],
    ],
    [
      "needs valid percentages",
      { rollingUpdate: { maxSurge: "some", maxUnavailable: "101%" } },
      [
        `spec.strategy.rollingUpdate.maxSurge: Invalid value: "some": ${PERCENT}`,
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%',
      ],
    ],
    [
      "rejects rolling update settings for Recreate",
      { type: "Recreate", rollingUpdate: {} },
      ["spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"],
    ],
    [
      "rejects an unknown type",
      { type: "Fast", rollingUpdate: { maxSurge: 1 } },
      [
        'spec.strategy: Unsupported value: {"Type":"Fast","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":1}}: supported values: "Recreate", "RollingUpdate"',
      ],
    ],
  ])("%s", (_what, strategy, errors) => {
    expect(created(DEPLOYMENT, workload({ strategy }))).toEqual(errors);
  });
});

describe("an update of a Deployment", () => {
  test("cannot change the selector", () => {
    const other = {
      selector: { matchLabels: { app: "web", tier: "x" } },
      template: template({ app: "web", tier: "x" }),
    };
    expect(updated(DEPLOYMENT, workload(), workload(other))).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"app":"web","tier":"x"}}: field is immutable',
    ]);
  });

  test("may add an empty list to the selector, which does not change it", () => {
    const same = { selector: { matchLabels: { app: "web" }, matchExpressions: [] } };
    expect(updated(DEPLOYMENT, workload(), workload(same))).toEqual([]);
  });

  test.each([
    ["of annotations increments the generation", { annotations: { a: "2" } }, 6],
    ["of labels keeps the generation", { annotations: { a: "1" }, labels: { l: "1" } }, 5],
  ])("%s", (_what, metadata, generation) => {
    const existing = workload({}, { generation: 5, annotations: { a: "1" } });
    const next = workload({}, { generation: 5, ...metadata });
    DEPLOYMENT.prepareUpdate?.(next, existing, CONTEXT);
    expect(next["metadata"]).toHaveProperty("generation", generation);
  });
});

describe("the status of a Deployment", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if its counts are consistent", { replicas: 3, readyReplicas: 2, availableReplicas: 1 }, []],
    [
      "cannot count more replicas than there are",
      { replicas: 1, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 3 },
      [
        "status.updatedReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
      ],
    ],
    [
      "cannot have negative counts",
      { unavailableReplicas: -1 },
      ["status.unavailableReplicas: Invalid value: -1: must be greater than or equal to 0"],
    ],
  ])("%s", (_what, status, errors) => {
    expect(statusUpdated(DEPLOYMENT, workload(), status)).toEqual(errors);
  });

  test("cannot decrement its collision count", () => {
    const before = { ...workload(), status: { collisionCount: 2 } };
    expect(statusUpdated(DEPLOYMENT, before, {})).toEqual([
      "status.collisionCount: Invalid value: 0: cannot be decremented",
    ]);
    expect(statusUpdated(DEPLOYMENT, before, { collisionCount: 3 })).toEqual([]);
  });

  test("cannot be used to change the labels of the Deployment", () => {
    const next: JsonObject = { ...workload({}, { labels: { mine: "1" } }), status: {} };
    DEPLOYMENT.prepareStatusUpdate?.(next, workload({}, { labels: { old: "1" } }), CONTEXT);
    expect(next["metadata"]).toHaveProperty("labels", { old: "1" });
  });

  test.each<[ReleaseName, number | undefined]>([
    ["1.34", undefined],
    ["1.36", 1],
  ])("keeps or drops terminatingReplicas in %s", (release, terminatingReplicas) => {
    const next: JsonObject = { ...workload(), status: { terminatingReplicas: 1 } };
    DEPLOYMENT.prepareStatusUpdate?.(next, workload(), { ...CONTEXT, gates: gatesOf(release) });
    expect((next["status"] as JsonObject)["terminatingReplicas"]).toBe(terminatingReplicas);
  });
});

test("the name of a Deployment that is not a DNS label causes a warning on create", () => {
  const dotted = workload({}, { name: "a.b" });
  expect([...(DEPLOYMENT.warnings?.(dotted, undefined, CONTEXT) ?? [])]).toEqual([
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ]);
  expect([...(DEPLOYMENT.warnings?.(dotted, dotted, CONTEXT) ?? [])]).toEqual([]);
});

test("the template of a Deployment causes warnings on create, and on an update that increments the generation", () => {
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
