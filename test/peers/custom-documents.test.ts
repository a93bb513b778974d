/**
 * Tests of the rule that a created, changed or deleted CRD or APIService shows in every form of discovery and OpenAPI on
 * every server of a mixed cluster, whatever the documents of peers list.
 */
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { AGGREGATED, type Json } from "./client.ts";
import { startCluster, type Member, type TestCluster } from "./cluster.ts";
import { createCredentials } from "./credentials.ts";
import { discoveryGroup, discoveryResource, sendJson, startStub } from "./stub-peer.ts";
import { until } from "./wait.ts";

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const GROUP = "shapes.example.com";
const NAME = `circles.${GROUP}`;
const V1 = `apis/${GROUP}/v1`;
const MODEL = "com.example.shapes.v1.Circle";
const PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/** Every form in which a server lists resources, and the word by which the form shows the custom resource. */
const FORMS: readonly (readonly [path: string, accept: string, word: string])[] = [
  ["/openapi/v2", "application/json", MODEL],
  ["/openapi/v2", PROTOBUF, MODEL],
  ["/openapi/v3", "application/json", V1],
  [`/openapi/v3/${V1}`, "application/json", MODEL],
  ["/apis", AGGREGATED, GROUP],
  ["/apis", "application/json", GROUP],
  ["/apis", "application/yaml", GROUP],
  [`/apis/${GROUP}`, "application/json", `${GROUP}/v1`],
  [`/${V1}`, "application/json", "circles"],
];
/** The forms that contain the schema of the custom resource. */
const SCHEMA_FORMS = FORMS.filter(([, , word]) => word === MODEL);

