import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import type { Attributes } from "../../admission.ts";
import { amountsObject } from "../../../../meta/amounts.ts";
import {
  attributes,
  containers,
  pod,
  rejectionOf,
} from "../../../../../test/testing/access/admission/plugins/attributes.ts";
import { checkRequest, runningQuota } from "./check-request.ts";
import { createEvaluators } from "./evaluators.ts";
import { gatesOf } from "../../../../objects/catalog/release-gates.ts";

const NOW = Date.parse("2030-01-01T00:00:00Z");
const evaluators = createEvaluators({ gates: gatesOf("1.36"), now: () => NOW });

function quota(hard: JsonObject, used: JsonObject, spec: JsonObject = {}): JsonObject {
  return { metadata: { name: "q", namespace: "ns" }, spec: { hard, ...spec }, status: { hard, used } };
}

function usedAfter(given: Attributes, limits: JsonObject): JsonObject {
  const { groupVersion, resource } = given;
  const evaluator = evaluators.of({ group: groupVersion.group, resource });
  return amountsObject(checkRequest([runningQuota(limits)], given, evaluator)[0]!.used);
}

const ONE_CPU = { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2", memory: "1Gi" } };
const POD = pod({ containers: containers(ONE_CPU) });

describe("a pod", () => {
  test("is charged its requests and limits", () => {
    const hard = { cpu: "4", "requests.memory": "4Gi", "limits.cpu": "9", pods: "9", "count/pods": "9", services: "1" };
    const used = {
      cpu: "1",
      "requests.memory": "0",
      "limits.cpu": "500m",
      pods: "1",
      "count/pods": "1",
      services: "1",
    };
    expect(usedAfter(attributes({ object: POD }), quota(hard, used))).toEqual({
      cpu: "2",
      "requests.memory": "1Gi",
      "limits.cpu": "2500m",
      pods: "2",
      "count/pods": "2",
      services: "1",
    });
  });

  const start = '403 pods "p" is forbidden:';
  test.each([
    [
      { pods: "1", cpu: "1" },
      { pods: "1", cpu: "500m" },
      POD,
      "exceeded quota: q, requested: cpu=1,pods=1, used: cpu=500m,pods=1, limited: cpu=1,pods=1",
    ],
    [
      { "limits.memory": "1Gi", cpu: "9" },
      { "limits.memory": "0", cpu: "0" },
      pod({ containers: containers({ requests: { cpu: "1" } }, {}), initContainers: [{ name: "i" }] }),
      "failed quota: q: must specify cpu for: c1,i; limits.memory for: c0,c1,i",
    ],
    [{ pods: "1", cpu: "1" }, { cpu: "0" }, POD, "status unknown for quota: q, resources: cpu,pods"],
    [
      { "requests.example.com/gpu": "1" },
      { "requests.example.com/gpu": "0" },
      pod({ containers: containers({ requests: { "example.com/gpu": "2" } }) }),
      "exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, limited: requests.example.com/gpu=1",
    ],
  ])("is rejected if the quota has the limits %j and the usage %j", async (hard, used, object, why) => {
    expect(await rejectionOf(() => usedAfter(attributes({ object }), quota(hard, used)))).toBe(`${start} ${why}`);
  });

  test("with pod-level resources need not set the limited resources per container", async () => {
    const object = pod({ containers: containers({}), resources: { requests: { cpu: "3" } } });
    expect(usedAfter(attributes({ object }), quota({ cpu: "4" }, { cpu: "0" }))).toEqual({ cpu: "3" });
  });

  test("that has terminated counts only toward count/pods", () => {
    const hard = { pods: "9", "count/pods": "9" };
    const ended = { ...POD, status: { phase: "Succeeded" } };
    const stuck = pod({}, { deletionTimestamp: "2029-12-31T23:59:00Z", deletionGracePeriodSeconds: 30 });
    for (const object of [ended, stuck])
      expect(usedAfter(attributes({ object }), quota(hard, { pods: "0", "count/pods": "0" }))).toEqual({
        pods: "0",
        "count/pods": "1",
      });
  });

  test("that is resized is charged the difference to the resources in its status or spec", () => {
    const existing = pod({ containers: containers(ONE_CPU) }, { resourceVersion: "1" });
    const object = pod({ containers: containers({ requests: { cpu: "3" } }) });
    const given = attributes({ operation: "UPDATE", subresource: "resize", object, existing });
    expect(usedAfter(given, quota({ "requests.cpu": "4" }, { "requests.cpu": "1" }))).toEqual({ "requests.cpu": "3" });
    const had = { ...existing, status: { containerStatuses: [{ name: "c0", resources: { requests: { cpu: "2" } } }] } };
    expect(usedAfter({ ...given, existing: had }, quota({ "requests.cpu": "4" }, { "requests.cpu": "2" }))).toEqual({
      "requests.cpu": "3",
    });
  });

  test("is not charged for an update that changes nothing", () => {
    const given = attributes({ operation: "UPDATE", object: POD, existing: POD });
    expect(usedAfter(given, quota({ cpu: "0" }, {}))).toEqual({});
  });
});

describe("scopes", () => {
  const best = pod({ containers: containers({}) });
  const brief = pod({ containers: containers(ONE_CPU), activeDeadlineSeconds: 5 });
  const urgent = pod({ containers: containers(ONE_CPU), priorityClassName: "high" });
  const term = { topologyKey: "a", namespaceSelector: {} };
  const foreign = pod({
    affinity: { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: term }] } },
  });
  const priority = (operator: string, values: readonly string[] = []): JsonObject => ({
    scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator, values }] },
  });
  test.each([
    [{ scopes: ["BestEffort"] }, best, POD],
    [{ scopes: ["NotBestEffort"] }, POD, best],
    [{ scopes: ["Terminating"] }, brief, POD],
    [{ scopes: ["NotTerminating"] }, POD, brief],
    [{ scopes: ["CrossNamespacePodAffinity"] }, foreign, POD],
    [priority("In", ["high"]), urgent, POD],
    [priority("NotIn", ["high"]), POD, urgent],
    [priority("Exists"), urgent, POD],
    [priority("DoesNotExist"), POD, urgent],
  ])("%j count the pod %j, but not the pod %j", (spec, inside, outside) => {
    const limits = quota({ pods: "9" }, { pods: "0" }, spec);
    expect(usedAfter(attributes({ object: inside }), limits)).toEqual({ pods: "1" });
    expect(usedAfter(attributes({ object: outside }), limits)).toEqual({ pods: "0" });
  });

  test("charge the full usage of a pod that an update moves into the scope", () => {
    const existing = pod({ containers: containers(ONE_CPU) }, { resourceVersion: "1" });
    const given = attributes({ operation: "UPDATE", object: brief, existing });
    const limits = quota({ pods: "9" }, { pods: "0" }, { scopes: ["Terminating"] });
    expect(usedAfter(given, limits)).toEqual({ pods: "1" });
  });
});

