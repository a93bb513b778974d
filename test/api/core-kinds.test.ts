import { describe, expect, test } from "vitest";
import { startServer, type ApiTestResponse, type Json } from "./start.ts";

const CORE = "/api/v1/namespaces/default";
const SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

function sentence(response: ApiTestResponse): string {
  return `${response.status} ${response.body.message}`;
}

function owned(answer: ApiTestResponse): Json {
  return answer.body.metadata.managedFields?.[0]?.fieldsV1;
}

describe("events", () => {
  const EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events";
  const event = { metadata: { name: "e" }, involvedObject: { namespace: "default" }, reason: "r", count: 1 };

  test("contain the empty fields that kube-apiserver always encodes, and these fields have no manager", async () => {
    await using server = await startServer();
    const created = await server.create(`${CORE}/events`, event);
    expect(created.body).toMatchObject({
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: "",
      reportingInstance: "",
    });
    expect(owned(created)).toEqual({ "f:count": {}, "f:involvedObject": {}, "f:reason": {} });
  });

  test("are readable in both API groups", async () => {
    await using server = await startServer();
    await server.create(`${CORE}/events`, event);
    const other = await server.get(`${EVENTS}/e`);
    expect(other.body).toMatchObject({ regarding: { namespace: "default" }, deprecatedCount: 1, eventTime: null });
    expect(other.body).not.toHaveProperty("reportingController");
    expect((await server.mergePatch(`${CORE}/events/e`, { count: 2 })).body.count).toBe(2);
  });

  test("are validated more strictly in events.k8s.io than in the core group", async () => {
    await using server = await startServer();
    const response = await server.create(EVENTS, { metadata: { name: "n" }, type: "Normal" });
    expect(sentence(response)).toContain("eventTime: Required value");
    expect((await server.create(`${CORE}/events`, { metadata: { name: "A_b" } })).status).toBe(201);
  });
});

describe("nodes", () => {
  test("start with the not-ready taint, and their allocatable resources default to their capacity", async () => {
    await using server = await startServer();
    const { body } = await server.create("/api/v1/nodes", { metadata: { name: "n" } });
    expect(body.spec.taints).toEqual([{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }]);
    expect(body.status.nodeInfo).toMatchObject({ kubeletVersion: "" });
    const updated = await server.mergePatch("/api/v1/nodes/n/status", { status: { capacity: { cpu: "4000m" } } });
    expect(updated.body.status).toMatchObject({ capacity: { cpu: "4" }, allocatable: { cpu: "4" } });
  });
});

describe("endpoint slices", () => {
  test("increment their generation when their labels change", async () => {
    await using server = await startServer();
    await server.create(SLICES, { metadata: { name: "s" }, addressType: "IPv4" });
    const labelled = await server.mergePatch(`${SLICES}/s`, { metadata: { labels: { a: "1" } } });
    expect([labelled.body.metadata.generation, labelled.body.endpoints, labelled.body.ports]).toEqual([2, null, null]);
    const annotated = await server.mergePatch(`${SLICES}/s`, { metadata: { annotations: { a: "1" } } });
    expect(annotated.body.metadata.generation).toBe(2);
    const filled = await server.mergePatch(`${SLICES}/s`, { endpoints: [{ addresses: ["10.0.0.1"] }] });
    expect([filled.body.metadata.generation, filled.body.endpoints]).toEqual([
      3,
      [{ addresses: ["10.0.0.1"], conditions: {} }],
    ]);
  });
});

describe("names", () => {
  const NETWORK = "/apis/networking.k8s.io/v1";
  const parentRef = { resource: "things", name: "a" };

  test("of IPAddresses must be canonical addresses", async () => {
    await using server = await startServer();
    const create = (name: string): Promise<ApiTestResponse> =>
      server.create(`${NETWORK}/ipaddresses`, { metadata: { name }, spec: { parentRef } });
    expect((await create("2001:db8::1")).status).toBe(201);
    expect(sentence(await create("2001:DB8::2"))).toBe(
      '422 IPAddress.networking.k8s.io "2001:DB8::2" is invalid: metadata.name: Invalid value: "2001:DB8::2": must be in canonical form ("2001:db8::2")',
    );
  });

  test.each([
    ["1.35", 422],
    ["1.36", 201],
  ])("of Services may begin with a digit in some releases: release %s returns %i", async (release, status) => {
    await using server = await startServer({ release });
    const created = await server.create(`${CORE}/services`, {
      metadata: { name: "1a" },
      spec: { ports: [{ port: 1 }] },
    });
    expect(created.status).toBe(status);
  });
});

test("a TLS Secret without PEM data is created with a warning", async () => {
  await using server = await startServer();
  const { status, headers } = await server.create(`${CORE}/secrets`, {
    metadata: { name: "s" },
    type: "kubernetes.io/tls",
    stringData: { "tls.crt": "", "tls.key": "" },
  });
  expect([status, headers["warning"]]).toEqual([
    201,
    ['299 - "tls: failed to find any PEM data in certificate input"'],
  ]);
});
