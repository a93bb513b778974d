/**
 * Tests of the kinds of access control (roles, certificate signing requests, webhook configurations, priority levels)
 * through the whole server: defaults, validation messages and warnings.
 */
import { afterEach, beforeEach, expect, test } from "vitest";
import { SIGNING_REQUEST } from "../testing/objects/kinds/access/signing-request.ts";
import { header, startServer, type TestServer } from "./start.ts";

const REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const BINDINGS = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
const WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";

let server: TestServer;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server[Symbol.asyncDispose]());

test("a role without rules returns null rules and can be written back unchanged", async () => {
  const { body } = await server.create(ROLES, { metadata: { name: "r" } });
  expect(body.rules).toBeNull();
  // The creation sets no field, so it leaves no entry in managedFields.
  expect(body.metadata.managedFields).toBeUndefined();
  const again = await server.put(`${ROLES}/r`, body);
  expect([again.status, again.body]).toEqual([200, body]);
});

test("a role binding gets the default API groups of its roleRef and subjects, and its roleRef is immutable", async () => {
  const roleRef = { kind: "Role", name: "r" };
  const binding = { metadata: { name: "b" }, roleRef, subjects: [{ kind: "User", name: "jane" }] };
  const { body } = await server.create(BINDINGS, binding);
  const apiGroup = "rbac.authorization.k8s.io";
  expect([body.roleRef, body.subjects]).toEqual([{ ...roleRef, apiGroup }, [{ kind: "User", name: "jane", apiGroup }]]);
  const moved = await server.mergePatch(`${BINDINGS}/b`, { roleRef: { name: "other" } });
  expect([moved.status, moved.body.message]).toEqual([
    422,
    `RoleBinding.${apiGroup} "b" is invalid: roleRef: Invalid value: {"APIGroup":"${apiGroup}","Kind":"Role","Name":"other"}: cannot change roleRef`,
  ]);
});

test("a certificate signing request without a PEM certificate request is rejected", async () => {
  const spec = { request: "bm90IGEgY3Ny", signerName: "example.com/s", usages: ["client auth"] };
  const rejected = await server.create(REQUESTS, { metadata: { name: "r" }, spec });
  expect([rejected.status, rejected.body.details.causes]).toEqual([
    422,
    [
      {
        field: "spec.request",
        message: 'Invalid value: "bm90IGEgY3Ny": PEM block type must be CERTIFICATE REQUEST',
        reason: "FieldValueInvalid",
      },
    ],
  ]);
});

test("a certificate signing request can be approved through its approval subresource, but not through its status", async () => {
  const spec = { request: SIGNING_REQUEST, signerName: "example.com/s", usages: ["client auth"] };
  const created = await server.create(REQUESTS, { metadata: { name: "r" }, spec });
  expect([created.status, created.body.status]).toEqual([201, {}]);
  const conditions = [{ type: "Approved", status: "True" }];
  const rejected = await server.mergePatch(`${REQUESTS}/r/status`, { status: { conditions } });
  expect(rejected.body.message).toContain('Forbidden: updates may not add a condition of type "Approved"');
  const approved = await server.mergePatch(`${REQUESTS}/r/approval`, { status: { conditions } });
  expect(approved.status).toBe(200);
  const failed = { type: "Failed", status: "True" };
  const status = { conditions: [...conditions, failed] };
  const written = await server.mergePatch(`${REQUESTS}/r/status`, { status });
  expect(written.body.status.conditions).toEqual([
    approved.body.status.conditions[0],
    { ...failed, lastUpdateTime: expect.any(String), lastTransitionTime: expect.any(String) },
  ]);
});

test("a webhook configuration gets its defaults, and a reserved name causes a warning", async () => {
  const webhook = {
    name: "a.example.com",
    clientConfig: { url: "https://example.com/" },
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const created = await server.create(WEBHOOKS, { metadata: { name: "a.static.k8s.io" }, webhooks: [webhook] });
  expect(header(created, "warning")).toContain("reserved for static manifest-based configurations");
  expect(created.body.webhooks).toEqual([
    {
      ...webhook,
      failurePolicy: "Fail",
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
    },
  ]);
});

test("mandatory priority levels cannot be changed, except for the exempt settings of the exempt level", async () => {
  const rejected = await server.mergePatch(`${LEVELS}/catch-all`, { spec: { limited: { lendablePercent: 1 } } });
  expect([rejected.status, rejected.body.message]).toEqual([
    422,
    expect.stringContaining("spec of 'catch-all' must equal the fixed value"),
  ]);
  const given = await server.mergePatch(`${LEVELS}/exempt`, { spec: { exempt: { lendablePercent: 1 } } });
  expect([given.status, given.body.spec.exempt.lendablePercent]).toEqual([200, 1]);
});
