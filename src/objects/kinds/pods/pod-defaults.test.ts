import { describe, expect, test } from "vitest";
import { objectAt, objectsAt, type JsonObject } from "../../../meta/json.ts";
import { setPodDefaults } from "./pod-defaults.ts";
import { setPodTemplateDefaults } from "./pod-template.ts";
import { container, CONTEXT, pod, release } from "../../../../test/testing/objects/kinds/pods/pods.ts";

function specOf(spec: JsonObject, context = CONTEXT): JsonObject {
  return objectAt(pod(spec, {}, context), "spec");
}

function containerOf(more: JsonObject): JsonObject {
  return objectsAt(specOf(container(more)), "containers")[0]!;
}

function volumeOf(source: JsonObject): JsonObject {
  return objectsAt(specOf({ volumes: [{ name: "v", ...source }] }), "volumes")[0]!;
}

test("a minimal pod defaults to restart policy Always, cluster DNS and a grace period of 30 seconds", () => {
  expect(specOf({})).toEqual({
    containers: [
      {
        name: "c",
        image: "example/app:1",
        imagePullPolicy: "IfNotPresent",
        resources: {},
        terminationMessagePath: "/dev/termination-log",
        terminationMessagePolicy: "File",
      },
    ],
    dnsPolicy: "ClusterFirst",
    enableServiceLinks: true,
    restartPolicy: "Always",
    schedulerName: "default-scheduler",
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  });
});

test("setting the defaults of a pod twice equals setting them once", () => {
  const spec = {
    ...container({
      ports: [{ containerPort: 80 }],
      resources: { limits: { cpu: "1500m", memory: "1024Mi" } },
      livenessProbe: { httpGet: { port: 80 } },
    }),
    hostNetwork: true,
    serviceAccount: "robot",
    volumes: [{ name: "a" }, { name: "b", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }],
  };
  const once = pod(spec);
  const twice = structuredClone(once);
  setPodDefaults(twice, CONTEXT);
  expect(twice).toEqual(once);
});

test("a template does not get the defaults that only pods have", () => {
  const workload: JsonObject = {
    template: {
      spec: {
        hostNetwork: true,
        ...container({ ports: [{ containerPort: 80 }], resources: { limits: { cpu: "1" } } }),
      },
    },
  };
  setPodTemplateDefaults(workload, CONTEXT);
  const template = objectAt(workload, "template");
  expect(template["metadata"]).toEqual({});
  expect(objectAt(template, "spec")).not.toHaveProperty("enableServiceLinks");
  expect(objectAt(template, "spec")["containers"]).toMatchObject([
    { ports: [{ containerPort: 80, protocol: "TCP" }], resources: { limits: { cpu: "1" } } },
  ]);
  expect(objectAt(template, "spec")["containers"]).not.toHaveProperty("0.resources.requests");
  expect(objectAt(template, "spec")["containers"]).not.toHaveProperty("0.ports.0.hostPort");
});

describe("a container", () => {
  test("defaults its requests to its limits, and rounds amounts up to canonical thousandths", () => {
    expect(containerOf({ resources: { limits: { cpu: "1000m", memory: "1024Mi" } } })["resources"]).toEqual({
      limits: { cpu: "1", memory: "1Gi" },
      requests: { cpu: "1", memory: "1Gi" },
    });
    expect(containerOf({ resources: { requests: { cpu: "0.0001" } } })["resources"]).toEqual({
      requests: { cpu: "1m" },
    });
  });

  test("on the host network defaults its host ports to its container ports", () => {
    const spec = { hostNetwork: true, ...container({ ports: [{ containerPort: 80 }] }) };
    expect(specOf(spec)["containers"]).toMatchObject([{ ports: [{ hostPort: 80 }] }]);
  });

  test("has probes with a default period of ten seconds", () => {
    const times = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
    expect(
      containerOf({
        livenessProbe: { httpGet: { port: 80 } },
        readinessProbe: { grpc: { port: 80 }, periodSeconds: 5 },
        lifecycle: { preStop: { httpGet: { port: "http" } } },
      }),
    ).toMatchObject({
      livenessProbe: { ...times, httpGet: { path: "/", scheme: "HTTP" } },
      readinessProbe: { ...times, periodSeconds: 5, grpc: { service: "" } },
      lifecycle: { preStop: { httpGet: { path: "/", scheme: "HTTP" } } },
    });
  });

  test("defaults the API version of field references and the divisor of resource references", () => {
    const env = [
      { name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "B", valueFrom: { resourceFieldRef: { resource: "limits.cpu" } } },
    ];
    expect(containerOf({ env })["env"]).toMatchObject([
      { valueFrom: { fieldRef: { apiVersion: "v1" } } },
      { valueFrom: { resourceFieldRef: { divisor: "0" } } },
    ]);
  });
});

