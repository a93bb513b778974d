import { describe, expect, test } from "vitest";
import { protobufTables } from "../../../../objects/catalog/protobuf-tables.ts";
import { openSchemas } from "../../../../objects/catalog/schema-source.ts";
import { bufferedBody } from "../../../http/request-body.ts";
import { bodyJson, infoRequest } from "../../../../../test/testing/serving/http/requests.ts";
import type { GroupResource } from "../../../../meta/group-version.ts";
import type { JsonObject } from "../../../../meta/json.ts";
import type { Admission } from "../../../registry/admission.ts";
import type { ServedResource } from "../../../registry/resource.ts";
import { createEntry } from "../../../../storage/watch-cache/entry.ts";
import type { EndpointCall } from "../../endpoint.ts";
import { negotiateRepresentation } from "../../render/negotiate.ts";
import { tokenRequestEndpoint, type TokenRequests } from "./token-request.ts";
import { gatesOf } from "../../../../objects/catalog/release-gates.ts";
import type { ReleaseName } from "../../../../objects/catalog/release.ts";
import type { TokenRequestSpec } from "./token-request-spec.ts";

const NOW = Date.UTC(2026, 0, 1);
const AUDIENCE = "https://kubernetes.default.svc.cluster.local";

const OBJECTS: Readonly<Record<string, JsonObject>> = {
  "pods/ns/web": { metadata: { name: "web", uid: "pod-uid" }, spec: { serviceAccountName: "sa", nodeName: "node" } },
  "pods/ns/lost": { metadata: { name: "lost", uid: "lost-uid" }, spec: { serviceAccountName: "sa", nodeName: "gone" } },
  "pods/ns/idle": { metadata: { name: "idle", uid: "idle-uid" }, spec: { serviceAccountName: "sa" } },
  "pods/ns/other": { metadata: { name: "other", uid: "other-uid" }, spec: { serviceAccountName: "default" } },
  "secrets/ns/strategy": { metadata: { name: "strategy", uid: "secret-uid" } },
  "nodes//node": { metadata: { name: "node", uid: "node-uid" } },
};

function find({ resource }: GroupResource, namespace: string, name: string): JsonObject | undefined {
  return OBJECTS[`${resource}/${namespace}/${name}`];
}

interface Asked {
  readonly body: unknown;
  readonly release?: ReleaseName;
  readonly name?: string;
  readonly query?: string;
  readonly tokens?: Partial<TokenRequests>;
  readonly admission?: Admission;
}

interface Told {
  readonly status: number;
  readonly body: unknown;
  readonly warnings: unknown;
  readonly issued: TokenRequestSpec | undefined;
  readonly annotations: readonly (readonly [string, string])[];
}

function served(release: ReleaseName): ServedResource {
  const schemas = openSchemas("1.36");
  return {
    groupResource: { group: "", resource: "serviceaccounts" },
    groupVersion: { group: "", version: "v1" },
    apiVersion: "v1",
    kind: "ServiceAccount",
    gates: gatesOf(release),
    stored: { namespaced: true, keyPrefix: "/registry/serviceaccounts/" },
    schemaOf: ({ group, version }: { group: string; version: string }, kind: string) =>
      schemas.kind(group, version, kind),
  } as unknown as ServedResource;
}

function stored(key: string): ReturnType<typeof createEntry> | undefined {
  if (key !== "/registry/serviceaccounts/ns/sa") return undefined;
  const account = {
    kind: "ServiceAccount",
    apiVersion: "v1",
    metadata: { name: "sa", namespace: "ns", uid: "sa-uid" },
  };
  return createEntry({ key, value: Buffer.from(JSON.stringify(account)), modRevision: 7, createRevision: 7 });
}

async function ask({ body, release = "1.36", name = "sa", query = "", tokens = {}, admission }: Asked): Promise<Told> {
  const request = infoRequest({
    method: "POST",
    url: `/api/v1/namespaces/ns/serviceaccounts/${name}/token${query}`,
    headers: { "user-agent": "agent/1" },
  });
  const call = {
    context: { clock: { now: () => NOW }, store: { getNow: stored } },
    served: served(release),
    request: { ...request, body: bufferedBody(Buffer.from(JSON.stringify(body))) },
    admit: () => admission,
    protobuf: protobufTables,
  } as unknown as EndpointCall;
  let tokenSpec: TokenRequestSpec | undefined;
  const annotations: [string, string][] = [];
  const response = await tokenRequestEndpoint(call, {
    representation: negotiateRepresentation(undefined, "object"),
    tokens: {
      issue(wanted) {
        tokenSpec = wanted;
        return { token: "signed", credentialId: "JTI=1" };
      },
      objects: { get: () => undefined, newest: async (...place) => find(...place) },
      apiAudiences: [AUDIENCE],
      maxExpirationSeconds: 0,
      extendsExpiration: true,
      ...tokens,
    },
    annotate: (key, value) => annotations.push([key, value]),
  });
  if ("respond" in response) throw new Error("the token request was forwarded");
  return {
    status: response.status,
    body: bodyJson(response),
    warnings: response.headers["warning"],
    issued: tokenSpec,
    annotations,
  };
}

