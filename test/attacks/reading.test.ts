/** A tenant who wants to see what is none of its business: by other verbs, other endpoints, and paths that mean another. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  asTenant,
  OTHER,
  OWN,
  SECRET,
  sendHttp2,
  sendLines,
  startSite,
  TENANT_TOKEN,
  TREASURE,
  type Site,
} from "./start.ts";

const OTHERS = `/api/v1/namespaces/${OTHER}/secrets`;
const BEARER = `Authorization: Bearer ${TENANT_TOKEN}`;

let site: Site;
beforeAll(async () => {
  site = await startSite();
});
afterAll(() => site[Symbol.asyncDispose]());

describe("a Secret of somebody else", () => {
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
  ])("GET %s", async (path, what, verb, resource) => {
    const answer = await asTenant(site.first, path);
    expect([answer.status, answer.body.message]).toEqual([
      403,
      `${what} is forbidden: User "tenant" cannot ${verb} resource "${resource}" in API group "" in the namespace "${OTHER}"`,
    ]);
  });

  test.each([
    ["/api/v1/secrets", "list"],
    ["/api/v1/secrets?fieldSelector=metadata.namespace%3Down", "list"],
    ["/api/v1/secrets?watch=true", "watch"],
    ["/api/v1/watch/secrets", "watch"],
  ])("of all namespaces, GET %s", async (path, verb) => {
    const answer = await asTenant(site.first, path);
    expect([answer.status, answer.body.message]).toEqual([
      403,
      `secrets is forbidden: User "tenant" cannot ${verb} resource "secrets" in API group "" at the cluster scope`,
    ]);
  });

  test.each([
    ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json"],
    ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"],
    ["application/vnd.kubernetes.protobuf"],
    ["application/yaml"],
  ])("as %s", async (accept) => {
    const answer = await asTenant(site.first, OTHERS, { headers: { accept } });
    expect([answer.status, answer.text.includes(TREASURE)]).toEqual([403, false]);
  });

  test("a page of one's own does not lead on to the next namespace", async () => {
    const page = await site.first.get("/api/v1/secrets?limit=1");
    const token = encodeURIComponent(page.body.metadata.continue ?? "");
    const answer = await asTenant(site.first, `/api/v1/namespaces/${OWN}/secrets?limit=10&continue=${token}`);
    expect(answer.text).not.toContain(TREASURE);
  });
});

describe("what servers tell operators", () => {
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
  ])("GET %s", async (path) => {
    const plain = path.split("?")[0]!;
    const message = `forbidden: User "tenant" cannot get path "${plain}"`;
    const answer = await asTenant(site.first, path);
    expect([answer.status, answer.body.message]).toEqual([403, message]);
  });

  test("POST to what deletes", async () => {
    for (const path of ["/evenkeel/v1/purge", "/evenkeel/v1/stored-versions"])
      expect((await asTenant(site.first, path, { method: "POST", body: {} })).status).toBe(403);
  });
});

/** Whatever a path means, it means the same to who decides and to who answers. */
describe("paths that mean another", () => {
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
    const answer = await sendLines(site.first, [`GET ${path} HTTP/1.1`, BEARER]);
    expect(answer.text).not.toContain(TREASURE);
    expect(answer.text).not.toContain('"treasure"}');
    expect([path, answer.status]).toEqual([path, status]);
  });

  test("an empty segment before the resource leads to the list of resources at most", async () => {
    for (const path of [`/api/v1//namespaces/${OTHER}/secrets/treasure`, `/apis/batch/v1//namespaces/${OTHER}/jobs`]) {
      const { body } = await sendLines(site.first, [`GET ${path} HTTP/1.1`, BEARER]);
      expect(["APIResourceList", "Status"]).toContain(body.kind);
    }
  });

  test.each(PATHS.filter(([path]) => path.startsWith("/")))("by HTTP/2, %s", async (path, status) => {
    const answer = await sendHttp2(site.first, { ":path": path, authorization: `Bearer ${TENANT_TOKEN}` });
    expect(answer.text).not.toContain(TREASURE);
    expect([path, answer.status]).toEqual([path, status]);
  });

  test("names that are paths are no names: nothing is written outside of one's namespace", async () => {
    const before = await site.cluster.kv.currentRevision();
    for (const name of ["../x", "..", ".", "a/b", "%2e%2e", `../../${OTHER}/x`, "a\0b"]) {
      const created = await asTenant(site.first, `${own}/configmaps`, { method: "POST", body: { metadata: { name } } });
      expect([name, created.status]).toEqual([name, 422]);
      const encoded = encodeURIComponent(name);
      const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { name } };
      const put = await asTenant(site.first, `${own}/configmaps/${encoded}`, { method: "PUT", body });
      expect([name, put.status >= 400]).toEqual([name, true]);
    }
    const { items } = await site.cluster.kv.range({ start: "/registry/configmaps/", end: "/registry/configmaps0" });
    expect(items.filter(({ modRevision }) => modRevision > before)).toEqual([]);
  });
});
