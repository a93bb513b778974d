/** Tests of kubectl describe, and of waiting for the creation of an object. */
import { expect, test } from "vitest";
import { IN_ORDER, type KubectlSession } from "./kubectl-session.ts";
import { configMap, deployment, service } from "./manifests.ts";

const OF_DESCRIBED = ["pod/described", "service/described", "deployment/described"];

export function testDescribing(session: () => KubectlSession): void {
  test("describe shows a pod, a workload, a service and their events", IN_ORDER, async () => {
    const kubectl = session();
    const containers = [{ name: "main", image: "nginx:1", env: [{ name: "A", value: "1" }] }];
    const metadata = { name: "described", labels: { app: "described" } };
    const pod = { apiVersion: "v1", kind: "Pod", metadata, spec: { containers } };
    const { body: made } = await kubectl.server.request("POST", kubectl.path("pods"), pod);
    await kubectl.server.request("POST", kubectl.path("services"), service("described", [{ name: "http", port: 80 }]));
    const workload = deployment("described", containers, { replicas: 2 });
    await kubectl.server.request("POST", kubectl.path("deployments", "apps/v1"), workload);
    const { namespace, name, uid } = made.metadata;
    await kubectl.server.request("POST", kubectl.path("events"), {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "described-event" },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid },
      reason: "Tested",
      message: "it was seen",
      type: "Normal",
      count: 1,
      firstTimestamp: made.metadata.creationTimestamp,
      lastTimestamp: made.metadata.creationTimestamp,
    });
    const reported = await kubectl.run("describe", "--show-events=true", ...OF_DESCRIBED);
    for (const part of [
      /^Status: +Pending$/m,
      /^ +Environment:\n +A: +1$/m,
      /^QoS Class: +BestEffort$/m,
      /^Events:\n +Type +Reason +Age +From +Message\n[- ]+\n +Normal +Tested .* it was seen$/m,
      /^Port: +http +80\/TCP\nTargetPort: +80\/TCP$/m,
      /^Replicas: +2 desired \| 0 updated \| 0 total \| 0 available \| 0 unavailable$/m,
      /^StrategyType: +RollingUpdate\nMinReadySeconds: +0\nRollingUpdateStrategy: +25% max unavailable, 25% max surge$/m,
    ])
      expect(reported).toMatch(part);
  });
}

/** kubectl supports --for=create from 1.31 on. */
export function testWaitingForCreation(session: () => KubectlSession): void {
  test("wait --for=create ends when the object exists", IN_ORDER, async () => {
    const kubectl = session();
    await using waiting = kubectl.start("wait", "--for=create", "configmap/late", "--timeout=30s");
    expect(await kubectl.run("get", "configmap", "late", "--ignore-not-found")).toBe("");
    await kubectl.server.request("POST", kubectl.path("configmaps"), configMap("late"));
    expect((await waiting.exited).code).toBe(0);
    expect(waiting.stdout).toBe("configmap/late condition met\n");
  });
}
