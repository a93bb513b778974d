import { describe, expect, test } from "vitest";
import type { Clock } from "../../../base/clock.ts";
import { protobufTables } from "../../../objects/catalog/protobuf-tables.ts";
import { openSchemas } from "../../../objects/catalog/schema-source.ts";
import { bufferedBody } from "../../http/request-body.ts";
import { bodyJson, infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import { isJsonObject, objectAt, type JsonObject } from "../../../meta/json.ts";
import { badRequest, StatusError } from "../../../meta/status-error.ts";
import type { ResourceEndpoint, WithRequester } from "../endpoint.ts";
import { negotiateRepresentation } from "../render/negotiate.ts";
import type { ReviewedAccess, ReviewPorts } from "./ports.ts";
import { reviewEndpoint } from "./reviews.ts";
import { gatesOf } from "../../../objects/catalog/release-gates.ts";

const NOW = Date.parse("2026-01-02T03:04:05Z");
const JANE = { name: "jane", uid: "7", groups: ["devs"], extra: { team: ["blue"] } };
const KINDS: Readonly<Record<string, string>> = {
  subjectaccessreviews: "SubjectAccessReview",
  localsubjectaccessreviews: "LocalSubjectAccessReview",
  selfsubjectaccessreviews: "SelfSubjectAccessReview",
  selfsubjectrulesreviews: "SelfSubjectRulesReview",
  tokenreviews: "TokenReview",
  selfsubjectreviews: "SelfSubjectReview",
};
const PODS = { verb: "get", resource: "pods", namespace: "ns" };

function portsWith(ports: Partial<ReviewPorts<WithRequester>>): ReviewPorts<WithRequester> {
  const schemas = openSchemas("1.36");
  return {
    clock: { now: () => NOW } as Clock,
    gates: gatesOf("1.36"),
    schemaOf: ({ group, version }, kind) => schemas.kind(group, version, kind),
    protobuf: protobufTables,
    authorize: () => ({ allowed: false, reason: "" }),
    rulesFor: () => expect.unreachable(),
    authenticateToken: () => "unknown",
    apiAudiences: ["api"],
    ...ports,
  };
}

interface Sent {
  readonly accept?: string;
  readonly query?: string;
}

interface Answered {
  readonly status: number;
  readonly body: JsonObject;
  readonly warning: unknown;
}

/** Creates a review. Returns errors as their Status. */
async function review(
  resource: string,
  body: JsonObject,
  ports: Partial<ReviewPorts<WithRequester>> = {},
  { accept = "application/json", query = "" }: Sent = {},
): Promise<Answered> {
  const group = /^token|^selfsubjectreviews/.test(resource) ? "authentication.k8s.io" : "authorization.k8s.io";
  const namespaced = resource.startsWith("local");
  const endpoint: ResourceEndpoint = {
    ...{ group, version: "v1", resource, kind: KINDS[resource]!, namespaced, verbs: new Set(["create"]) },
    ...{ subresources: new Map(), deprecation: undefined, served: undefined },
  };
  const url = `/apis/${group}/v1/${namespaced ? "namespaces/ns/" : ""}${resource}${query}`;
  const request = {
    ...infoRequest({ method: "POST", url, headers: { accept, "user-agent": "test/1" } }),
    body: bufferedBody(Buffer.from(JSON.stringify({ apiVersion: `${group}/v1`, kind: KINDS[resource], ...body }))),
    user: JANE,
  };
  try {
    const representation = negotiateRepresentation(accept, "object");
    const response = await reviewEndpoint(portsWith(ports))(request, { endpoint, representation })!;
    const answer = bodyJson(response);
    return { status: response.status, body: isJsonObject(answer) ? answer : {}, warning: response.headers["warning"] };
  } catch (thrown) {
    const { code } = StatusError.from(thrown);
    return { status: code, body: { ...StatusError.from(thrown).toStatus() }, warning: undefined };
  }
}

const messageOf = ({ body }: Answered): unknown => body["message"];

describe("access reviews:", () => {
  test("the response is the request with its status and managedFields", async () => {
    const spec = { user: "u", resourceAttributes: PODS };
    const authorize = (): { allowed: boolean; reason: string } => ({ allowed: true, reason: "because" });
    const response = await review("subjectaccessreviews", { spec, status: { denied: true } }, { authorize });
    expect(response.status).toBe(201);
    expect(response.body).toMatchObject({
      kind: "SubjectAccessReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: { managedFields: [{ manager: "test", operation: "Update", time: "2026-01-02T03:04:05Z" }] },
      spec,
    });
    expect(response.body["status"]).toEqual({ allowed: true, reason: "because" });
  });

  const bare = { group: "", subresource: "", name: "", path: "", version: "*" };
  const self = { name: "jane", uid: "7", groups: ["devs"], extra: { team: ["blue"] } };
  test.each<readonly [resource: string, spec: JsonObject, user: JsonObject, asked: Partial<ReviewedAccess>]>([
    [
      "subjectaccessreviews",
      { user: "u", uid: "1", groups: ["g"], extra: { Foo: ["A"] }, resourceAttributes: PODS },
      { name: "u", uid: "1", groups: ["g"], extra: { Foo: ["A"] } },
      { ...bare, ...PODS, isResourceRequest: true },
    ],
    [
      "subjectaccessreviews",
      { groups: ["g"], resourceAttributes: { ...PODS, group: "x", version: "v2", subresource: "s", name: "n" } },
      { name: "", uid: "", groups: ["g"], extra: {} },
      { ...PODS, group: "x", version: "v2", subresource: "s", name: "n", path: "", isResourceRequest: true },
    ],
    [
      "localsubjectaccessreviews",
      { user: "u", resourceAttributes: PODS },
      { name: "u", uid: "", groups: [], extra: {} },
      { ...bare, ...PODS, isResourceRequest: true },
    ],
    ["selfsubjectaccessreviews", { resourceAttributes: PODS }, self, { ...bare, ...PODS, isResourceRequest: true }],
    [
      "selfsubjectaccessreviews",
      { nonResourceAttributes: { path: "/x", verb: "get" } },
      self,
      { ...bare, version: "", namespace: "", resource: "", path: "/x", verb: "get", isResourceRequest: false },
    ],
  ])("%s with spec %j is evaluated for the user and the action of the spec", async (resource, spec, user, asked) => {
    const seen: unknown[] = [];
    const authorize = async (...question: unknown[]): Promise<{ allowed: boolean; reason: string }> => {
      seen.push(...question.slice(0, 2));
      return { allowed: false, reason: "" };
    };
    expect((await review(resource, { spec }, { authorize })).body["status"]).toEqual({ allowed: false });
    expect(seen).toEqual([user, asked]);
  });

  const NONE = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
  const both = { resourceAttributes: PODS, nonResourceAttributes: { path: "/x", verb: "get" } };
  const other = { ...PODS, namespace: "x" };
  test.each<readonly [resource: string, body: JsonObject, text: string]>([
    [
      "subjectaccessreviews",
      {},
      `[spec.resourceAttributes: Invalid value: null: ${NONE}, spec.user: Invalid value: "": at least one of user or group must be specified]`,
    ],
    [
      "selfsubjectaccessreviews",
      { spec: both },
      'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: cannot be specified in combination with resourceAttributes',
    ],
    [
      "localsubjectaccessreviews",
      { spec: { user: "u", nonResourceAttributes: { path: "/x", verb: "get" } } },
      'spec.nonResourceAttributes: Invalid value: {"Path":"/x","Verb":"get"}: disallowed on this kind of request',
    ],
    [
      "localsubjectaccessreviews",
      { spec: { user: "u", resourceAttributes: other } },
      'spec.resourceAttributes.namespace: Invalid value: "x": must match metadata.namespace',
    ],
    [
      "subjectaccessreviews",
      { metadata: { labels: { a: "b" }, name: "x", uid: "u" }, spec: { user: "u", nonResourceAttributes: {} } },
      'metadata: Invalid value: {"name":"x","labels":{"a":"b"},"managedFields":[{"manager":"test","operation":"Update","apiVersion":"authorization.k8s.io/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:nonResourceAttributes":{},"f:user":{}}}}]}: must be empty',
    ],
  ])("%s with body %j is invalid", async (resource, body, text) => {
    const response = await review(resource, body);
    expect(response.status).toBe(422);
    expect(messageOf(response)).toBe(`.authorization.k8s.io "" is invalid: ${text}`);
    expect(response.body["details"]).toMatchObject({ group: "authorization.k8s.io" });
    expect(response.body["details"]).not.toHaveProperty("kind");
  });

  test("empty metadata is accepted", async () => {
    const metadata = { labels: {}, finalizers: [], creationTimestamp: null, namespace: "x", uid: "y" };
    const response = await review("subjectaccessreviews", { metadata, spec: { user: "u", nonResourceAttributes: {} } });
    expect(response.status).toBe(201);
    expect(Object.keys(objectAt(response.body, "metadata"))).toEqual(["managedFields"]);
  });

  test("a local review is evaluated in the namespace of its path, and rejected with another namespace", async () => {
    const local = await review("localsubjectaccessreviews", { spec: { user: "u", resourceAttributes: PODS } });
    expect(local.body["metadata"]).toMatchObject({ namespace: "ns" });
    const foreign = await review("localsubjectaccessreviews", { metadata: { namespace: "x" } });
    expect(messageOf(foreign)).toBe(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  });
});

describe("the selectors of an access review", () => {
  const asked = (selectors: JsonObject): JsonObject => ({
    spec: { user: "u", resourceAttributes: { ...PODS, ...selectors } },
  });
  const at = "spec.resourceAttributes";

  test.each<readonly [selectors: JsonObject, problem: string | undefined]>([
    [{ fieldSelector: { rawSelector: "a=b" }, labelSelector: { rawSelector: "a in (b)" } }, undefined],
    [{ fieldSelector: { rawSelector: "a" } }, `${at}.fieldSelector ignored due to parse error`],
    [{ labelSelector: { rawSelector: `a${" ".repeat(70_000)}` } }, `${at}.labelSelector ignored due to parse error`],
    [
      {
        fieldSelector: { requirements: [{ key: "a", operator: "Exists" }] },
        labelSelector: { requirements: [{ key: "a", operator: "Later" }] },
      },
      `${at}.fieldSelector ignored due to parse error; ${at}.labelSelector ignored due to parse error`,
    ],
    [
      {
        fieldSelector: {
          requirements: [
            { key: "a", operator: "In", values: ["b"] },
            { key: "a", operator: "NotIn", values: ["b", "c"] },
          ],
        },
        labelSelector: { requirements: [{ key: "a", operator: "Exists" }] },
      },
      `${at}.fieldSelector partially ignored due to parse error`,
    ],
  ])("%j yield the expected evaluation error, or none", async (selectors, evaluationError) => {
    const { body } = await review("subjectaccessreviews", asked(selectors));
    expect(body["status"]).toEqual({ allowed: false, ...(evaluationError && { evaluationError }) });
  });

  test.each<readonly [selectors: JsonObject, text: string]>([
    [
      { fieldSelector: {} },
      `${at}.fieldSelector.requirements: Required value: when ${at}.fieldSelector is specified, requirements or rawSelector is required`,
    ],
    [
      { labelSelector: { rawSelector: "a", requirements: [{ key: "a", operator: "Exists" }] } },
      `${at}.labelSelector.rawSelector: Invalid value: "a": may not specified at the same time as requirements`,
    ],
    [
      { fieldSelector: { requirements: [{ key: "", operator: "Exists", values: ["a"] }] } },
      `[${at}.fieldSelector.requirements[0].key: Required value: must be specified, ${at}.fieldSelector.requirements[0].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist']`,
    ],
  ])("%j are invalid", async (selectors, text) => {
    const response = await review("subjectaccessreviews", asked(selectors));
    expect(messageOf(response)).toBe(`.authorization.k8s.io "" is invalid: ${text}`);
  });

  test("are rejected with at most 100 errors", async () => {
    const requirements = Array.from({ length: 5000 }, () => ({ key: "", operator: "In" }));
    const { body } = await review("subjectaccessreviews", asked({ fieldSelector: { requirements } }));
    expect((objectAt(body, "details")["causes"] as unknown[]).length).toBeLessThanOrEqual(100);
  });

  test("are ignored before 1.32", async () => {
    const response = await review("subjectaccessreviews", asked({ fieldSelector: {} }), { gates: gatesOf("1.31") });
    expect(response.status).toBe(201);
    expect(response.body["spec"]).toEqual({ user: "u", resourceAttributes: PODS });
  });
});

describe("token reviews", () => {
  const BOT = { name: "bot", uid: "", groups: ["bots"], extra: {} };

  test.each<readonly [spec: JsonObject, token: string, audiences: string[]]>([
    [{ token: "t" }, "t", ["api"]],
    [{ token: "t\n", audiences: ["a", "b"] }, "t", ["a", "b"]],
  ])("with spec %j pass the token %j and the audiences %j to the authenticator", async (spec, token, audiences) => {
    const seen: unknown[] = [];
    const authenticateToken: ReviewPorts<WithRequester>["authenticateToken"] = (...question) => {
      seen.push(...question);
      return { user: BOT, audiences: [audiences[0]!] };
    };
    const { status, body } = await review("tokenreviews", { spec }, { authenticateToken });
    expect(status).toBe(201);
    expect(seen).toEqual([token, audiences]);
    expect(body["status"]).toEqual({
      authenticated: true,
      user: { username: "bot", groups: ["bots"] },
      audiences: [audiences[0]],
    });
  });

  test.each<readonly [answer: "unknown" | { error: string }, error: string]>([
    ["unknown", "invalid bearer token"],
    [{ error: "service account token has expired" }, "[invalid bearer token, service account token has expired]"],
  ])("with the authenticator's result %j have the expected error in their status", async (response, error) => {
    const said = { status: { authenticated: true } };
    const { body } = await review(
      "tokenreviews",
      { spec: { token: "t" }, ...said },
      { authenticateToken: () => response },
    );
    expect(body["status"]).toEqual({ user: {}, error });
  });

  test("without a token are rejected with 400", async () => {
    const response = await review("tokenreviews", { spec: {} });
    expect(response).toMatchObject({
      status: 400,
      body: { message: "token is required for TokenReview in authentication" },
    });
  });

  test("return 500 if the authenticator returns an audience that was not requested", async () => {
    const authenticateToken = (): { user: typeof BOT; audiences: string[] } => ({ user: BOT, audiences: ["else"] });
    const response = await review("tokenreviews", { spec: { token: "t" } }, { authenticateToken });
    expect(response).toMatchObject({
      status: 500,
      body: { message: "Internal error occurred: error validating audiences" },
    });
  });
});

describe("self reviews", () => {
  test("SelfSubjectReview returns the user of the request", async () => {
    const { body } = await review("selfsubjectreviews", { metadata: { name: "x" } });
    expect(body).toEqual({
      kind: "SelfSubjectReview",
      apiVersion: "authentication.k8s.io/v1",
      metadata: { creationTimestamp: "2026-01-02T03:04:05Z" },
      status: { userInfo: { username: "jane", uid: "7", groups: ["devs"], extra: { team: ["blue"] } } },
    });
  });

  test("SelfSubjectRulesReview returns the rules of the user in the namespace, and requires a namespace", async () => {
    const asked: unknown[] = [];
    const rulesFor: ReviewPorts<WithRequester>["rulesFor"] = (...question) => {
      asked.push(...question);
      return {
        resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: [] }],
        nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }],
        incomplete: true,
        evaluationError: "some",
      };
    };
    const { body } = await review("selfsubjectrulesreviews", { spec: { namespace: "ns" } }, { rulesFor });
    expect(asked).toEqual([JANE, "ns"]);
    expect(body).toEqual({
      kind: "SelfSubjectRulesReview",
      apiVersion: "authorization.k8s.io/v1",
      metadata: {},
      spec: {},
      status: {
        resourceRules: [{ verbs: ["get"], apiGroups: [""], resources: ["pods"] }],
        nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }],
        incomplete: true,
        evaluationError: "some",
      },
    });
    expect(messageOf(await review("selfsubjectrulesreviews", {}))).toBe("no namespace on request");
  });
});