function circles(field: string): Json {
  const properties = { spec: { type: "object", properties: { [field]: { type: "string" } } } };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: NAME },
    spec: {
      group: GROUP,
      scope: "Namespaced",
      names: { plural: "circles", kind: "Circle" },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

type Form = (typeof FORMS)[number];

/** Requests the forms through each server until each of them shows the word, or hides it. */
async function everyForm(
  members: readonly Member[],
  forms: readonly Form[],
  isRight: (text: string, form: Form) => boolean,
): Promise<void> {
  const requests = members.flatMap((member) =>
    forms.map(async (form) => {
      const [path, accept] = form;
      return until(
        () => member.get(path, { accept }),
        ({ bytes }) => isRight(bytes.toString("latin1"), form),
      );
    }),
  );
  const responses = await Promise.all(requests);
  expect(responses).toHaveLength(members.length * forms.length);
}

const shows = (text: string, [, , word]: Form): boolean => text.includes(word);
const hides = (text: string, [, , word]: Form): boolean => !text.includes(word);

async function change(member: Member, field: string): Promise<void> {
  const patch = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
  const body = JSON.stringify({ spec: circles(field).spec });
  expect((await member.call(`${DEFINITIONS}/${NAME}`, { ...patch, body })).status).toBe(200);
}

/** Creates a CRD through the first server, and changes and deletes it through the second one. */
async function lifeOfACrd(members: readonly Member[]): Promise<void> {
  const [first, second = first] = members as [Member, Member?];
  expect((await first.create(DEFINITIONS, circles("radius"))).status).toBe(201);
  await everyForm(members, FORMS, shows);
  await change(second, "diameter");
  await everyForm(members, SCHEMA_FORMS, (text) => text.includes("diameter") && !text.includes("radius"));
  expect((await second.delete(`${DEFINITIONS}/${NAME}`)).status).toBe(200);
  await everyForm(members, FORMS, hides);
}

describe.each(["merged", "newest"])("with --discovery-mode=%s and two releases, a CRD", (discoveryMode) => {
  const peers = { discoveryMode };
  const mixed = (): Promise<TestCluster> =>
    startCluster(["1.34", "1.36", "1.36"].map((release) => ({ release, peers })));

  test("that is created, changed and deleted shows in every form on every server, before and after these have cached documents of peers", async () => {
    await using cluster = await mixed();
    await lifeOfACrd(cluster.members);
    await lifeOfACrd(cluster.members.toReversed());
  });

  test("has the same documents and hashes on every server", async () => {
    await using cluster = await mixed();
    const { members } = cluster;
    await members[0]!.create(DEFINITIONS, circles("radius"));
    await everyForm(members, FORMS, shows);
    for (const [path, accept] of FORMS) {
      const [one, ...others] = await Promise.all(members.map((member) => member.get(path, { accept })));
      for (const other of others)
        expect([other.headers.etag, other.text], path).toEqual([one!.headers.etag, one!.text]);
    }
  });

  test("that was created before a server restarted, and that is deleted afterwards, shows in no form of that server", async () => {
    await using cluster = await mixed();
    const [old, newer, leaving] = cluster.members as [Member, Member, Member];
    await newer.create(DEFINITIONS, circles("radius"));
    await everyForm(cluster.members, FORMS, shows);
    await leaving.stop();
    await change(old, "diameter");
    const again = await cluster.start({ id: leaving.id, release: "1.35", peers });
    await again.knows(old.id, newer.id);
    const members = [old, newer, again];
    await everyForm(members, FORMS, shows);
    await everyForm(members, SCHEMA_FORMS, (text) => text.includes("diameter") && !text.includes("radius"));
    expect((await again.delete(`${DEFINITIONS}/${NAME}`)).status).toBe(200);
    await everyForm(members, FORMS, hides);
  });
});

describe("beside a kube-apiserver that still lists custom resources in its documents, a CRD", () => {
  const ONLY_THERE = "apis/extra.example.com/v1";

  test("is shown with the schema that this server reads, and a deleted one is not shown", async () => {
    await using cluster = await startCluster([{ release: "1.36" }]);
    const { member } = await startStub(cluster, {
      groups: [
        discoveryGroup(GROUP, [discoveryResource("circles")]),
        discoveryGroup("extra.example.com", [discoveryResource("widgets")]),
      ],
      respond: (request, response) => sendJson(response, 200, outdatedDocument(request.url!)),
    });
    await member.create(DEFINITIONS, circles("radius"));
    await everyForm([member], FORMS, shows);
    await everyForm([member], SCHEMA_FORMS, (text) => text.includes("radius") && !text.includes("outdated"));
    expect((await member.get("/openapi/v3")).text).toContain(`${ONLY_THERE}?hash=`);
    expect((await member.get("/openapi/v2")).text).toContain("com.example.extra.v1.Widget");
    await member.delete(`${DEFINITIONS}/${NAME}`);
    await everyForm([member], FORMS, hides);
    expect((await member.get("/openapi/v2")).text).toContain("com.example.extra.v1.Widget");
  });

  test("is not listed by `status` as served by one server only", async () => {
    await using cluster = await startCluster([{ release: "1.34" }, { release: "1.36" }]);
    const { member } = await startStub(cluster, { groups: [discoveryGroup(GROUP, [discoveryResource("circles")])] });
    await member.create(DEFINITIONS, circles("radius"));
    await everyForm(cluster.members, FORMS, shows);
    for (const one of cluster.members) {
      const { servers } = (await one.get("/evenkeel/v1/status")).body;
      expect(servers).toHaveLength(3);
      expect(JSON.stringify(servers)).not.toContain(GROUP);
    }
  });

  function outdatedDocument(path: string): Json {
    const model = (name: string): Json => ({
      type: "object",
      properties: { outdated: { type: "string" } },
      title: name,
    });
    const reference = (name: string): Json => ({
      get: { responses: { 200: { description: "", schema: { $ref: `#/definitions/${name}` } } } },
    });
    const hashed = (target: string): Json => ({ serverRelativeURL: `/openapi/v3/${target}?hash=OUTDATED` });
    if (path === "/openapi/v3") return { paths: { [V1]: hashed(V1), [ONLY_THERE]: hashed(ONLY_THERE) } };
    const widget = "com.example.extra.v1.Widget";
    if (path === "/openapi/v2")
      return {
        swagger: "2.0",
        info: { title: "Kubernetes", version: "v1.36.0" },
        paths: {
          [`/${V1}/namespaces/{namespace}/circles`]: reference(MODEL),
          [`/${ONLY_THERE}/widgets`]: reference(widget),
        },
        definitions: { [MODEL]: model(MODEL), [widget]: { type: "object" } },
      };
    return { openapi: "3.0.0", info: {}, paths: {}, components: { schemas: { [MODEL]: model(MODEL) } } };
  }
});

describe("in a cluster of two releases, an APIService", () => {
  const TOOLS = "tools.example.com";
  const API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices";
  const HAMMER = "com.example.tools.v1.Hammer";
  const TOOL_FORMS: readonly Form[] = [
    ["/openapi/v2", "application/json", HAMMER],
    ["/openapi/v2", PROTOBUF, HAMMER],
    ["/openapi/v3", "application/json", `apis/${TOOLS}/v1`],
    [`/openapi/v3/apis/${TOOLS}/v1`, "application/json", HAMMER],
    ["/apis", AGGREGATED, TOOLS],
    ["/apis", "application/json", TOOLS],
    [`/apis/${TOOLS}`, "application/json", `${TOOLS}/v1`],
  ];
  const schemaForms = TOOL_FORMS.filter(([, , word]) => word === HAMMER);

  test("that is created, changed to another Service and deleted shows in every form on every server", async () => {
    await using first = await startTools("headShape");
    await using second = await startTools("handleShape");
    const options = {
      serviceEndpointOverrides: [`first.default=127.0.0.1:${first.port}`, `second.default=127.0.0.1:${second.port}`],
    };
    await using cluster = await startCluster(["1.34", "1.36"].map((release) => ({ release, options })));
    const { members } = cluster;
    const [old, newer] = members as [Member, Member];
    expect((await old.create(API_SERVICES, apiService("first"))).status).toBe(201);
    await everyForm(members, TOOL_FORMS, shows);
    await everyForm(members, schemaForms, (text) => text.includes("headShape"));
    const patch = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
    const body = JSON.stringify({ spec: apiService("second").spec });
    expect((await newer.call(`${API_SERVICES}/v1.${TOOLS}`, { ...patch, body })).status).toBe(200);
    await everyForm(members, schemaForms, (text) => text.includes("handleShape") && !text.includes("headShape"));
    expect((await newer.delete(`${API_SERVICES}/v1.${TOOLS}`)).status).toBe(200);
    await everyForm(members, TOOL_FORMS, hides);
  });

  function apiService(name: string): Json {
    return {
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: `v1.${TOOLS}` },
      spec: {
        group: TOOLS,
        version: "v1",
        groupPriorityMinimum: 100,
        versionPriority: 100,
        service: { namespace: "default", name },
        insecureSkipTLSVerify: true,
      },
    };
  }

  /** Starts an aggregated API server whose only kind has the field. */
  async function startTools(field: string): Promise<{ readonly port: number } & AsyncDisposable> {
    const { certPem, keyPem } = createCredentials().serving;
    const server = createServer({ cert: certPem, key: keyPem }, (request, response) =>
      sendJson(response, 200, toolsDocument(request.url!, field)),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return {
      port,
      async [Symbol.asyncDispose]() {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      },
    };
  }

  function toolsDocument(url: string, field: string): Json {
    const path = `apis/${TOOLS}/v1`;
    const schemas = { [HAMMER]: { type: "object", properties: { [field]: { type: "string" } } } };
    const get = { responses: { 200: { description: "", schema: { $ref: `#/definitions/${HAMMER}` } } } };
    const info = { title: "tools", version: "1" };
    if (url === "/openapi/v2")
      return { swagger: "2.0", info, paths: { [`/${path}/hammers`]: { get } }, definitions: schemas };
    if (url === "/openapi/v3")
      return { paths: { [path]: { serverRelativeURL: `/openapi/v3/${path}?hash=${field.toUpperCase()}` } } };
    if (url.startsWith("/openapi/v3/")) return { openapi: "3.0.0", info, paths: {}, components: { schemas } };
    const verbs = ["get", "list"];
    const resources = [{ name: "hammers", singularName: "hammer", namespaced: true, kind: "Hammer", verbs }];
    return { kind: "APIResourceList", apiVersion: "v1", groupVersion: `${TOOLS}/v1`, resources };
  }
});
