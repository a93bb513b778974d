/** Tests of the defaulting, validation and update rules of pods through the whole server. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { header, pod, PODS, startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

let server: TestServer;

beforeEach(async () => {
  server = await startServer();
});

afterEach(() => server[Symbol.asyncDispose]());

function withSpec(name: string, spec: Json): Json {
  const plain = pod(name);
  return { ...plain, spec: { ...plain.spec, ...spec } };
}

function rejection({ status, body }: ApiTestResponse): [number, string[]] {
  return [status, body.details.causes.map(({ field, message }: Json) => `${field}: ${message}`)];
}

describe("a new pod", () => {
  test("gets its defaults and the phase Pending, and its creator owns the sent and the defaulted fields, but not those that admission plugins set", async () => {
    const { status, body } = await server.create(PODS, pod("a"));
    expect(status).toBe(201);
    expect(body.status).toEqual({ phase: "Pending", qosClass: "BestEffort" });
    expect(body.spec).toMatchObject({
      dnsPolicy: "ClusterFirst",
      enableServiceLinks: true,
      preemptionPolicy: "PreemptLowerPriority",
      priority: 0,
      tolerations: [{ key: "node.kubernetes.io/not-ready" }, { key: "node.kubernetes.io/unreachable" }],
    });
    const [{ fieldsV1 }] = body.metadata.managedFields;
    expect(Object.keys(fieldsV1["f:spec"])).toContain("f:enableServiceLinks");
    expect(Object.keys(fieldsV1["f:spec"])).not.toContain("f:tolerations");
  });

  test("that is invalid is rejected with all errors, in order", async () => {
    const wrong = withSpec("a", { restartPolicy: "Maybe", containers: [{ name: "main" }], volumes: [{ name: "V" }] });
    expect(rejection(await server.create(PODS, wrong))).toEqual([
      422,
      [
        expect.stringMatching(/^spec\.volumes\[0\]\.name: Invalid value: "V": a lowercase RFC 1123 label/),
        "spec.containers[0].image: Required value",
        'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
      ],
    ]);
  });

  test("with a duplicate environment variable is stored with a warning", async () => {
    const env = [
      { name: "A", value: "1" },
      { name: "A", value: "2" },
    ];
    const response = await server.create(PODS, withSpec("a", { containers: [{ name: "main", image: "main", env }] }));
    expect(response.status).toBe(201);
    expect(header(response, "warning")).toBe(
      '299 - "spec.containers[0].env[1]: hides previous definition of \\"A\\", which may be dropped when using apply"',
    );
  });

  test("with a scheduling gate has a condition, and the gate can be removed", async () => {
    const { body } = await server.create(PODS, withSpec("a", { schedulingGates: [{ name: "g" }] }));
    expect(body.status.conditions).toMatchObject([
      { type: "PodScheduled", status: "False", reason: "SchedulingGated" },
    ]);
    expect((await server.mergePatch(`${PODS}/a`, { spec: { schedulingGates: null } })).status).toBe(200);
  });
});

describe("an existing pod", () => {
  beforeEach(() => server.create(PODS, pod("a")));

  test("is not changed by a PUT of the manifest from which it was created", async () => {
    const { body: before } = await server.get(`${PODS}/a`);
    const { status, body } = await server.put(`${PODS}/a`, pod("a"));
    expect([status, body]).toEqual([200, before]);
  });

  test("accepts a new image and new labels", async () => {
    const { body } = await server.mergePatch(`${PODS}/a`, {
      metadata: { labels: { x: "y" } },
      spec: { containers: [{ name: "main", image: "other", imagePullPolicy: "Always" }] },
    });
    expect(body.spec.containers[0].image).toBe("other");
    expect(body.metadata.generation).toBe(2);
  });

  test("rejects a change of its hostname with a diff", async () => {
    const [status, causes] = rejection(await server.mergePatch(`${PODS}/a`, { spec: { hostname: "h" } }));
    expect(status).toBe(422);
    expect(causes).toEqual([
      expect.stringMatching(
        /^spec: Forbidden: pod updates may not change fields other than [^]*\n- "Hostname": "",\n\+ "Hostname": "h",\n/,
      ),
    ]);
  });

  test("accepts an update of its status, but not a change of its QoS class", async () => {
    const running = await server.mergePatch(`${PODS}/a/status`, { status: { phase: "Running", podIP: "10.0.0.1" } });
    expect(running.body.status).toEqual({
      phase: "Running",
      podIP: "10.0.0.1",
      podIPs: [{ ip: "10.0.0.1" }],
      qosClass: "BestEffort",
    });
    const other = await server.mergePatch(`${PODS}/a/status`, { status: { qosClass: "Guaranteed" } });
    expect(rejection(other)).toEqual([422, ['status.qosClass: Invalid value: "Guaranteed": field is immutable']]);
  });

  test("gets the missing values of its status filled in", async () => {
    const status = { conditions: [{ type: "Ready", status: "True" }], containerStatuses: [{ name: "main" }] };
    const { body } = await server.mergePatch(`${PODS}/a/status`, { status });
    expect(body.status.conditions).toEqual([
      { type: "Ready", status: "True", lastProbeTime: null, lastTransitionTime: null },
    ]);
    expect(body.status.containerStatuses[0]).toMatchObject({ name: "main", ready: false, state: {}, lastState: {} });
    expect((await server.get(`${PODS}/a`)).body).toEqual(body);
  });

  test("rejects a resize that omits the containers, because it would change the QoS class", async () => {
    const resources = { requests: { cpu: "1" } };
    const containers = [{ name: "main", image: "main", resources }];
    await server.create(PODS, withSpec("b", { containers }));
    const [, causes] = rejection(await server.put(`${PODS}/b/resize`, { ...pod("b"), spec: {} }));
    expect(causes).toContain('spec: Invalid value: "": Pod QOS Class may not change as a result of resizing');
  });
});