describe("like every created object,", () => {
  const table = "application/json;as=Table;g=meta.k8s.io;v=v1";

  test("a review is negotiated by Accept, except that a Table is not available", async () => {
    expect((await review("selfsubjectreviews", {}, {}, { accept: table })).status).toBe(406);
    const next = await review("selfsubjectreviews", {}, {}, { accept: `${table},application/json` });
    expect(next.body).toMatchObject({ kind: "SelfSubjectReview" });
  });

  test("a review with an unknown field causes a warning, or is rejected with fieldValidation=Strict", async () => {
    expect((await review("selfsubjectreviews", { spec: {} })).warning).toEqual([
      String.raw`299 - "unknown field \"spec\""`,
    ]);
    const strict = await review("selfsubjectreviews", { spec: {} }, {}, { query: "?fieldValidation=Strict" });
    expect(strict.status).toBe(400);
  });

  test("a review with invalid options is rejected, and the option fieldManager becomes the manager in managedFields", async () => {
    expect((await review("tokenreviews", { spec: { token: "t" } }, {}, { query: "?dryRun=X" })).status).toBe(422);
    const { body } = await review("tokenreviews", { spec: { token: "t" } }, {}, { query: "?fieldManager=me" });
    expect(body["metadata"]).toMatchObject({ managedFields: [{ manager: "me" }] });
  });

  test("a review is changed by mutating admission and may be rejected by validating admission before it is evaluated", async () => {
    const admit: ReviewPorts<WithRequester>["admit"] = () => ({
      mutate: ({ object }) => Promise.resolve({ ...object, spec: { token: "" } }),
      validate: () => Promise.reject(badRequest("not today")),
    });
    const changed = await review("tokenreviews", { spec: { token: "t" } }, { admit });
    expect(messageOf(changed)).toBe("token is required for TokenReview in authentication");
    expect(messageOf(await review("selfsubjectreviews", {}, { admit }))).toBe("not today");
  });

  test("the review endpoint returns undefined for a resource that is not a review", () => {
    const endpoint = { group: "", resource: "pods" } as ResourceEndpoint;
    const request = { ...infoRequest({}), user: JANE };
    const representation = negotiateRepresentation(undefined, "object");
    expect(reviewEndpoint(portsWith({}))(request, { endpoint, representation })).toBeUndefined();
  });
});