describe("objects other than pods", () => {
  const ports = [{ port: 1 }, { port: 2, nodePort: 30000 }];
  test.each([
    ["ClusterIP", {}, { services: "1", "services.nodeports": "0", "services.loadbalancers": "0" }],
    ["NodePort", {}, { services: "1", "services.nodeports": "2", "services.loadbalancers": "0" }],
    ["LoadBalancer", {}, { services: "1", "services.nodeports": "2", "services.loadbalancers": "1" }],
    [
      "LoadBalancer",
      { allocateLoadBalancerNodePorts: false },
      { services: "1", "services.nodeports": "1", "services.loadbalancers": "1" },
    ],
  ])("a Service of type %s with %j uses %j", (type, more, expected) => {
    const hard = { services: "9", "services.nodeports": "9", "services.loadbalancers": "9" };
    const used = { services: "0", "services.nodeports": "0", "services.loadbalancers": "0" };
    const object = { metadata: { name: "s" }, spec: { type, ports, ...more } };
    expect(usedAfter(attributes({ resource: "services", object }), quota(hard, used))).toEqual(expected);
  });

  test("exceeded resources are reported in alphabetical order", async () => {
    const hard = { "services.nodeports": "1", services: "1" };
    const object = { metadata: { name: "s" }, spec: { type: "NodePort", ports } };
    const given = attributes({ resource: "services", object });
    expect(await rejectionOf(() => usedAfter(given, quota(hard, { "services.nodeports": "0", services: "1" })))).toBe(
      '403 services "s" is forbidden: exceeded quota: q, requested: services=1,services.nodeports=2, used: services=1,services.nodeports=0, limited: services=1,services.nodeports=1',
    );
  });

  test("a persistent volume claim is charged its requested storage, rounded up to bytes, or its allocated storage if that is more", () => {
    const hard = { "requests.storage": "9Gi", "fast.storageclass.storage.k8s.io/requests.storage": "9Gi" };
    const used = { "requests.storage": "1", "fast.storageclass.storage.k8s.io/requests.storage": "0" };
    const claim = (storage: string, status: JsonObject): JsonObject => ({
      metadata: { name: "v" },
      spec: { storageClassName: "fast", resources: { requests: { storage } } },
      status,
    });
    const ask = (object: JsonObject) =>
      usedAfter(attributes({ resource: "persistentvolumeclaims", object }), quota(hard, used));
    expect(Object.values(ask(claim("1500m", {})))).toEqual(["3", "2"]);
    expect(Object.values(ask(claim("1", { allocatedResources: { storage: "7" } })))).toEqual(["8", "7"]);
  });

  test.each([
    ["", "configmaps", { configmaps: "1", "count/configmaps": "1" }],
    ["apps", "deployments", { "count/deployments.apps": "1" }],
    ["example.com", "things", { "count/things.example.com": "1" }],
  ])("objects of group %j and resource %s are counted", (group, resource, expected) => {
    const hard = Object.fromEntries(Object.keys(expected).map((name) => [name, "9"]));
    const used = Object.fromEntries(Object.keys(expected).map((name) => [name, "0"]));
    const given = attributes({ groupVersion: { group, version: "v1" }, resource, object: { metadata: {} } });
    expect(usedAfter(given, quota(hard, used))).toEqual(expected);
  });

  test("a resource claim is charged its devices, and for alternative requests the largest number of devices", () => {
    const exactly = { deviceClassName: "gpu", allocationMode: "ExactCount", count: 2 };
    const firstAvailable = [
      { ...exactly, count: 3 },
      { ...exactly, allocationMode: "All" },
    ];
    const object = { metadata: {}, spec: { devices: { requests: [{ exactly }, { firstAvailable }] } } };
    const about = { groupVersion: { group: "resource.k8s.io", version: "v1" }, resource: "resourceclaims" };
    const name = "gpu.deviceclass.resource.k8s.io/devices";
    expect(usedAfter(attributes({ ...about, object }), quota({ [name]: "99" }, { [name]: "0" }))).toEqual({
      [name]: "34",
    });
  });
});
