import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { gatesOf } from "../../catalog/release-gates.ts";
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

describe("a minimal StatefulSet", () => {
  test("defaults to one replica, ordered pod management and retained claims", () => {
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

  test("gets claim templates with a kind, an apiVersion and the defaults of a claim", () => {
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

  test("has maxUnavailable from 1.37 on, with the default 1", () => {
    const context = { ...CONTEXT, gates: gatesOf("1.37") };
    const set = (rollingUpdate: JsonObject): JsonObject =>
      prepared(STATEFUL_SET, workload({ updateStrategy: { type: "RollingUpdate", rollingUpdate } }), context);
    const path = ["spec", "updateStrategy", "rollingUpdate"];
    expect(set({})).toHaveProperty(path, { partition: 0, maxUnavailable: 1 });
    expect(set({ maxUnavailable: "30%" })).toHaveProperty(path, { partition: 0, maxUnavailable: "30%" });
  });

  test("drops maxUnavailable", () => {
    const updateStrategy = { type: "RollingUpdate", rollingUpdate: { partition: 1, maxUnavailable: 2 } };
    expect(prepared(STATEFUL_SET, workload({ updateStrategy }))["spec"]).toHaveProperty("updateStrategy", {
      type: "RollingUpdate",
      rollingUpdate: { partition: 1 },
    });
  });
});

describe("a StatefulSet", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["is accepted if it is valid", { serviceName: "web" }, []],
    [
      "rejects an unknown pod management policy",
      { podManagementPolicy: "Random" },
      ["spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'"],
    ],
    [
      "rejects an unknown update strategy",
      { updateStrategy: { type: "Odd" } },
      [
        'spec.updateStrategy: Invalid value: {"Type":"Odd","RollingUpdate":null}: must be \'RollingUpdate\' or \'OnDelete\'',
      ],
    ],
    [
      "rejects a partition for OnDelete",
      { updateStrategy: { type: "OnDelete", rollingUpdate: { partition: 1 } } },
      [
        'spec.updateStrategy.rollingUpdate: Invalid value: {"Partition":1,"MaxUnavailable":null}: only allowed for updateStrategy \'RollingUpdate\'',
      ],
    ],
    [
      "rejects an unknown claim retention policy",
      { persistentVolumeClaimRetentionPolicy: { whenScaled: "Sell" } },
      [
        'spec.persistentVolumeClaimRetentionPolicy.whenScaled: Unsupported value: "Sell": supported values: "Retain", "Delete"',
      ],
    ],
    [
      "rejects a negative first ordinal",
      { ordinals: { start: -1 } },
      ["spec.ordinals.start: Invalid value: -1: must be greater than or equal to 0"],
    ],
    [
      "needs access modes and a storage request in claim templates",
      { volumeClaimTemplates: [{ metadata: { name: "d" } }] },
      [
        "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
      ],
    ],
    [
      "rejects an invalid selector",
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

describe("an update of a StatefulSet", () => {
  test.each<[string, JsonObject, readonly string[]]>([
    ["of mutable fields is accepted", { replicas: 3, minReadySeconds: 1, ordinals: { start: 1 } }, []],
    ["of the template is accepted", { template: template({ app: "web" }, { hostNetwork: true }) }, []],
    ["of the service name is rejected", { serviceName: "other" }, [FORBIDDEN]],
    ["of the claim templates is rejected", { volumeClaimTemplates: [{ metadata: { name: "d" } }] }, [FORBIDDEN]],
  ])("%s", (_what, spec, errors) => {
    expect(updated(STATEFUL_SET, workload(), workload(spec))).toEqual(errors);
  });

  test("may keep an invalid service name", () => {
    const odd = workload({ serviceName: "Bad_Name" });
    expect(created(STATEFUL_SET, odd)).toHaveLength(1);
    expect(updated(STATEFUL_SET, odd, odd)).toEqual([]);
  });
});

test("a status with more available than ready replicas is rejected", () => {
  expect(statusUpdated(STATEFUL_SET, workload(), { replicas: 2, readyReplicas: 1, availableReplicas: 2 })).toEqual([
    "status.availableReplicas: Invalid value: 2: cannot be greater than status.readyReplicas",
  ]);
});

test("in the pods of a StatefulSet, claims become volumes, and hostname and subdomain are removed", () => {
  const spec = {
    volumeClaimTemplates: [{ metadata: { name: "data" } }],
    template: template({}, { hostname: "h", subdomain: "s", volumes: [{ name: "data" }, { name: "tmp" }] }),
  };
  expect(templateWithClaims(spec)["spec"]).toEqual({
    containers: [{ name: "c", image: "example/app:1" }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: "data" } }, { name: "tmp" }],
  });
});

test("a negative revision history limit causes a warning", () => {
  expect([...(STATEFUL_SET.warnings?.(workload({ revisionHistoryLimit: -1 }), undefined, CONTEXT) ?? [])]).toEqual([
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended",
  ]);
});

test.each([
  [undefined, "spec.volumeClaimTemplates[0]"],
  [workload(), "spec.volumeClaimTemplates[0].Spec"],
])("fractional bytes in claim templates cause a warning, on create and on update", (existing, field) => {
  const spec = { resources: { requests: { storage: "1500m" }, limits: { storage: "1Gi" } } };
  const set = workload({ volumeClaimTemplates: [{ metadata: { name: "data" }, spec }] });
  expect([...(STATEFUL_SET.warnings?.(set, existing, CONTEXT) ?? [])]).toEqual([
    `${field}.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`,
  ]);
});

test("the ordinals of a StatefulSet start at 0 by default", () => {
  expect(defaulted(STATEFUL_SET, workload({ ordinals: {} }))["spec"]).toMatchObject({ ordinals: { start: 0 } });
});
