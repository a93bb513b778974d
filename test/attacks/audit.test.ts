/**
 * Tests of the audit log for proxied requests: both servers record such a request with the same audit ID, and each
 * records the identity that it authenticated.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuditGiven } from "../../src/access/audit/options.ts";
import type { Json } from "../peers/client.ts";
import { TestCluster, type Member } from "../peers/cluster.ts";
import { eventually } from "../peers/wait.ts";
import { asTenant, createAuthorities, furnish, OTHER, OWN, SECRET, serverOptions, TENANT_TOKEN } from "./start.ts";

const JOBS = `/apis/batch/v1/namespaces/${OWN}/jobs`;

let cluster: TestCluster;
let first: Member;
let second: Member;
beforeAll(async () => {
  cluster = new TestCluster();
  const options = serverOptions(cluster, createAuthorities());
  first = await cluster.start({ options: { ...options, audit: auditTo("a") }, runtimeConfig: "batch/v1=false" });
  second = await cluster.start({ options: { ...options, audit: auditTo("b") } });
  await Promise.all([first.knows("b"), second.knows("a")]);
  await furnish(first);
});
afterAll(() => cluster[Symbol.asyncDispose]());

function auditTo(id: string): AuditGiven {
  const rules = [{ level: "Metadata", omitStages: ["RequestReceived"] }];
  return {
    policy: { file: "policy.yaml", value: { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules } },
    logPath: logOf(id),
    ...{ logFormat: "json", logMode: "blocking", logVersion: "audit.k8s.io/v1" },
    ...{ logMaxAge: 0, logMaxBackup: 0, logMaxSize: 100, logCompress: false },
    batch: { bufferSize: 1, sizeMax: 1, waitMaxMs: 0, isThrottled: false, throttlePerSecond: 0, throttleBurst: 0 },
    truncate: { isEnabled: false, batchBytesMax: 1e7, eventBytesMax: 1e5 },
  };
}

const logOf = (id: string): string => join(cluster.files.directory, `audit-${id}.log`);

function events(id: string): Json[] {
  const lines = readFileSync(logOf(id), "utf8").trimEnd().split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** The audit events that a server recorded for a path. */
async function recorded(id: string, path: string): Promise<Json> {
  const of = (): Json[] => events(id).filter(({ requestURI }) => requestURI === path);
  return (await eventually(of, (found) => found.length > 0))[0];
}

test("both servers record a proxied request with the same ID", async () => {
  const path = `${JOBS}?limit=1`;
  expect((await asTenant(first, path)).status).toBe(200);
  const [asked, served] = [await recorded("a", path), await recorded("b", path)];
  expect(asked.auditID).toBe(served.auditID);
  expect(asked.annotations).toMatchObject({ "evenkeel.io/served-by": "b" });
  expect(served.annotations).toMatchObject({ "evenkeel.io/proxied-by": "a" });
  for (const event of [asked, served])
    expect(event).toMatchObject({
      ...{ stage: "ResponseComplete", verb: "list", responseStatus: { code: 200 } },
      user: { username: "tenant", groups: ["tenants", "system:authenticated"] },
    });
});

test("a client that sends the headers of a peer is recorded with its own identity", async () => {
  const path = `${JOBS}?limit=2`;
  const headers = {
    "x-evenkeel-proxied-by": "mallory",
    "x-kubernetes-peer-proxied": "true",
    "x-remote-user": "admin",
    "audit-id": "chosen-by-client",
  };
  expect((await asTenant(first, path, { headers })).status).toBe(200);
  const [asked, served] = [await recorded("a", path), await recorded("b", path)];
  expect([asked.auditID, served.auditID]).toEqual(["chosen-by-client", "chosen-by-client"]);
  expect(asked.annotations["evenkeel.io/proxied-by"]).toBeUndefined();
  expect(served.annotations["evenkeel.io/proxied-by"]).toBe("a");
  expect([asked.user.username, served.user.username]).toEqual(["tenant", "tenant"]);
});

test("a rejected request is recorded with its user and without its credentials", async () => {
  expect((await asTenant(first, SECRET)).status).toBe(403);
  expect(await recorded("a", SECRET)).toMatchObject({
    user: { username: "tenant" },
    objectRef: { resource: "secrets", namespace: OTHER, name: "treasure" },
    responseStatus: { status: "Failure", reason: "Forbidden", code: 403 },
    annotations: { "authorization.k8s.io/decision": "forbid" },
  });
  const path = `${SECRET}?wrong`;
  expect((await first.call(path, { token: "stolen-token" })).status).toBe(401);
  expect(await recorded("a", path)).toMatchObject({ responseStatus: { reason: "Unauthorized", code: 401 } });
  for (const id of ["a", "b"])
    for (const secret of [TENANT_TOKEN, "stolen-token", "admin-token"])
      expect(readFileSync(logOf(id), "utf8")).not.toContain(secret);
});

test("an impersonated request is recorded with both users by the local server and with the impersonated user by the peer", async () => {
  const path = `${JOBS}?limit=3`;
  const response = await first.call(path, {
    headers: { "impersonate-user": "tenant", "impersonate-group": "tenants" },
  });
  expect(response.status).toBe(200);
  const [asked, served] = [await recorded("a", path), await recorded("b", path)];
  expect(asked).toMatchObject({ user: { username: "admin" }, impersonatedUser: { username: "tenant" } });
  expect(served).toMatchObject({ auditID: asked.auditID, user: { username: "tenant" } });
});