test.each<[source: JsonObject, completed: JsonObject]>([
  [{}, { emptyDir: {} }],
  [{ secret: { secretName: "s" } }, { secret: { secretName: "s", defaultMode: 420 } }],
  [{ configMap: { name: "c", defaultMode: 0 } }, { configMap: { name: "c", defaultMode: 0 } }],
  [{ hostPath: { path: "/x" } }, { hostPath: { path: "/x", type: "" } }],
  [{ iscsi: { iqn: "i" } }, { iscsi: { iqn: "i", iscsiInterface: "default" } }],
  [{ rbd: {} }, { rbd: { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" } }],
  [{ azureDisk: {} }, { azureDisk: { cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" } }],
  [{ scaleIO: {} }, { scaleIO: { storageMode: "ThinProvisioned", fsType: "xfs" } }],
  [{ image: { reference: "a:1" } }, { image: { reference: "a:1", pullPolicy: "IfNotPresent" } }],
  [
    { projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
    { projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 3600 } }], defaultMode: 420 } },
  ],
  [
    { ephemeral: { volumeClaimTemplate: { spec: { accessModes: ["ReadWriteOnce"] } } } },
    {
      ephemeral: {
        volumeClaimTemplate: {
          metadata: {},
          spec: { accessModes: ["ReadWriteOnce"], volumeMode: "Filesystem", resources: {} },
        },
      },
    },
  ],
])("the volume %j defaults to %j", (source, completed) => {
  expect(volumeOf(source)).toEqual({ name: "v", ...completed });
});

describe("a pod", () => {
  test("keeps serviceAccount and serviceAccountName equal", () => {
    const both = { serviceAccount: "robot", serviceAccountName: "robot" };
    expect(specOf({ serviceAccount: "robot" })).toMatchObject(both);
    expect(specOf({ serviceAccountName: "robot", serviceAccount: "other" })).toMatchObject(both);
  });

  test("raises a negative grace period to one second", () => {
    expect(specOf({ terminationGracePeriodSeconds: -5 })["terminationGracePeriodSeconds"]).toBe(1);
  });

  test("with pod-level limits defaults its requests to the sums of its containers, if the release supports it", () => {
    const spec = {
      resources: { limits: { cpu: "4", memory: "1Gi" } },
      containers: [
        { name: "a", image: "a", resources: { requests: { cpu: "500m" } } },
        { name: "b", image: "b", resources: { requests: { cpu: "1500m" } } },
      ],
      initContainers: [
        { name: "s", image: "s", restartPolicy: "Always", resources: { requests: { cpu: "1" } } },
        { name: "i", image: "i", resources: { requests: { cpu: "3" } } },
      ],
    };
    expect(specOf(spec)["resources"]).toMatchObject({ requests: { cpu: "4", memory: "1Gi" } });
    expect(specOf(spec, release("1.33"))["resources"]).not.toHaveProperty("requests");
  });

  test("has its first IP address in podIP, too", () => {
    const object: JsonObject = { ...pod(), status: { podIPs: [{ ip: "10.0.0.1" }] } };
    setPodDefaults(object, CONTEXT);
    expect(object["status"]).toEqual({ podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] });
    object["status"] = { podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.1" }] };
    setPodDefaults(object, CONTEXT);
    expect(object["status"]).toEqual({ podIP: "10.0.0.2", podIPs: [{ ip: "10.0.0.2" }] });
  });
});

test("a pod status has null for unknown times and empty states", () => {
  const object: JsonObject = {
    ...pod(),
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      containerStatuses: [{ name: "c", state: { running: {} }, lastState: { terminated: { exitCode: 1 } } }, {}],
    },
  };
  setPodDefaults(object, CONTEXT);
  const unknown = { image: "", imageID: "", ready: false, restartCount: 0 };
  expect(object["status"]).toEqual({
    conditions: [{ type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: null }],
    containerStatuses: [
      {
        ...unknown,
        name: "c",
        state: { running: { startedAt: null } },
        lastState: { terminated: { exitCode: 1, startedAt: null, finishedAt: null } },
      },
      { ...unknown, name: "", state: {}, lastState: {} },
    ],
  });
});

test("zero values that Go always writes are added to a pod", () => {
  const preferred = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] } };
  const spec = specOf({ affinity: preferred, securityContext: { sysctls: [{ name: "kernel.shm" }] } });
  expect(spec).toMatchObject({
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: {} }] } },
    securityContext: { sysctls: [{ name: "kernel.shm", value: "" }] },
  });
  expect(containerOf({ lifecycle: { preStop: { sleep: {} } } })).toMatchObject({
    lifecycle: { preStop: { sleep: { seconds: 0 } } },
  });
  const httpGet = { port: 80, httpHeaders: [{ name: "X-A" }] };
  expect(containerOf({ livenessProbe: { httpGet } })).toMatchObject({
    livenessProbe: { httpGet: { httpHeaders: [{ name: "X-A", value: "" }] } },
  });
});
