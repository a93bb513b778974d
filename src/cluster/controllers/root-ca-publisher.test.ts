import { expect, test } from "vitest";
import { configMap, startServer, type Json, type TestServer } from "../../../test/api/start.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { CONTROLLERS } from "./controller-names.ts";
import { clientOf, RunningController } from "../../../test/testing/cluster/controllers/namespace/running-controller.ts";
import { createRootCaPublisher } from "./root-ca-publisher.ts";

const NAMESPACES = "/api/v1/namespaces";
const PATH = `${NAMESPACES}/default/configmaps/kube-root-ca.crt`;
const PEM = "-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n";

function start(): Promise<TestServer> {
  return startServer({ controllers: CONTROLLERS.map((name) => `-${name}`) });
}

function run(api: TestServer, rootCa = PEM): RunningController {
  return new RunningController(api, createRootCaPublisher({ client: clientOf(api), log: SILENT_LOG, rootCa })!);
}

async function settled(api: TestServer): Promise<Json> {
  await api.world.advance(1_000);
  return (await api.get(PATH)).body;
}

test("without a CA bundle there is no controller", async () => {
  await using api = await start();
  expect(createRootCaPublisher({ client: clientOf(api), log: SILENT_LOG, rootCa: undefined })).toBeUndefined();
});

test("every namespace gets the config map with the CA bundle and a description", async () => {
  await using api = await start();
  await using running = run(api);
  expect((await settled(api)).data).toEqual({ "ca.crt": PEM });
  const { body } = await api.get("/api/v1/configmaps?fieldSelector=metadata.name=kube-root-ca.crt");
  expect(body.items).toHaveLength(4);
  expect(body.items[0].metadata.annotations["kubernetes.io/description"]).toContain("kubernetes.default.svc");
  expect(running.outcomes).not.toContain("error");
});

test("changed or deleted content is restored, and metadata that clients added stays", async () => {
  await using api = await start();
  await using running = run(api);
  await settled(api);
  await api.mergePatch(PATH, { data: { "ca.crt": "other", more: "x" }, metadata: { labels: { mine: "yes" } } });
  expect(await settled(api)).toMatchObject({ data: { "ca.crt": PEM }, metadata: { labels: { mine: "yes" } } });
  expect((await settled(api)).data).not.toHaveProperty("more");
  await api.mergePatch(PATH, { metadata: { annotations: null } });
  expect((await settled(api)).metadata.annotations).toHaveProperty("kubernetes.io/description");
  await api.delete(PATH);
  expect((await settled(api)).data).toEqual({ "ca.crt": PEM });
  expect(running.outcomes).not.toContain("error");
});

test("the CA bundle of a previous server is replaced, and then nothing more is written", async () => {
  await using api = await start();
  await api.create(`${NAMESPACES}/default/configmaps`, configMap("kube-root-ca.crt", { data: { "ca.crt": "old" } }));
  await using running = run(api);
  const { metadata, data } = await settled(api);
  expect(data).toEqual({ "ca.crt": PEM });
  await api.world.advance(60_000);
  expect((await api.get(PATH)).body.metadata.resourceVersion).toBe(metadata.resourceVersion);
  expect(running.outcomes).not.toContain("error");
});

test("a namespace that is being deleted gets no config map", async () => {
  await using api = await start();
  await api.create(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: "team" } });
  await api.delete(`${NAMESPACES}/team`);
  await using running = run(api);
  await settled(api);
  expect((await api.get(`${NAMESPACES}/team/configmaps`)).body.items).toEqual([]);
  expect(running.outcomes).not.toContain("error");
});