function bound(reference: JsonObject, more: JsonObject = {}): JsonObject {
  return { spec: { boundObjectRef: reference, ...more } };
}

describe("a token request", () => {
  test("returns a token, the complete spec and managedFields", async () => {
    expect(await ask({ body: {} })).toEqual({
      status: 201,
      warnings: undefined,
      annotations: [["authentication.kubernetes.io/issued-credential-id", "JTI=1"]],
      issued: {
        namespace: "ns",
        serviceAccount: { name: "sa", uid: "sa-uid" },
        audiences: [AUDIENCE],
        expirationSeconds: 3600,
        hasId: true,
        nowMs: NOW,
      },
      body: {
        kind: "TokenRequest",
        apiVersion: "authentication.k8s.io/v1",
        metadata: {
          name: "sa",
          namespace: "ns",
          uid: "sa-uid",
          creationTimestamp: "2026-01-01T00:00:00Z",
          managedFields: [
            {
              manager: "agent",
              operation: "Update",
              apiVersion: "authentication.k8s.io/v1",
              time: "2026-01-01T00:00:00Z",
              fieldsType: "FieldsV1",
              fieldsV1: { "f:spec": { "f:expirationSeconds": {} } },
              subresource: "token",
            },
          ],
        },
        spec: { audiences: [AUDIENCE], expirationSeconds: 3600, boundObjectRef: null },
        status: { token: "signed", expirationTimestamp: "2026-01-01T01:00:00Z" },
      },
    });
  });

  test("may set audiences, an expiration and labels, and the status in the request is ignored", async () => {
    const spec = { audiences: ["a", "b"], expirationSeconds: 700 };
    const { body, issued } = await ask({ body: { metadata: { labels: { a: "b" } }, spec, status: { token: "x" } } });
    expect(issued).toMatchObject(spec);
    expect(body).toMatchObject({ metadata: { labels: { a: "b" } }, spec, status: { token: "signed" } });
  });

  test("with an expiration above the maximum returns a token with the maximum and a warning", async () => {
    const { issued, body, warnings } = await ask({
      body: { spec: { expirationSeconds: 172_801 } },
      tokens: { maxExpirationSeconds: 172_800 },
    });
    expect(issued?.expirationSeconds).toBe(172_800);
    expect(body).toHaveProperty("spec.expirationSeconds", 172_800);
    expect(warnings).toEqual(['299 - "requested expiration of 172801 seconds shortened to 172800 seconds"']);
  });

  test("passes admission, which may change the spec and reject the request", async () => {
    const seen: unknown[] = [];
    const admission: Admission = {
      mutate: async ({ object }) => ({ ...object, spec: { expirationSeconds: 900 } }),
      async validate({ object }) {
        seen.push(object);
        throw new Error("no");
      },
    };
    await expect(ask({ body: {}, admission })).rejects.toThrow("no");
    expect(seen).toMatchObject([
      { metadata: { uid: "sa-uid" }, spec: { audiences: [AUDIENCE], expirationSeconds: 900 } },
    ]);
  });

  test("ignores another UID before 1.34, and returns a token without an ID before 1.30", async () => {
    const { issued, body } = await ask({ body: { metadata: { uid: "other" } }, release: "1.29" });
    expect(issued?.hasId).toBe(false);
    expect(body).toHaveProperty("metadata.uid", "sa-uid");
  });
});

