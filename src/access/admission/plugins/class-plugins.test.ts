import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { defaultIngressClass, defaultStorageClass } from "./default-classes.ts";
import { podTopologyLabels, taintNodesByCondition } from "./node-plugins.ts";
import { runtimeClass } from "./runtime-class.ts";
import {
  attributes,
  mutated,
  pod,
  readerOf,
  rejectionOf,
} from "../../../../test/testing/access/admission/plugins/attributes.ts";
import { persistentVolumeClaimResize } from "./volume-claim-resize.ts";

function storageClass(name: string, creationTimestamp: string, annotations: JsonObject, more: JsonObject = {}) {
  return { metadata: { name, creationTimestamp, annotations }, ...more };
}

const DEFAULT = { "storageclass.kubernetes.io/is-default-class": "true" };
const claims = { resource: "persistentvolumeclaims" };

describe("DefaultStorageClass", () => {
  const classes = [
    storageClass("old", "2029-01-01T00:00:00Z", DEFAULT),
    storageClass("b", "2030-01-01T00:00:00Z", DEFAULT),
    storageClass("a", "2030-01-01T00:00:00Z", { "storageclass.beta.kubernetes.io/is-default-class": "true" }),
    storageClass("newest", "2031-01-01T00:00:00Z", {}),
  ];
  const plugin = defaultStorageClass(readerOf({ "storageclasses.storage.k8s.io": classes }));
  test.each([
    [{ metadata: {}, spec: {} }, "a"],
    [{ metadata: {}, spec: { storageClassName: "" } }, ""],
    [{ metadata: { annotations: { "volume.beta.kubernetes.io/storage-class": "x" } }, spec: {} }, undefined],
  ])("sets the newest default class on %j unless the claim names a class", async (object, expected) => {
    const admitted = await mutated(plugin, attributes({ ...claims, object }));
    expect(objectAt(admitted, "spec")["storageClassName"]).toBe(expected);
  });
});

test("DefaultIngressClass sets the default class on an Ingress that names no class", async () => {
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
  const plugin = defaultIngressClass(
    readerOf({ "ingressclasses.networking.k8s.io": [{ metadata: { name: "c", annotations } }] }),
  );
  const about = { groupVersion: { group: "networking.k8s.io", version: "v1" }, resource: "ingresses" };
  const plain = await mutated(plugin, attributes({ ...about, object: { metadata: {}, spec: {} } }));
  expect(plain["spec"]).toEqual({ ingressClassName: "c" });
  const chosen = { metadata: { annotations: { "kubernetes.io/ingress.class": "x" } }, spec: {} };
  expect(await mutated(plugin, attributes({ ...about, object: chosen }))).toBe(chosen);
});

describe("PersistentVolumeClaimResize", () => {
  const plugin = persistentVolumeClaimResize(
    readerOf({
      "storageclasses.storage.k8s.io": [
        storageClass("growing", "", {}, { allowVolumeExpansion: true }),
        storageClass("fixed", "", {}),
      ],
    }),
  );
  const claim = (storage: string, storageClassName: string, phase = "Bound"): JsonObject => ({
    metadata: { name: "v" },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  });
  const start = '403 persistentvolumeclaims "v" is forbidden:';
  const unfit = `${start} only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize`;
  test.each([
    [claim("2Gi", "growing"), claim("1Gi", "growing"), undefined],
    [claim("1Gi", "fixed"), claim("1024Mi", "fixed"), undefined],
    [claim("2Gi", "fixed"), claim("1Gi", "fixed"), unfit],
    [claim("2Gi", "gone"), claim("1Gi", "gone"), unfit],
    [claim("2Gi", "growing"), claim("1Gi", "fixed"), unfit],
    [
      claim("2Gi", "growing"),
      claim("1Gi", "growing", "Pending"),
      `${start} Only bound persistent volume claims can be expanded`,
    ],
  ])("checks an update to %j from %j", async (object, existing, expected) => {
    const given = attributes({ ...claims, operation: "UPDATE", object, existing });
    expect(await rejectionOf(() => plugin.validate?.(given))).toBe(expected);
  });
});

describe("RuntimeClass", () => {
  const kata = {
    metadata: { name: "kata" },
    overhead: { podFixed: { cpu: "250m" } },
    scheduling: { nodeSelector: { disk: "ssd" }, tolerations: [{ key: "a", operator: "Exists" }] },
  };
  const plugin = runtimeClass(readerOf({ "runtimeclasses.node.k8s.io": [kata, { metadata: { name: "plain" } }] }));

  test("adds the overhead, node selector and tolerations of the class to a pod", async () => {
    const narrow = { key: "a", operator: "Equal", value: "v", effect: "NoSchedule" };
    const spec = { runtimeClassName: "kata", nodeSelector: { zone: "z" }, tolerations: [narrow] };
    const admitted = await mutated(plugin, attributes({ object: pod(spec) }));
    expect(admitted["spec"]).toEqual({
      runtimeClassName: "kata",
      overhead: { cpu: "250m" },
      nodeSelector: { zone: "z", disk: "ssd" },
      tolerations: [{ key: "a", operator: "Exists" }],
    });
  });

  const other = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
  test.each([
    ["mutate", { runtimeClassName: "gone" }, 'pod rejected: RuntimeClass "gone" not found'],
    ["mutate", { runtimeClassName: "kata", overhead: { cpu: "1" } }, other],
    [
      "mutate",
      { runtimeClassName: "kata", nodeSelector: { disk: "hdd" } },
      "conflict: runtimeClass.scheduling.nodeSelector[disk] = ssd; pod.spec.nodeSelector[disk] = hdd",
    ],
    ["validate", { runtimeClassName: "kata" }, other],
    [
      "validate",
      { runtimeClassName: "plain", overhead: { cpu: "1" } },
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ],
  ] as const)("rejects in %s a pod with %j", async (ask, spec, why) => {
    const given = attributes({ object: pod(spec) });
    expect(await rejectionOf(() => plugin[ask]?.(given))).toBe(`403 pods "p" is forbidden: ${why}`);
  });
});

test("TaintNodesByCondition adds the not-ready taint to a new node that does not have it", async () => {
  const plugin = taintNodesByCondition();
  const node = await mutated(plugin, attributes({ resource: "nodes", object: { metadata: {}, spec: {} } }));
  expect(node["spec"]).toEqual({ taints: [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }] });
  expect(await mutated(plugin, attributes({ resource: "nodes", object: node }))).toBe(node);
});

test("PodTopologyLabels copies the zone and region labels of the node to pods and bindings", async () => {
  const labels = { "topology.kubernetes.io/zone": "z", other: "x" };
  const plugin = podTopologyLabels(readerOf({ nodes: [{ metadata: { name: "n", labels } }] }));
  const expected = { mine: "y", "topology.kubernetes.io/zone": "z" };
  const placed = await mutated(plugin, attributes({ object: pod({ nodeName: "n" }, { labels: { mine: "y" } }) }));
  expect(objectAt(placed, "metadata")["labels"]).toEqual(expected);
  const binding = { metadata: { labels: { mine: "y" } }, target: { kind: "Node", name: "n" } };
  const bound = await mutated(plugin, attributes({ subresource: "binding", object: binding }));
  expect(objectAt(bound, "metadata")["labels"]).toEqual(expected);
});
