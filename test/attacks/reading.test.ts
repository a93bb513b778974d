/**
 * Tests of a tenant that tries to read objects of other namespaces through other verbs, other endpoints and ambiguous
 * paths.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../peers/client.ts";
import {
  asTenant,
  bindingOf,
  createAsAdmin,
  OTHER,
  OWN,
  RBAC,
  rule,
  SECRET,
  sendHttp2,
  sendLines,
  startSite,
  TENANT_TOKEN,
  SECRET_CONTENT,
  type Site,
} from "./start.ts";

const OTHERS = `/api/v1/namespaces/${OTHER}/secrets`;
const BEARER = `Authorization: Bearer ${TENANT_TOKEN}`;

let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site[Symbol.asyncDispose]());

describe("a Secret of another namespace is not readable", () => {
  test.each([
    [SECRET, 'secrets "treasure"', "get", "secrets"],
    [OTHERS, "secrets", "list", "secrets"],
    [`${OTHERS}?fieldSelector=metadata.name%3Dtreasure`, 'secrets "treasure"', "list", "secrets"],
    [`${OTHERS}?watch=true`, "secrets", "watch", "secrets"],
    [`${OTHERS}?watch=1&fieldSelector=metadata.name=treasure`, 'secrets "treasure"', "watch", "secrets"],
    [`/api/v1/watch/namespaces/${OTHER}/secrets`, "secrets", "watch", "secrets"],
    [`/api/v1/watch/namespaces/${OTHER}/secrets/treasure`, 'secrets "treasure"', "watch", "secrets"],
    [`${SECRET}/status`, 'secrets "treasure"', "get", "secrets/status"],
    [`${SECRET}/proxy/x`, 'secrets "treasure"', "get", "secrets/proxy"],
    [`${OTHERS}?resourceVersion=0&limit=1`, "secrets", "list", "secrets"],
  ])("by GET %s", async (path, what, verb, resource) => {
    const response = await asTenant(site.first, path);
    expect([response.status, response.body.message]).toEqual([
      403,
      `${what} is forbidden: User "tenant" cannot ${verb} resource "${resource}" in API group "" in the namespace "${OTHER}"`,
    ]);
  });

  test.each([
    ["/api/v1/secrets", "list"],
    ["/api/v1/secrets?fieldSelector=metadata.namespace%3Down", "list"],
    ["/api/v1/secrets?watch=true", "watch"],
    ["/api/v1/watch/secrets", "watch"],
  ])("by a request for all namespaces, GET %s", async (path, verb) => {
    const response = await asTenant(site.first, path);
    expect([response.status, response.body.message]).toEqual([
      403,
      `secrets is forbidden: User "tenant" cannot ${verb} resource "secrets" in API group "" at the cluster scope`,
    ]);
  });

  test.each([
    ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json"],
    ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"],
    ["application/vnd.kubernetes.protobuf"],
    ["application/yaml"],
  ])("in the representation %s", async (accept) => {
    const response = await asTenant(site.first, OTHERS, { headers: { accept } });
    expect([response.status, response.text.includes(SECRET_CONTENT)]).toEqual([403, false]);
  });

  test.each(["../other/", "/other/", "x/../../other/treasure", "..", "./../other/"])(
    "by a continue token of the tenant's own list with the start key %s",
    async (start) => {
      const token = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: -1, start })).toString("base64url");
      const response = await asTenant(site.first, `/api/v1/namespaces/${OWN}/secrets?limit=10&continue=${token}`);
      expect([response.status, response.body.reason]).toEqual([400, "BadRequest"]);
    },
  );

  test("by a continue token of a list of all namespaces, with which a list returns only the requested namespace", async () => {
    await createAsAdmin(site.first, OTHERS, { metadata: { name: "second" } });
    await createAsAdmin(site.first, `/api/v1/namespaces/${OWN}/secrets`, { metadata: { name: "mine" } });
    const all = await site.first.get("/api/v1/secrets?limit=1");
    const token = encodeURIComponent(all.body.metadata.continue);
    const response = await asTenant(site.first, `/api/v1/namespaces/${OWN}/secrets?limit=10&continue=${token}`);
    expect(response.body.items.map(({ metadata }: Json) => metadata.namespace)).not.toContain(OTHER);
    const rejected = await asTenant(site.first, `/api/v1/secrets?limit=10&continue=${token}`);
    expect(rejected.status).toBe(403);
  });
});

describe("a permission for one resource name does not extend to other objects", () => {
  beforeAll(async () => {
    const { first } = site;
    const rules = [
      { ...rule("", ["secrets"], ["get", "list", "watch", "deletecollection"]), resourceNames: ["shared"] },
    ];
    await createAsAdmin(first, OTHERS, { metadata: { name: "shared" } });
    await createAsAdmin(first, `${RBAC}/namespaces/${OTHER}/roles`, { metadata: { name: "shared" }, rules });
    await createAsAdmin(first, `${RBAC}/namespaces/${OTHER}/rolebindings`, bindingOf("shared", "Role", "shared"));
  });
  const SHARED = "metadata.name%3Dshared";
  const OTHER_NAME = "metadata.name%3Dtreasure";
  const SELECTORS: readonly (readonly [selector: string, status: number, names: readonly string[] | undefined])[] = [
    [`fieldSelector=${SHARED}`, 200, ["shared"]],
    [`fieldSelector=${SHARED}&fieldSelector=${OTHER_NAME}`, 200, ["shared"]],
    [`fieldSelector=${OTHER_NAME}&fieldSelector=${SHARED}`, 403, undefined],
    [`fieldSelector=&fieldSelector=${SHARED}`, 403, undefined],
    [`fieldSelector=${SHARED},${OTHER_NAME}`, 200, []],
    [`fieldSelector=${OTHER_NAME},${SHARED}`, 403, undefined],
    ["fieldSelector=metadata.name!%3Dshared", 403, undefined],
    ["fieldSelector=metadata.name%3D%3Dshared,type!%3Dx", 200, ["shared"]],
    ["fieldSelector=metadata.name%3Dshared%5C,metadata.name", 403, undefined],
    ["fieldSelector=metadata.namespace%3Dother", 403, undefined],
    ["fieldselector=metadata.name%3Dshared", 403, undefined],
    ["labelSelector=metadata.name%3Dshared", 403, undefined],
    [`limit=1&fieldSelector=${SHARED}`, 200, ["shared"]],
  ];
  test.each(SELECTORS)("in a list with %s", async (selector, status, names) => {
    const response = await asTenant(site.first, `${OTHERS}?${selector}`);
    expect([response.status, response.body.items?.map(({ metadata }: Json) => metadata.name)]).toEqual([status, names]);
    expect(response.text).not.toContain(SECRET_CONTENT);
  });

  test("in a watch with any of the selectors", async () => {
    const seen = await Promise.all(
      SELECTORS.map(async ([selector]) => {
        const { status, text } = await asTenant(site.first, `${OTHERS}?watch=true&timeoutSeconds=1&${selector}`);
        expect(text).not.toContain(SECRET_CONTENT);
        const events = text.split("\n").filter((line) => line !== "");
        const names = events.map((line) => JSON.parse(line).object?.metadata.name);
        return [selector, status, status === 200 ? names : undefined];
      }),
    );
    expect(seen).toEqual(SELECTORS);
  });

  const MISMATCH = [400, "fieldSelector metadata.name doesn't match requested name"] as const;
  test.each([
    [`/api/v1/watch/namespaces/${OTHER}/secrets/shared?fieldSelector=${OTHER_NAME}`, ...MISMATCH],
    [`/api/v1/watch/namespaces/${OTHER}/secrets/shared?fieldSelector=metadata.name!%3Dshared`, ...MISMATCH],
    [`/api/v1/watch/namespaces/${OTHER}/secrets/shared?fieldSelector=type!%3Dx`, ...MISMATCH],
    [`${OTHERS}/shared?watch=true&fieldSelector=${OTHER_NAME}`, 200, undefined],
    [`${OTHERS}/shared/?fieldSelector=${OTHER_NAME}`, 200, undefined],
  ])("by a path with that name: %s", async (path, status, message) => {
    const response = await asTenant(site.first, `${path}&timeoutSeconds=1`);
    expect(response.text).not.toContain(SECRET_CONTENT);
    expect([response.status, response.body?.message]).toEqual([status, message]);
  });

  test("in a deletion of a collection", async () => {
    for (const selector of [SHARED, OTHER_NAME, ""]) {
      const response = await asTenant(site.first, `${OTHERS}?fieldSelector=${selector}`, { method: "DELETE" });
      expect([response.status, response.body.reason]).toEqual([403, "Forbidden"]);
    }
    expect((await site.first.get(SECRET)).status).toBe(200);
  });
});

describe("reports for operators are not available to a tenant", () => {
  test.each([
    "/evenkeel/v1/status",
    "/evenkeel/v1/route?verb=get&path=/api/v1/secrets",
    "/evenkeel/v1/stored-versions",
    "/evenkeel/v1/rollback-check?to=1.35",
    "/evenkeel/v1",
    "/evenkeel",
    "/metrics",
    "/debug/pprof",
    "/logs",
  ])("by GET %s", async (path) => {
    const plain = path.split("?")[0]!;
    const message = `forbidden: User "tenant" cannot get path "${plain}"`;
    const response = await asTenant(site.first, path);
    expect([response.status, response.body.message]).toEqual([403, message]);
  });

  test("by POST to a report or a purge", async () => {
    for (const path of ["/evenkeel/v1/purge", "/evenkeel/v1/stored-versions"])
      expect((await asTenant(site.first, path, { method: "POST", body: {} })).status).toBe(403);
  });
});

/** Authorization and serving must interpret a path in the same way. */
describe("ambiguous paths reveal nothing:", () => {
  const own = `/api/v1/namespaces/${OWN}`;
  const PATHS: readonly (readonly [path: string, status: number])[] = [
    [`${own}/../${OTHER}/secrets/treasure`, 403],
    [`${own}/secrets/../../${OTHER}/secrets/treasure`, 403],
    [`${own}/%2e%2e/${OTHER}/secrets/treasure`, 403],
    [`${own}/%2E%2e/${OTHER}/secrets`, 403],
    [`${own}/secrets/%2e%2e%2f%2e%2e%2f${OTHER}%2fsecrets%2ftreasure`, 403],
    [`${own}/secrets/..%2f..%2f${OTHER}%2fsecrets%2ftreasure`, 403],
    [`${own}%2fsecrets%2f..%2f..%2f${OTHER}/secrets/treasure`, 403],
    [`${own}/secrets/%252e%252e%252f${OTHER}`, 404],
    [`/api/v1/namespaces/${OTHER}%2fsecrets%2ftreasure`, 403],
    [`/api/v1/namespaces%2f${OTHER}/secrets/treasure`, 403],
    [`/%61pi/v1/namespaces/${OTHER}/secrets/treasure`, 403],
    [`//api/v1/namespaces/${OTHER}/secrets/treasure`, 403],
    ["/api/v1/namespaces//secrets/treasure", 403],
    ["/api/v1/secrets/treasure", 403],
    [`/api/v1/namespaces/${OTHER}/Secrets/treasure`, 403],
    [`/apis//v1/namespaces/${OTHER}/secrets/treasure`, 403],
    [`/apis/core/v1/namespaces/${OTHER}/secrets/treasure`, 403],
    ["/openapi/../metrics", 404],
    ["/openapi/v2/../../evenkeel/v1/status", 404],
    ["/openapi/v3/%2e%2e%2f%2e%2e%2fmetrics", 404],
    ["/api/../metrics", 403],
    ["/apis/../evenkeel/v1/status", 403],
    ["/healthz/../metrics", 403],
    ["/version/../metrics", 403],
    [`///api//v1//namespaces//${OTHER}//secrets//treasure`, 403],
    [`/api/v1/namespaces/${OWN}//../${OTHER}/secrets/treasure`, 403],
    [`/./api/v1/namespaces/${OTHER}/secrets/treasure`, 403],
    [`/api/./v1/namespaces/${OTHER}/secrets/treasure`, 403],
    [`/healthz/../api/v1/namespaces/${OTHER}/secrets/treasure`, 403],
    [`/healthz/..%2fapi/v1/namespaces/${OTHER}/secrets/treasure`, 403],
    [`/api/v1/namespaces/${OTHER}./secrets/treasure`, 403],
    [`/api/v1/namespaces/${OTHER}/secrets/treasure.`, 403],
    [`/api/v1/namespaces/${OTHER}/secrets/treasure/`, 403],
    [`/api/v1/namespaces/${OTHER}/secrets/treasure%00`, 403],
    [`/api/v1/namespaces/${OWN}%00/../${OTHER}/secrets`, 403],
    [`/api/v1/namespaces/${OTHER}%20/secrets/treasure`, 403],
    [`/api/v1/namespaces/${OTHER.toUpperCase()}/secrets/treasure`, 403],
    [`/API/v1/namespaces/${OTHER}/secrets/treasure`, 403],
    [`${own}/secrets/treasure;/../../${OTHER}`, 403],
    [`${own}/%c0%ae%c0%ae/${OTHER}/secrets/treasure`, 400],
    [`${own}/%ff/secrets`, 400],
    [`${own}/%u002e%u002e/${OTHER}/secrets`, 400],
    [`${own}/..\\${OTHER}\\secrets\\treasure`, 403],
    [`${own}/%5c..%5c${OTHER}%5csecrets`, 403],
    [`${own}/secrets?name=treasure&namespace=${OTHER}`, 200],
    [`${own}/secrets/${"../".repeat(20)}etc`, 403],
    [`/${"%2e%2e/".repeat(20)}etc/passwd`, 403],
    [`*`, 400],
    [`https://127.0.0.1${SECRET}`, 400],
  ];
  test.each(PATHS)("GET %s", async (path, status) => {
    const response = await sendLines(site.first, [`GET ${path} HTTP/1.1`, BEARER]);
    expect(response.text).not.toContain(SECRET_CONTENT);
    expect(response.text).not.toContain('"treasure"}');
    expect([path, response.status]).toEqual([path, status]);
  });

  test("a path with an empty segment before the resource returns an APIResourceList or a Status, no object", async () => {
    for (const path of [`/api/v1//namespaces/${OTHER}/secrets/treasure`, `/apis/batch/v1//namespaces/${OTHER}/jobs`]) {
      const { body } = await sendLines(site.first, [`GET ${path} HTTP/1.1`, BEARER]);
      expect(["APIResourceList", "Status"]).toContain(body.kind);
    }
  });

  test.each(PATHS.filter(([path]) => path.startsWith("/")))("GET %s over HTTP/2", async (path, status) => {
    const response = await sendHttp2(site.first, { ":path": path, authorization: `Bearer ${TENANT_TOKEN}` });
    expect(response.text).not.toContain(SECRET_CONTENT);
    expect([path, response.status]).toEqual([path, status]);
  });

  test("object names that contain path segments are rejected, and nothing is written outside the tenant's namespace", async () => {
    const before = await site.cluster.kv.currentRevision();
    const leases = `/apis/coordination.k8s.io/v1/namespaces/${OWN}/leases`;
    const names = {
      "../x": 403,
      "..": 404,
      ".": 404,
      "a/b": 403,
      "%2e%2e": 404,
      [`../../${OTHER}/x`]: 403,
      "a\0b": 404,
    };
    for (const [name, status] of Object.entries(names)) {
      const metadata = { name };
      const created = await asTenant(site.first, `${own}/configmaps`, { method: "POST", body: { metadata } });
      expect([name, created.status]).toEqual([name, 422]);
      const at = encodeURIComponent(name);
      const changed = await asTenant(site.first, `${own}/configmaps/${at}`, { method: "PUT", body: { metadata } });
      expect([name, changed.status]).toEqual([name, status]);
      // For leases a PUT may create the object, so this PUT is rejected because of the name.
      const put = await asTenant(site.first, `${leases}/${at}`, { method: "PUT", body: { metadata, spec: {} } });
      expect([name, put.status]).toEqual([name, status === 404 ? 422 : 403]);
    }
    for (const place of ["configmaps", "leases"]) {
      const { items } = await site.cluster.kv.range({ start: `/registry/${place}/`, end: `/registry/${place}0` });
      const written = items.filter(({ modRevision }) => modRevision > before).map(({ key }) => key);
      expect(written.filter((key) => !key.startsWith("/registry/leases/kube-system/"))).toEqual([]);
    }
  });
});
