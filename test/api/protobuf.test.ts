import { describe, expect, test } from "vitest";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { delimited, encodeEnvelope, encodeProtobufObject, integer, text } from "../testing/objects/protobuf/encode.ts";
import { KUBECTL_BODIES } from "../testing/objects/protobuf/kubectl-bodies.ts";
import {
  CONFIG_MAPS,
  configMap,
  deployment,
  header,
  PODS,
  pod,
  startServer,
  type ApiTestResponse,
  type Json,
  type TestServer,
} from "./start.ts";

const PROTOBUF = "application/vnd.kubernetes.protobuf";
const DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments";

function encode(object: Json): Buffer {
  return encodeProtobufObject(object, protobufTables());
}

function send(api: TestServer, method: string, target: string, body: Buffer): Promise<ApiTestResponse> {
  return api.call(method, target, body, {
    headers: { "content-type": PROTOBUF, accept: "application/json" },
  });
}

describe("protobuf bodies", () => {
  test("create and update objects, and the response has the media type of the Accept header", async () => {
    await using api = await startServer();
    const created = await send(api, "POST", DEPLOYMENTS, encode(deployment("web", 2)));
    expect(created.status).toBe(201);
    expect(header(created, "content-type")).toBe("application/json");
    expect(created.body).toMatchObject({
      kind: "Deployment",
      apiVersion: "apps/v1",
      spec: { replicas: 2, selector: { matchLabels: { app: "web" } } },
    });
    const updated = await send(
      api,
      "PUT",
      `${DEPLOYMENTS}/web`,
      encode({ ...created.body, spec: { ...created.body.spec, replicas: 0 } }),
    );
    expect(updated.status).toBe(200);
    expect(updated.body.spec.replicas).toBe(0);
    expect(updated.body.metadata.uid).toBe(created.body.metadata.uid);
  });

  test.each(
    KUBECTL_BODIES.filter(({ object }) =>
      ["ConfigMap", "Deployment", "Secret", "Job", "ClusterRole"].includes(String(object["kind"])),
    ),
  )(
    "of `kubectl $command` create the object with its metadata, also with fieldValidation=Strict",
    async ({ hex, object }) => {
      await using api = await startServer();
      const apiVersion = String(object["apiVersion"]);
      const kind = String(object["kind"]);
      const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
      const resource = api.server.catalog.groups
        .find((one) => one.name === group)!
        .resources.find((one) =>
          one.versions.some((candidate) => candidate.version === version && candidate.kind === kind),
        )!;
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      const target = `${root}/${resource.namespaced ? "namespaces/default/" : ""}${resource.resource}`;
      const response = await send(api, "POST", `${target}?fieldValidation=Strict`, Buffer.from(hex, "hex"));
      expect(response.status).toBe(201);
      expect(response.body).toMatchObject({ kind, apiVersion, metadata: (object as Json).metadata });
    },
  );

  test("can contain delete options", async () => {
    await using api = await startServer();
    const { body } = await api.create(CONFIG_MAPS, configMap("a"));
    const options = (uid: string, apiVersion = "v1"): Buffer =>
      encode({ kind: "DeleteOptions", apiVersion, preconditions: { uid } });
    expect((await send(api, "DELETE", `${CONFIG_MAPS}/a`, options("other"))).status).toBe(409);
    expect((await send(api, "DELETE", `${CONFIG_MAPS}/a`, options(body.metadata.uid))).status).toBe(200);
    await api.create(DEPLOYMENTS, deployment("web"));
    expect(
      (
        await send(
          api,
          "DELETE",
          `${DEPLOYMENTS}/web`,
          encode({ kind: "DeleteOptions", apiVersion: "apps/v1", propagationPolicy: "Background" }),
        )
      ).status,
    ).toBe(200);
  });

  test("of another kind are rejected", async () => {
    await using api = await startServer();
    expect((await send(api, "POST", CONFIG_MAPS, encode(pod("p")))).body.message).toBe(
      'Pod in version "v1" cannot be handled as a ConfigMap: converting (v1.Pod) to (core.ConfigMap): unknown conversion',
    );
    expect((await send(api, "POST", CONFIG_MAPS, encode(deployment("web")))).status).toBe(400);
  });

  test.each<[what: string, body: Buffer]>([
    ["no bytes", Buffer.alloc(0)],
    ["JSON", Buffer.from("{}")],
    ["the magic bytes alone", Buffer.from("k8s\0")],
    ["a truncated body", encode(configMap("a")).subarray(0, -3)],
    ["a body truncated in its envelope", encode(configMap("a")).subarray(0, 9)],
    [
      "a length beyond the end",
      Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f])]),
    ],
    ["an unknown kind", encodeEnvelope({ apiVersion: "example.com/v1", kind: "Thing", raw: Buffer.alloc(0) })],
    [
      "a content encoding",
      encodeEnvelope({ apiVersion: "v1", kind: "ConfigMap", raw: Buffer.alloc(0), contentEncoding: "gzip" }),
    ],
    [
      "JSON in the envelope",
      encodeEnvelope({ apiVersion: "v1", kind: "ConfigMap", raw: Buffer.from("{}"), contentType: "application/json" }),
    ],
  ])('with the malformed content "%s" return 400 with the reason', async (_what, body) => {
    await using api = await startServer();
    const response = await send(api, "POST", CONFIG_MAPS, body);
    expect(response.status).toBe(400);
    expect(response.body.reason).toBe("BadRequest");
    expect(response.body.message).toMatch(
      /^the object provided is unrecognized \(must be of type ConfigMap\): \S+ .*\((<empty>|[0-9a-f]+( \.\.\.)?|\{.*)\)$/,
    );
  });

  test("with fields of a newer release are accepted without these fields and without a warning", async () => {
    await using api = await startServer();
    const raw = Buffer.concat([
      delimited(1, text(1, "a")),
      delimited(2, Buffer.concat([text(1, "k"), text(2, "v")])),
      text(999, "new"),
      integer(1000, 5),
    ]);
    const response = await send(
      api,
      "POST",
      `${CONFIG_MAPS}?fieldValidation=Strict`,
      encodeEnvelope({ apiVersion: "v1", kind: "ConfigMap", raw }),
    );
    expect(response.status).toBe(201);
    expect(response.body.data).toEqual({ k: "v" });
    expect(header(response, "warning")).toBeUndefined();
  });

  test("are not accepted as patches", async () => {
    await using api = await startServer();
    await api.create(CONFIG_MAPS, configMap("a"));
    expect((await send(api, "PATCH", `${CONFIG_MAPS}/a`, encode(configMap("a")))).status).toBe(415);
  });

  test("of StatefulSets get the kind and apiVersion of their volume claim templates, as JSON bodies do", async () => {
    await using api = await startServer();
    const spec = deployment("db").spec;
    const statefulSet = {
      kind: "StatefulSet",
      apiVersion: "apps/v1",
      metadata: { name: "db" },
      spec: {
        ...spec,
        serviceName: "db",
        volumeClaimTemplates: [
          {
            metadata: { name: "data" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          },
        ],
      },
    };
    const expected = [{ kind: "PersistentVolumeClaim", apiVersion: "v1", metadata: { name: "data" } }];
    const sts = "/apis/apps/v1/namespaces/default/statefulsets";
    expect((await send(api, "POST", sts, encode(statefulSet))).body.spec.volumeClaimTemplates).toMatchObject(expected);
    expect(
      (await api.create(sts, { ...statefulSet, metadata: { name: "db2" } })).body.spec.volumeClaimTemplates,
    ).toMatchObject(expected);
  });
});

