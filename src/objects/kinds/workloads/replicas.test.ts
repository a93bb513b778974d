import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { CONTROLLER_REVISION } from "./controller-revision.ts";
import { DAEMON_SET } from "./daemon-set.ts";
import { REPLICA_SET } from "./replica-set.ts";
import { REPLICATION_CONTROLLER } from "./replication-controller.ts";
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

const GENERATION = "deprecated.daemonset.template.generation";

describe("a ReplicaSet", () => {
  test("defaults to one replica and a status of zero replicas", () => {
    const set = prepared(REPLICA_SET, workload());
    expect(set["spec"]).toHaveProperty("replicas", 1);
    expect(set["status"]).toEqual({ replicas: 0 });
  });

  test("cannot change its selector", () => {
    const other = { selector: { matchLabels: { a: "b" } }, template: template({ a: "b" }) };
    expect(updated(REPLICA_SET, workload(), workload(other))).toEqual([
      'spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: field is immutable',
    ]);
  });

  test("cannot report more fully labeled replicas than replicas", () => {
    expect(statusUpdated(REPLICA_SET, workload(), { replicas: 1, fullyLabeledReplicas: 2 })).toEqual([
      "status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas",
    ]);
  });
});

describe("a ReplicationController", () => {
  test("defaults its selector and labels to those of its template", () => {
    const controller = defaulted(REPLICATION_CONTROLLER, { metadata: { name: "r" }, spec: { template: template() } });
    expect(controller).toMatchObject({
      metadata: { labels: { app: "web" } },
      spec: { replicas: 1, selector: { app: "web" } },
    });
  });

  test("keeps its own selector and labels", () => {
    const own = { metadata: { name: "r", labels: { a: "b" } }, spec: { selector: { c: "d" }, template: template() } };
    expect(defaulted(REPLICATION_CONTROLLER, own)).toMatchObject(own);
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["needs a selector and a template", {}, ["spec.selector: Required value", "spec.template: Required value"]],
    [
      "rejects template labels that its selector does not match",
      { selector: { app: "db" }, template: template() },
      ['spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'],
    ],
    [
      "rejects pods that run to completion",
      { template: template({ app: "web" }, { restartPolicy: "OnFailure" }), minReadySeconds: -1 },
      [
        "spec.minReadySeconds: Invalid value: -1: must be greater than or equal to 0",
        'spec.template.spec.restartPolicy: Unsupported value: "OnFailure": supported values: "Always"',
      ],
    ],
  ])("%s", (_what, spec, errors) => {
    expect(created(REPLICATION_CONTROLLER, { metadata: { name: "r" }, spec })).toEqual(errors);
  });
});

describe("a DaemonSet", () => {
  test("defaults to updating one pod at a time", () => {
    expect(prepared(DAEMON_SET, workload())).toMatchObject({
      metadata: { annotations: { [GENERATION]: "1" } },
      spec: {
        revisionHistoryLimit: 10,
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
      },
      status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
    });
  });

  test.each<[string, JsonObject, string]>([
    ["keeps its template generation with an unchanged template", { minReadySeconds: 5 }, "1"],
    [
      "increments its template generation with a changed template",
      { template: template({ app: "web" }, { hostNetwork: true }) },
      "2",
    ],
  ])("%s, whatever value the client sends", (_what, spec, generation) => {
    const existing = prepared(DAEMON_SET, workload());
    const next = defaulted(DAEMON_SET, workload(spec, { annotations: { [GENERATION]: "9" } }));
    DAEMON_SET.prepareUpdate?.(next, existing, CONTEXT);
    expect(next["metadata"]).toHaveProperty("annotations", { [GENERATION]: generation });
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ["accepts percentages", { rollingUpdate: { maxUnavailable: "10%" } }, []],
    [
      "rejects both maxSurge and maxUnavailable",
      { rollingUpdate: { maxUnavailable: 1, maxSurge: 1 } },
      ["spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"],
    ],
    [
      "needs a positive maxUnavailable or maxSurge",
      { rollingUpdate: { maxUnavailable: 0 } },
      ["spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"],
    ],
    [
      "rejects an unknown type",
      { type: "Odd" },
      [
        'spec.updateStrategy: Unsupported value: {"Type":"Odd","RollingUpdate":null}: supported values: "RollingUpdate", "OnDelete"',
      ],
    ],
  ])("%s in its update strategy", (_what, updateStrategy, errors) => {
    expect(created(DAEMON_SET, workload({ updateStrategy }))).toEqual(errors);
  });

  test("reports changes of immutable fields before invalid fields", () => {
    expect(updated(DAEMON_SET, workload(), workload({ selector: {} }))).toEqual([
      "spec.selector: Invalid value: {}: field is immutable",
      "spec.selector: Invalid value: {}: empty selector is invalid for daemonset",
    ]);
  });
});

describe("a ControllerRevision", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted with an object", { data: { a: 1 }, revision: 1 }, []],
    ["needs data", { revision: 1 }, ["data: Required value: data is mandatory"]],
    [
      "rejects other data and a negative revision",
      { data: [1], revision: -1 },
      [
        "revision: Invalid value: -1: must be greater than or equal to 0",
        "data: Required value: data must be a valid JSON object",
      ],
    ],
  ])("%s", (_what, revision, errors) => {
    expect(created(CONTROLLER_REVISION, { metadata: { name: "r" }, ...revision })).toEqual(errors);
  });

  test("can change its revision, but not its data", () => {
    const before = { metadata: { name: "r" }, data: { a: 1 }, revision: 1 };
    expect(updated(CONTROLLER_REVISION, before, { ...before, revision: 2 })).toEqual([]);
    expect(updated(CONTROLLER_REVISION, before, { ...before, data: { a: 2 } })).toEqual([
      'data: Invalid value: {"a":2}: field is immutable',
    ]);
  });
});

test("an update of a ReplicationController causes warnings about the stored template, not about the new one", () => {
  const odd = workload({ template: template(undefined, { terminationGracePeriodSeconds: -1 }) }, { generation: 1 });
  const fine = workload({}, { generation: 2 });
  const warnings = (object: JsonObject, existing?: JsonObject): string[] => [
    ...(REPLICATION_CONTROLLER.warnings?.(object, existing, CONTEXT) ?? []),
  ];
  expect(warnings(odd)).toHaveLength(1);
  expect(warnings(fine, odd)).toEqual(warnings(odd));
  expect(warnings(odd, fine)).toEqual([]);
});

test.each([
  ["a ReplicaSet", REPLICA_SET],
  ["a ReplicationController", REPLICATION_CONTROLLER],
  ["a DaemonSet", DAEMON_SET],
])("the status of %s has null for unknown times", (_what, kind) => {
  const object = { ...workload(), status: { conditions: [{ type: "X", status: "True" }] } };
  expect(defaulted(kind, object)["status"]).toMatchObject({ conditions: [{ lastTransitionTime: null }] });
});
