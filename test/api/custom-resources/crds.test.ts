import { expect, test } from "vitest";
import { names, startServer, type Json } from "../start.ts";
import { condition, define, definition, DEFINITIONS, GROUP, redefine, version, widget, WIDGETS } from "./define.ts";

test("a CRD gets the conditions NamesAccepted and Established and is served, and after its deletion neither the CRD nor its resource is served", async () => {
  await using api = await startServer();
  const defined = await define(api);
  expect(condition(defined, "NamesAccepted")).toMatchObject({ status: "True", reason: "NoConflicts" });
  expect(condition(defined, "Established")).toMatchObject({ status: "True", reason: "InitialNamesAccepted" });
  expect(defined.status).toMatchObject({
    acceptedNames: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    storedVersions: ["v1"],
  });
  expect((await api.get(WIDGETS)).body).toMatchObject({ kind: "WidgetList", items: [] });
  expect((await api.delete(`${DEFINITIONS}/widgets.${GROUP}`)).status).toBe(200);
  await api.world.advance(1_000);
  expect((await api.get(`${DEFINITIONS}/widgets.${GROUP}`)).status).toBe(404);
  expect((await api.get(WIDGETS)).status).toBe(404);
});

test("an object can be created immediately after its CRD", async () => {
  await using api = await startServer();
  await api.create(DEFINITIONS, definition());
  expect((await api.create(WIDGETS, widget("a"))).status).toBe(201);
});

test("CRDs can be listed by label, keep their fields, and can be deleted as a collection", async () => {
  await using api = await startServer();
  const labels = { test: "list" };
  for (let number = 0; number < 11; number++) {
    const kind = `Foo${number}`;
    await define(api, definition([version("v1")], { names: { plural: `foo${number}s`, kind }, metadata: { labels } }));
  }
  await define(api);
  const list = await api.get(`${DEFINITIONS}?labelSelector=test%3Dlist`);
  expect(names(list)).toHaveLength(11);
  for (const item of list.body.items)
    expect(item.spec).toMatchObject({
      group: GROUP,
      scope: "Namespaced",
      names: { singular: item.spec.names.kind.toLowerCase(), listKind: `${item.spec.names.kind}List` },
      versions: [version("v1")],
      conversion: { strategy: "None" },
    });
  expect((await api.call("DELETE", `${DEFINITIONS}?labelSelector=test%3Dlist`)).status).toBe(200);
  await api.world.advance(2_000);
  expect(names(await api.get(DEFINITIONS))).toEqual([`widgets.${GROUP}`]);
});

test("the status subresource of a CRD can be read, replaced and patched", async () => {
  await using api = await startServer();
  await define(api);
  const target = `${DEFINITIONS}/widgets.${GROUP}/status`;
  const own = { type: "StatusUpdate", status: "True", reason: "E2E", message: "by a test" };
  const { body } = await api.get(target);
  const put = await api.put(target, {
    ...body,
    spec: { ...body.spec, names: { ...body.spec.names, shortNames: ["not-here"] } },
    status: { ...body.status, conditions: [...body.status.conditions, own] },
  });
  expect(condition(put.body, "StatusUpdate")).toMatchObject(own);
  expect(put.body.spec.names.shortNames).toBeUndefined();
  const patched = await api.jsonPatch(target, [
    { op: "add", path: "/status/conditions", value: [{ ...own, type: "StatusPatched" }] },
  ]);
  expect(patched.body.status.conditions.map(({ type }: Json) => type)).toEqual(["StatusPatched"]);
});

test("an update of a CRD needs a resource version", async () => {
  await using api = await startServer();
  const defined = await define(api);
  const { resourceVersion: _, ...metadata } = defined.metadata;
  const response = await api.put(`${DEFINITIONS}/widgets.${GROUP}`, { ...defined, metadata });
  expect(response.body).toMatchObject({ code: 422, reason: "Invalid" });
  expect(response.body.message).toContain(
    "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
  );
});

test("a new storage version is added to status.storedVersions, and an old version can be removed from the spec only after a status update has removed it from status.storedVersions", async () => {
  await using api = await startServer();
  await define(api, definition([version("v1"), version("v2")]));
  await redefine(api, `widgets.${GROUP}`, (spec) => ({
    ...spec,
    versions: [version("v1", undefined, { storage: false }), version("v2", undefined, { storage: true })],
  }));
  const { body } = await api.get(`${DEFINITIONS}/widgets.${GROUP}`);
  expect(body.status.storedVersions).toEqual(["v1", "v2"]);
  const onlyV2 = (spec: Json): Json => ({ ...spec, versions: [version("v2", undefined, { storage: true })] });
  const rejected = await redefine(api, `widgets.${GROUP}`, onlyV2);
  expect(rejected.body).toMatchObject({ code: 422 });
  expect(rejected.body.message).toContain("status.storedVersions[0]");
  await api.jsonPatch(`${DEFINITIONS}/widgets.${GROUP}/status`, [
    { op: "replace", path: "/status/storedVersions", value: ["v2"] },
  ]);
  expect((await redefine(api, `widgets.${GROUP}`, onlyV2)).status).toBe(200);
  expect((await api.get(WIDGETS)).status).toBe(404);
});

test.each([
  ["without the approval annotation is rejected", {}, "MissingAnnotation", "False"],
  [
    "with a link to its approval is approved",
    { "api-approved.kubernetes.io": "https://github.com/kubernetes/pull/1" },
    "ApprovedAnnotation",
    "True",
  ],
  [
    "that is marked as unapproved has a condition",
    { "api-approved.kubernetes.io": "unapproved, a test" },
    "UnapprovedAnnotation",
    "False",
  ],
])("a CRD in a protected group %s", async (_what, annotations, reason, status) => {
  await using api = await startServer();
  const object = definition([version("v1")], { group: "test.k8s.io", metadata: { annotations } });
  const created = await api.create(DEFINITIONS, object);
  if (reason === "MissingAnnotation") {
    expect(created.body).toMatchObject({
      code: 422,
      details: { causes: [{ field: "metadata.annotations[api-approved.kubernetes.io]" }] },
    });
    return;
  }
  await api.world.advance(100);
  const { body } = await api.get(`${DEFINITIONS}/widgets.test.k8s.io`);
  expect(condition(body, "KubernetesAPIApprovalPolicyConformant")).toMatchObject({ status, reason });
});
