import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { templateWithClaims } from "./claim-templates.ts";
import { STATEFUL_SET } from "./stateful-set.ts";
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

const FORBIDDEN =
  "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

describe("a StatefulSet that says little", () => {
  test("runs one pod after the other, and keeps claims", () => {
    const set = prepared(STATEFUL_SET, workload());
    expect(set["spec"]).toMatchObject({
      replicas: 1,
      serviceName: "",
      podManagementPolicy: "OrderedReady",
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 0 } },
      revisionHistoryLimit: 10,
      persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
    });
    expect(set["status"]).toEqual({ replicas: 0, availableReplicas: 0 });
  });

  test("has claims that are complete, whatever they call themselves", () => {
    const claim = { kind: "Odd", metadata: { name: "data" }, spec: { resources: { requests: { storage: "1Gi" } } } };
    expect(defaulted(STATEFUL_SET, workload({ volumeClaimTemplates: [claim] }))["spec"]).toMatchObject({
      volumeClaimTemplates: [
        {
          kind: "PersistentVolumeClaim",
          apiVersion: "v1",
          metadata: { name: "data" },
          spec: { volumeMode: "Filesystem", resources: { requests: { storage: "1Gi" } } },
          status: { phase: "Pending" },
        },
      ],
    });
  });

  test("cannot say how many may be missing", () => {
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 1, maxUnavailable: 2 } };
    expect(prepared(STATEFUL_SET, workload({ updateStrategy }))["spec"]).toHaveProperty("updateStrategy", {
      type: "RollingUpdate",
      rollingUpdate: { partition: 1 },
    });
  });
});

describe("what is wrong with a StatefulSet", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["nothing", { serviceName: "web" }, []],
    [
      "an order nobody knows",
      { podManagementPolicy: "Random" },
      ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
    ],
    [
      "a strategy nobody knows",
      { updateStrategy: { type: "Odd" } },
      [
        'spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
      ],
    ],
    [
      "a partition of what is not rolled",
      { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } },
      [
        'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
      ],
    ],
    [
      "claims of no known end",
      { persistentVolumeClaimRetentionPolicy: { whenScaled: "Sell" } },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Sell": supported values: "Retain", "Delete"',
      ],
    ],
    [
      "a first number below none",
      { ordinals: { start: -1 } },
      ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
    ],
    [
      "claims of nothing",
      { volumeClaimTemplates: [{ metadata: { name: "d" } }] },
      [
        "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
      ],
    ],
    [
      "a selector that cannot be read",
      { selector: { matchExpressions: [{ key: "app", operator: "In" }] } },
      [
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        'spec.selector: Invalid value: {"matchExpressions":[{"key":"app","operator":"In"}]}',
      ],
    ],
  ])("%s", (_what, spec, errors) => {
    expect(created(STATEFUL_SET, workload(spec))).toEqual(errors);
  });
});

describe("an update", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["of what may change", { replicas: 3, minReadySeconds: 1, ordinals: { start: 1 } }, []],
    ["of the template", { template: template({ app: "web" }, { hostNetwork: true }) }, []],
    ["of the service", { serviceName: "other" }, [FORBIDDEN]],
    ["of the claims", { volumeClaimTemplates: [{ metadata: { name: "d" } }] }, [FORBIDDEN]],
  ])("%s", (_what, spec, errors) => {
    expect(updated(STATEFUL_SET, workload(), workload(spec))).toEqual(errors);
  });

  test("may keep the bad name of a service", () => {
    const odd = workload({ serviceName: "Bad_Name" });
    expect(created(STATEFUL_SET, odd)).toHaveLength(1);
    expect(updated(STATEFUL_SET, odd, odd)).toEqual([]);
  });
});

test("a status that does not add up", () => {
  expect(statusUpdated(STATEFUL_SET, workload(), { replicas: 2, readyReplicas: 1, availableReplicas: 2 })).toEqual([
    "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
  ]);
});

test("claims are volumes of the pods, which have no names of their own", () => {
  const spec = {
    volumeClaimTemplates: [{ metadata: { name: "data" } }],
    template: template({}, { hostname: "h", subdomain: "s", volumes: [{ name: "data" }, { name: "tmp" }] }),
  };
  expect(templateWithClaims(spec)["spec"]).toEqual({
    containers: [{ name: "c", image: "example/app:1" }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }, { name: "tmp" }],
  });
});

test("a negative limit of revisions is warned about", () => {
  expect([...(STATEFUL_SET.warnings?.(workload({ revisionHistoryLimit: -1 }), undefined, CONTEXT) ?? [])]).toEqual([
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
  ]);
});

test.each([
  [undefined, "spec.volumeClaimTemplates[0]"],
  [workload(), "spec.volumeClaimTemplates[0].Spec"],
])("half a byte is worth a warning, of something new or old", (existing, field) => {
  const spec = { resources: { requests: { storage: "1500m" }, limits: { storage: "1Gi" } } };
  const set = workload({ volumeClaimTemplates: [{ metadata: { name: "data" }, spec }] });
  expect([...(STATEFUL_SET.warnings?.(set, existing, CONTEXT) ?? [])]).toEqual([
    `${field}.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
  ]);
});

test("ordinals start somewhere", () => {
  expect(defaulted(STATEFUL_SET, workload({ ordinals: {} }))["spec"]).toMatchObject({ ordinals: { start: 0 } });
});
