/** Tests of a tenant that tries to keep a server busy with few requests. Other users must still be served. */
import type { TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  asTenant,
  bindingOf,
  createAsAdmin,
  openTls,
  OWN,
  RBAC,
  rule,
  startSite,
  TENANT_TOKEN,
  type Site,
} from "./start.ts";

let site: Site;
const sockets: TLSSocket[] = [];

beforeAll(async () => {
  site = await startSite({ maxRequestsInflight: 10, maxMutatingRequestsInflight: 10 });
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await site[Symbol.asyncDispose]();
});

describe("a tenant that", () => {
  const path = `/api/v1/namespaces/${OWN}/configmaps`;

  test("sends incomplete bodies does not block requests of other users", async () => {
    const head = [`POST ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${TENANT_TOKEN}`, "Content-Length: 100"];
    for (let index = 0; index < 60; index++) {
      const socket = await openTls(site.first);
      socket.write(`${head.join("\r\n")}\r\nContent-Type: application/json\r\n\r\n{`);
      sockets.push(socket);
    }
    const began = performance.now();
    expect((await site.first.call("/api", { token: "jane-token" })).status).toBe(200);
    expect((await asTenant(site.first, path)).status).toBe(200);
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("binds one large role 30 times does not multiply the rules in a SelfSubjectRulesReview", async () => {
    const rules = Array.from({ length: 2_000 }, (_, index) => ({
      ...(rule("", ["configmaps"], ["get"]) as object),
      resourceNames: [`c${index}`],
    }));
    await createAsAdmin(site.first, `${RBAC}/namespaces/${OWN}/roles`, { metadata: { name: "large" }, rules });
    // The binding to the role that allows these requests sorts first, so that authorization compares few rules.
    const first = bindingOf("a-first", "Role", "tenant-admin");
    const bindings = Array.from({ length: 30 }, (_, index) => bindingOf(`again-${index}`, "Role", "large"));
    for (const body of [first, ...bindings]) {
      const response = await asTenant(site.first, `${RBAC}/namespaces/${OWN}/rolebindings`, { method: "POST", body });
      expect([response.status, response.status === 201 ? "" : response.text]).toEqual([201, ""]);
    }
    const review = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    const { body } = await asTenant(site.first, review, { method: "POST", body: { spec: { namespace: OWN } } });
    expect((body as { status: { resourceRules: unknown[] } }).status.resourceRules.length).toBeLessThan(4_000);
  });
});
