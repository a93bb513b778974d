/** Regression tests for bugs that code reviews found. */
import { expect, test } from "vitest";
import { SIGNING_REQUEST } from "../testing/objects/kinds/access/signing-request.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { CONFIG_MAPS, configMap, startServer } from "./start.ts";

test("servers that share a store do not shorten each other's watch history", async () => {
  const world = new World({ seed: 1 });
  await using first = await startServer({ world, compactionIntervalMs: 300_000 });
  await world.advance(298_000);
  await using second = await startServer({ world, compactionIntervalMs: 300_000 });
  for (const name of ["a", "b", "c", "d"]) await first.create(CONFIG_MAPS, configMap(name));
  await world.advance(298_000);
  const page = await first.get(`${CONFIG_MAPS}?limit=2`);
  await first.create(CONFIG_MAPS, configMap("later"));
  await world.advance(10_000);
  const next = await first.get(`${CONFIG_MAPS}?limit=2&continue=${page.body.metadata.continue}`);
  expect(next.status).toBe(200);
  expect(next.body.items).toHaveLength(2);
  expect((await second.get(CONFIG_MAPS)).body.items).toHaveLength(5);
});

test("history older than two compaction intervals is removed", async () => {
  await using api = await startServer({ compactionIntervalMs: 300_000 });
  for (const name of ["a", "b", "c", "d"]) await api.create(CONFIG_MAPS, configMap(name));
  const page = await api.get(`${CONFIG_MAPS}?limit=2`);
  await api.create(CONFIG_MAPS, configMap("later"));
  await api.world.advance(1_000_000);
  const next = await api.get(`${CONFIG_MAPS}?limit=2&continue=${page.body.metadata.continue}`);
  expect(next.status).toBe(410);
});

test("a stored value with whitespace in its metadata is served as valid JSON", async () => {
  await using api = await startServer();
  const key = "/registry/configmaps/default/odd";
  const value = Buffer.from('{"kind":"ConfigMap","apiVersion":"v1","metadata":{ "name":"odd" },"data":{}}');
  await api.world.run(api.kv.commit({ kind: "put", key, value, expectedRevision: 0 }));
  const response = await api.get(`${CONFIG_MAPS}/odd`);
  expect(response.status).toBe(200);
  expect(response.body.metadata.name).toBe("odd");
});

test("an object that is created with thousands of managedFields entries is stored with one entry", async () => {
  await using api = await startServer();
  const managedFields = Array.from({ length: 5_000 }, (_, index) => ({
    manager: `m${index}`,
    operation: "Update",
    apiVersion: "v1",
    fieldsType: "FieldsV1",
    fieldsV1: { "f:data": { [`f:a${index}`]: {} } },
  }));
  const response = await api.create(CONFIG_MAPS, { metadata: { name: "many", managedFields }, data: { a: "1" } });
  expect(response.status).toBe(201);
  expect(response.body.metadata.managedFields).toHaveLength(1);
});

test("an integer that cannot be represented exactly is rejected", async () => {
  await using api = await startServer();
  const pod = (seconds: number | string): string =>
    `{"metadata":{"name":"p"},"spec":{"terminationGracePeriodSeconds":${seconds},"containers":[{"name":"c","image":"i"}]}}`;
  const headers = { "content-type": "application/json" };
  const pods = "/api/v1/namespaces/default/pods";
  expect((await api.call("POST", pods, pod("9007199254740993"), { headers })).status).toBe(400);
  expect((await api.call("POST", pods, pod(9007199254740991), { headers })).status).toBe(201);
});

test("the spec of a certificate signing request names the authenticated user, whatever the client sends", async () => {
  await using api = await startServer();
  const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const spec = { request: SIGNING_REQUEST, signerName: "example.com/s", usages: ["client auth"] };
  const forged = { ...spec, username: "system:admin", groups: ["system:masters", "forged"], uid: "1" };
  const created = await api.create(requests, { metadata: { name: "c" }, spec: forged });
  expect(created.body.spec).toMatchObject({ ...spec, username: "system:apiserver" });
  expect(created.body.spec.groups).not.toContain("forged");
  const patched = await api.mergePatch(`${requests}/c`, { spec: { username: "eve" } });
  expect(patched.body.spec.username).toBe("system:apiserver");
});

test("a StatefulSet without replicas defaults to one", async () => {
  await using api = await startServer();
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { selector: { matchLabels: { a: "b" } }, serviceName: "s", template };
  const created = await api.create("/apis/apps/v1/namespaces/default/statefulsets", { metadata: { name: "s" }, spec });
  expect(created.body.spec.replicas).toBe(1);
});
