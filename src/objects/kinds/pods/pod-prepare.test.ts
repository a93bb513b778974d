import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { preparePodCreate, preparePodStatusUpdate } from "./pod-prepare.ts";
import { container, CONTEXT, pod, release } from "../../../../test/testing/objects/kinds/pods/pods.ts";

function created(spec: JsonObject = {}, metadata: JsonObject = {}, context = CONTEXT): JsonObject {
  const object = { ...pod(spec, metadata, context), status: { phase: "Running" } };
  preparePodCreate(object, context);
  return object;
}

describe("a new pod", () => {
  test("is Pending", () => {
    expect(created()["status"]).toEqual({ phase: "Pending", qosClass: "BestEffort" });
  });

  test.each<[resources: JsonObject, qosClass: string]>([
    [{ requests: { cpu: "1" } }, "Burstable"],
    [{ limits: { cpu: "1", memory: "1Gi" } }, "Guaranteed"],
    [{ limits: { cpu: "1" } }, "Burstable"],
    [{ limits: { "example.com/gpu": "1" } }, "BestEffort"],
  ])("with the resources %j has the QoS class %s", (resources, qosClass) => {
    expect(created(container({ resources }))["status"]).toMatchObject({ qosClass });
  });

  test("with pod-level resources has the QoS class of these resources", () => {
    const spec = { resources: { limits: { cpu: "1", memory: "1Gi" } } };
    expect(created(spec)["status"]).toMatchObject({ qosClass: "Guaranteed" });
    expect(created(spec, {}, release("1.33"))["status"]).toMatchObject({ qosClass: "BestEffort" });
  });

  test("with a scheduling gate has a PodScheduled condition with status False", () => {
    expect(created({ schedulingGates: [{ name: "g" }] })["status"]).toMatchObject({
      conditions: [
        { type: "PodScheduled", status: "False", reason: "SchedulingGated", lastTransitionTime: CONTEXT.time },
      ],
    });
  });

  test("merges matchLabelKeys into its label selectors", () => {
    const labelSelector = { matchLabels: { a: "b" } };
    const spec = {
      topologySpreadConstraints: [{ labelSelector, matchLabelKeys: ["app", "none"] }],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { labelSelector, mismatchLabelKeys: ["app"] } },
          ],
        },
      },
    };
    const object = objectAt(created(spec, { labels: { app: "web" } }), "spec");
    const expression = { key: "app", operator: "In", values: ["web"] };
    expect(object["topologySpreadConstraints"]).toMatchObject([
      { labelSelector: { ...labelSelector, matchExpressions: [expression] } },
    ]);
    expect(object["affinity"]).toHaveProperty(
      "podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution.0.podAffinityTerm.labelSelector.matchExpressions",
      [{ ...expression, operator: "NotIn" }],
    );
  });

  test("gets the AppArmor profile of its annotation in a field", () => {
    const annotations = { "container.apparmor.security.beta.kubernetes.io/c": "localhost/p" };
    expect(objectAt(created({}, { annotations }), "spec")["containers"]).toMatchObject([
      { securityContext: { appArmorProfile: { type: "Localhost", localhostProfile: "p" } } },
    ]);
  });
});

test("a status update keeps owner references, QoS class and observed generations", () => {
  const existing = created({}, { ownerReferences: [{ name: "o" }] });
  const before = {
    ...existing,
    status: { qosClass: "BestEffort", observedGeneration: 3, conditions: [{ type: "Ready", observedGeneration: 2 }] },
  };
  const sent: JsonObject = {
    ...existing,
    metadata: { name: "p" },
    status: { phase: "Running", conditions: [{ type: "Ready" }, { type: "Other" }] },
  };
  preparePodStatusUpdate(sent, before, CONTEXT);
  expect(sent["metadata"]).toEqual({ name: "p", ownerReferences: [{ name: "o" }] });
  expect(sent["status"]).toEqual({
    phase: "Running",
    qosClass: "BestEffort",
    observedGeneration: 3,
    conditions: [{ type: "Ready", observedGeneration: 2 }, { type: "Other" }],
  });
});
