/**
 * Tests of users that have the permission for one verb or one object name and try others. Authorization must check the
 * request that is executed.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PeerResponse, Json } from "../peers/client.ts";
import {
  applyOf,
  asTenant,
  grantTenant,
  createAsAdmin,
  OTHER,
  OWN,
  patchOf,
  rule,
  startSite,
  type Site,
} from "./start.ts";

const MAPS = `/api/v1/namespaces/${OTHER}/configmaps`;
const ACCOUNTS = `/api/v1/namespaces/${OTHER}/serviceaccounts`;
const PODS = `/api/v1/namespaces/${OTHER}/pods`;

let site: Site;
beforeAll(async () => {
  site = await startSite();
  const { first } = site;
  await grantTenant(first, "tenant-one-thing", [
    rule("", ["configmaps"], ["watch"]),
    { ...rule("", ["configmaps"], ["create", "update", "patch", "get", "delete"]), resourceNames: ["mine"] },
    { ...rule("", ["serviceaccounts/token", "pods/binding", "pods/eviction"], ["create"]), resourceNames: ["mine"] },
    rule("authorization.k8s.io", ["localsubjectaccessreviews"], ["create"]),
  ]);
  for (const name of ["mine", "yours"]) {
    await createAsAdmin(first, MAPS, { metadata: { name }, data: { a: "1" } });
    await createAsAdmin(first, ACCOUNTS, { metadata: { name } });
    await createAsAdmin(first, PODS, {
      metadata: { name },
      spec: { serviceAccountName: name, containers: [{ name: "c", image: "i" }] },
    });
  }
});
afterAll(() => site[Symbol.asyncDispose]());

async function leavesAlone(attack: () => Promise<PeerResponse>): Promise<PeerResponse> {
  const look = async (): Promise<Json[]> =>
    Promise.all([MAPS, PODS].map(async (path) => (await site.first.get(path)).body.items));
  const before = await look();
  const response = await attack();
  expect(await look()).toEqual(before);
  return response;
}

const call = (method: string, path: string, body?: Json): Promise<PeerResponse> =>
  asTenant(site.first, path, { method, ...(body === undefined ? {} : { body }) });

describe("the permission to watch", () => {
  const WATCH = `/api/v1/watch/namespaces/${OTHER}/configmaps`;
  test.each([
    ["DELETE", WATCH],
    ["DELETE", `${WATCH}/yours`],
    ["POST", WATCH],
    ["PUT", `${WATCH}/yours`],
    ["PATCH", `${WATCH}/yours`],
  ])("does not allow %s %s", async (method, path) => {
    const body = method === "DELETE" ? undefined : { metadata: { name: "yours" }, data: { a: "2" } };
    const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
    const response = await leavesAlone(() =>
      asTenant(site.first, path, {
        ...{ method, headers: { "content-type": type } },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    );
    expect([response.status, response.body.reason]).toEqual([405, "MethodNotAllowed"]);
  });

  test.each(["DELETE", "POST", "PUT"])("does not allow %s with watch=true", async (method) => {
    const path = `${MAPS}${method === "PUT" ? "/yours" : ""}?watch=true`;
    const body = method === "DELETE" ? undefined : { metadata: { name: "yours" }, data: { a: "2" } };
    expect((await leavesAlone(() => call(method, path, body))).status).toBe(403);
  });

  test.each([
    ["X-HTTP-Method-Override", "DELETE"],
    ["X-HTTP-Method", "DELETE"],
    ["X-Method-Override", "PUT"],
  ])("is not extended by the header %s: %s", async (name, method) => {
    const headers = { [name]: method, "x-original-url": `${MAPS}/yours`, "x-rewrite-url": `${MAPS}/yours` };
    const response = await leavesAlone(() => asTenant(site.first, `${MAPS}/mine`, { headers }));
    expect([response.status, response.body.metadata.name]).toEqual([200, "mine"]);
  });

  test.each(["TRACE", "OPTIONS", "PROPFIND"])("does not allow %s", async (method) => {
    const response = await leavesAlone(() => asTenant(site.first, `${MAPS}/yours`, { method }));
    expect([method, response.status]).toEqual([method, 403]);
  });
});

describe("the permission for one object name", () => {
  const other = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "yours" }, data: { a: "2" } };
  const WRONG_NAME = "the name of the object (yours) does not match the name on the URL (mine)";
  test.each([
    ["POST to the name", () => call("POST", `${MAPS}/mine`, other), 405],
    ["POST to the collection", () => call("POST", MAPS, { ...other, metadata: { name: "mine2" } }), 403],
    ["PUT of another object", () => call("PUT", `${MAPS}/mine`, other), 400],
    ["PUT to the other name", () => call("PUT", `${MAPS}/yours`, { ...other, metadata: { name: "mine" } }), 403],
    [
      "an apply of another object",
      () => asTenant(site.first, `${MAPS}/mine?fieldManager=t&force=true`, applyOf(other)),
      400,
    ],
    [
      "a merge patch of the name",
      () => asTenant(site.first, `${MAPS}/mine`, patchOf("merge", { metadata: { name: "yours" } })),
      400,
    ],
    [
      "a JSON patch of the name",
      () =>
        asTenant(
          site.first,
          `${MAPS}/mine`,
          patchOf("json", [{ op: "replace", path: "/metadata/name", value: "yours" }]),
        ),
      400,
    ],
    ["DELETE of the collection", () => call("DELETE", `${MAPS}?fieldSelector=metadata.name%3Dmine`), 403],
    ["DELETE of the other", () => call("DELETE", `${MAPS}/yours?uid=mine`), 403],
  ] as const)("does not allow %s", async (_attack, send, status) => {
    const response = await leavesAlone(send);
    expect([response.status, response.body.status]).toEqual([status, "Failure"]);
    if (status === 400) expect(response.body.message).toBe(WRONG_NAME);
  });

  test("does not allow a request for a token whose body names another account", async () => {
    for (const [metadata, status, reason] of [
      [{ name: "yours" }, 422, "Invalid"],
      [{ name: "mine", namespace: "kube-system" }, 400, "BadRequest"],
    ] as const) {
      const response = await call("POST", `${ACCOUNTS}/mine/token`, { metadata, spec: {} });
      expect([response.status, response.body.reason, response.body.status?.token]).toEqual([status, reason, undefined]);
    }
    expect((await call("POST", `${ACCOUNTS}/yours/token`, { spec: {} })).status).toBe(403);
    const own = await call("POST", `${ACCOUNTS}/mine/token`, { spec: {} });
    expect(own.status).toBe(201);
  });

  test("does not allow a token of this account that is bound to a pod of another account", async () => {
    const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: "yours" };
    const response = await call("POST", `${ACCOUNTS}/mine/token`, { spec: { boundObjectRef } });
    expect([response.status, response.body.message]).toEqual([
      400,
      'cannot bind token for serviceaccount "mine" to pod running with different serviceaccount name.',
    ]);
  });

  test.each([
    ["binding", { apiVersion: "v1", kind: "Binding", target: { kind: "Node", name: "n" } }],
    ["eviction", { apiVersion: "policy/v1", kind: "Eviction" }],
  ])("does not allow a %s whose body names another pod", async (subresource, body) => {
    const send = (): Promise<PeerResponse> =>
      call("POST", `${PODS}/mine/${subresource}`, { ...body, metadata: { name: "yours", namespace: OTHER } });
    const response = await leavesAlone(send);
    expect([response.status, response.body.status]).toEqual([400, "Failure"]);
  });

  test("does not allow a LocalSubjectAccessReview whose body names another namespace", async () => {
    const path = `/apis/authorization.k8s.io/v1/namespaces/${OWN}/localsubjectaccessreviews`;
    const resourceAttributes = { namespace: OTHER, verb: "get", resource: "secrets" };
    const response = await call("POST", path, {
      spec: { user: "admin", groups: ["system:masters"], resourceAttributes },
    });
    expect([response.status, response.body.status?.allowed]).toEqual([422, undefined]);
  });
});