describe("values that kube-apiserver stored as protobuf", () => {
  async function store(api: TestServer, key: string, object: Json): Promise<void> {
    await api.kv.commit({ kind: "put", key: `/registry/${key}`, value: encode(object), expectedRevision: 0 });
    await api.world.advance(0);
  }

  test.each<[what: string, key: string, path: string, object: Json]>([
    [
      "a core kind",
      "configmaps/default/a",
      `${CONFIG_MAPS}/a`,
      configMap("a", { metadata: { namespace: "default", uid: "u", labels: { x: "y" } } }),
    ],
    ["a pod", "pods/default/p", `${PODS}/p`, { ...pod("p"), metadata: { name: "p", namespace: "default", uid: "u" } }],
    [
      "a kind of a group",
      "deployments/default/web",
      `${DEPLOYMENTS}/web`,
      { ...deployment("web", 0), metadata: { name: "web", namespace: "default", uid: "u" } },
    ],
    [
      "a lease with its times",
      "leases/default/l",
      "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
      {
        kind: "Lease",
        apiVersion: "coordination.k8s.io/v1",
        metadata: { name: "l", namespace: "default", uid: "u", creationTimestamp: "2030-01-01T00:00:00Z" },
        spec: { holderIdentity: "me", renewTime: "2030-01-01T00:00:00.000001Z" },
      },
    ],
  ])("can be read: %s", async (_what, key, path, object) => {
    await using api = await startServer();
    await store(api, key, object);
    const { status, body } = await api.get(path);
    expect(status).toBe(200);
    expect(body).toMatchObject(object);
    expect(body.metadata.resourceVersion).toBeDefined();
    const collection = path.slice(0, path.lastIndexOf("/"));
    expect((await api.get(collection)).body.items.map((item: Json) => item.metadata.name)).toContain(
      object.metadata.name,
    );
  });

  test("can be read in versions other than the stored one", async () => {
    await using api = await startServer();
    const hpa = {
      kind: "HorizontalPodAutoscaler",
      apiVersion: "autoscaling/v1",
      metadata: { name: "h", namespace: "default", uid: "u" },
      spec: { maxReplicas: 3, targetCPUUtilizationPercentage: 50, scaleTargetRef: { kind: "Deployment", name: "web" } },
    };
    await store(api, "horizontalpodautoscalers/default/h", hpa);
    const path = "namespaces/default/horizontalpodautoscalers/h";
    expect((await api.get(`/apis/autoscaling/v1/${path}`)).body.spec.targetCPUUtilizationPercentage).toBe(50);
    expect(
      (await api.get(`/apis/autoscaling/v2/${path}`)).body.spec.metrics[0].resource.target.averageUtilization,
    ).toBe(50);
  });

  test("can be selected by labels, watched, and returned as PartialObjectMetadata", async () => {
    await using api = await startServer();
    const watch = await api.watch(`${CONFIG_MAPS}?watch=true&labelSelector=x%3Dy`);
    await store(
      api,
      "configmaps/default/a",
      configMap("a", { metadata: { namespace: "default", uid: "u", labels: { x: "y" } } }),
    );
    expect(await watch.story()).toEqual(["ADDED a"]);
    expect(
      (await api.get(`${CONFIG_MAPS}/a`, { accept: "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io" }))
        .body.metadata.labels,
    ).toEqual({ x: "y" });
  });

  test("are stored as JSON when they are written", async () => {
    await using api = await startServer();
    await store(api, "configmaps/default/a", configMap("a", { metadata: { namespace: "default", uid: "u" } }));
    expect((await api.mergePatch(`${CONFIG_MAPS}/a`, { data: { b: "2" } })).body.data).toEqual({ a: "1", b: "2" });
    const { items } = await api.kv.range({ start: "/registry/configmaps/default/a" });
    expect(JSON.parse(items[0]!.value.toString("utf8"))).toMatchObject({
      kind: "ConfigMap",
      metadata: { uid: "u" },
      data: { a: "1", b: "2" },
    });
  });

  test("can be deleted", async () => {
    await using api = await startServer();
    await store(api, "configmaps/default/a", configMap("a", { metadata: { namespace: "default", uid: "u" } }));
    expect((await api.delete(`${CONFIG_MAPS}/a`)).status).toBe(200);
    expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(404);
  });

  test("are loaded when the server starts", async () => {
    await using first = await startServer();
    await store(first, "configmaps/default/a", configMap("a", { metadata: { namespace: "default", uid: "u" } }));
    await using second = await startServer({ world: first.world });
    expect((await second.get(`${CONFIG_MAPS}/a`)).body.data).toEqual({ a: "1" });
  });

  test("that cannot be decoded return an error with the reason, and affect no other object", async () => {
    await using api = await startServer();
    const value = encode(configMap("a")).subarray(0, -3);
    await api.kv.commit({ kind: "put", key: "/registry/configmaps/default/a", value, expectedRevision: 0 });
    const response = await api.get(`${CONFIG_MAPS}/a`);
    expect(response.status).toBe(500);
    expect(response.body.message).toContain("the value is encoded as protobuf and cannot be read: ");
    expect((await api.create(CONFIG_MAPS, configMap("b"))).status).toBe(201);
  });
});