describe("a token", () => {
  const pod = { name: "web", uid: "pod-uid" };
  const node = { name: "node", uid: "node-uid" };

  test.each<readonly [reference: JsonObject, issued: Partial<TokenRequestSpec>]>([
    [
      { kind: "Pod", apiVersion: "v1", name: "web" },
      { pod, node },
    ],
    [
      { kind: "Pod", apiVersion: "v7", name: "web", uid: "pod-uid" },
      { pod, node },
    ],
    [
      { kind: "Pod", name: "lost" },
      { pod: { name: "lost", uid: "lost-uid" }, node: { name: "gone", uid: "" } },
    ],
    [{ kind: "Pod", name: "idle" }, { pod: { name: "idle", uid: "idle-uid" } }],
    [{ kind: "Node", name: "node" }, { node }],
    [{ kind: "Secret", name: "strategy" }, { secret: { name: "strategy", uid: "secret-uid" } }],
  ])("can be bound to %j", async (reference, issued) => {
    const response = await ask({ body: bound(reference) });
    const { pod: toPod, node: toNode, secret } = response.issued!;
    expect({ pod: toPod, node: toNode, secret }).toEqual({
      pod: undefined,
      node: undefined,
      secret: undefined,
      ...issued,
    });
    expect(response.body).toHaveProperty("spec.boundObjectRef", reference);
    const members = Object.keys(reference).map((member) => [`f:${member}`, {}]);
    expect(response.body).toMatchObject({
      metadata: { managedFields: [{ fieldsV1: { "f:spec": { "f:boundObjectRef": Object.fromEntries(members) } } }] },
    });
    expect(JSON.stringify(response.body)).not.toContain('".":');
  });

  test.each<
    readonly [why: string, body: JsonObject, tokens: Partial<TokenRequests>, warnAfterSeconds: number | undefined]
  >([
    [
      "for a pod and 3607 seconds is valid for a year",
      bound({ kind: "Pod", name: "web" }, { expirationSeconds: 3607 }),
      {},
      3607,
    ],
    [
      "for a pod and another period is not extended",
      bound({ kind: "Pod", name: "web" }, { expirationSeconds: 3608 }),
      {},
      undefined,
    ],
    ["for a node is not extended", bound({ kind: "Node", name: "node" }, { expirationSeconds: 3607 }), {}, undefined],
    [
      "for a pod and other audiences is not extended",
      bound({ kind: "Pod", name: "web" }, { expirationSeconds: 3607, audiences: [AUDIENCE, "vault"] }),
      {},
      undefined,
    ],
    [
      "for a pod is not extended if extension is off",
      bound({ kind: "Pod", name: "web" }, { expirationSeconds: 3607 }),
      { extendsExpiration: false },
      undefined,
    ],
  ])("%s", async (_, body, tokens, warnAfterSeconds) => {
    const { issued, body: response } = await ask({ body, tokens });
    const asked = (body["spec"] as JsonObject)["expirationSeconds"];
    expect(issued?.warnAfterSeconds).toBe(warnAfterSeconds);
    expect(issued?.expirationSeconds).toBe(warnAfterSeconds === undefined ? asked : 365 * 86_400);
    expect(response).toHaveProperty("spec.expirationSeconds", asked);
  });
});

describe("a token request is rejected", () => {
  test.each<readonly [body: unknown, code: number, message: string, more?: Partial<Asked>]>([
    [
      { metadata: { name: "x" } },
      422,
      'TokenRequest.authentication.k8s.io "sa" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified',
    ],
    [
      { metadata: { namespace: "x" } },
      400,
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
    [
      { metadata: { uid: "x" } },
      409,
      'Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "sa": the UID in the token request (x) does not match the UID of the service account (sa-uid)',
    ],
    [
      { spec: { expirationSeconds: 599 } },
      422,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
    ],
    [
      { spec: { expirationSeconds: 4_294_967_297 } },
      422,
      'TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
    ],
    [{}, 404, 'serviceaccounts "nobody" not found', { name: "nobody" }],
    [bound({ kind: "Pod", name: "x" }), 404, 'pods "x" not found'],
    [bound({ kind: "Pod", name: "" }), 400, "Name parameter required."],
    [bound({ kind: "Node", name: "x" }), 404, 'nodes "x" not found'],
    [bound({ kind: "Secret", name: "x" }), 404, 'secrets "x" not found'],
    [
      bound({ kind: "Pod", name: "other" }),
      400,
      'cannot bind token for serviceaccount "sa" to pod running with different serviceaccount name.',
    ],
    [
      bound({ kind: "Pod", name: "web", uid: "x" }),
      409,
      'Operation cannot be fulfilled on Pod "web": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated',
    ],
    [bound({}), 400, "cannot bind token to object of type /, Kind="],
    [bound({ kind: "X", apiVersion: "a/b/c" }), 400, "cannot bind token to object of type /, Kind=X"],
    [bound({ kind: "Pod", apiVersion: "apps/v1" }), 400, "cannot bind token to object of type apps/v1, Kind=Pod"],
    [
      bound({ kind: "Node", name: "node" }),
      400,
      'cannot bind token to a Node object as the "ServiceAccountTokenNodeBinding" feature-gate is disabled',
      { release: "1.30" },
    ],
    [
      { kind: "TokenReview", apiVersion: "authentication.k8s.io/v1" },
      400,
      'TokenReview in version "v1" cannot be handled as a TokenRequest: converting (v1.TokenReview) to (authentication.TokenRequest): unknown conversion',
    ],
    [
      { foo: 1 },
      400,
      'TokenRequest in version "v1" cannot be handled as a TokenRequest: strict decoding error: unknown field "foo"',
      { query: "?fieldValidation=Strict" },
    ],
  ])("if its body is %j: %d %s", async (body, code, message, more = {}) => {
    await expect(ask({ body, ...(more as Partial<Asked>) })).rejects.toMatchObject({ code, message });
  });
});
