import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { badRequest } from "../../../meta/status-error.ts";
import type { Attributes, ServedVersion } from "../admission.ts";
import { attributes, rejectionOf } from "../../../../test/testing/access/admission/plugins/attributes.ts";
import { mutatingAdmissionWebhook, type MutatedAttributes, type MutatingParts } from "./mutating.ts";
import { Reinvocation } from "./reinvocation.ts";
import {
  allowed,
  base64,
  configuration,
  denied,
  FakeWebhooks,
  withPatch,
  type WebhookReply,
} from "../../../../test/testing/access/admission/webhooks/fake-webhooks.ts";

const OBJECT: JsonObject = { apiVersion: "v1", kind: "Pod", metadata: { name: "p", namespace: "ns" }, spec: {} };
const label = (key: string, value = "x"): JsonObject => ({ op: "add", path: `/metadata/labels/${key}`, value });
const labelled = (labels: JsonObject): JsonObject => ({ ...OBJECT, metadata: { name: "p", namespace: "ns", labels } });

interface Tried {
  readonly webhooks: FakeWebhooks;
  readonly object: JsonObject | undefined;
  readonly refused: string | undefined;
  readonly told: readonly string[];
}

interface Trial {
  readonly configurations: readonly JsonObject[];
  readonly answer: WebhookReply;
  readonly about?: Partial<MutatedAttributes>;
  readonly parts?: Partial<MutatingParts>;
}

async function mutate({ configurations, answer, about = {}, parts = {} }: Trial): Promise<Tried> {
  const webhooks = new FakeWebhooks(answer);
  webhooks.tables.mutating.reset(configurations);
  const reported: string[] = [];
  const given: Attributes = {
    ...attributes({ object: labelled({}) }),
    warn: (text) => reported.push(text),
    annotate: (key, value) => reported.push(`${key}=${value}`),
    ...about,
  };
  const plugin = mutatingAdmissionWebhook({ ...webhooks.parts("mutating"), ...parts });
  let object: JsonObject | undefined;
  const rejected = await rejectionOf(async () => {
    if (given.object === undefined) await plugin.validate?.(given);
    else object = (await plugin.mutate?.({ ...given, object: given.object })) ?? undefined;
  });
  return { webhooks, object, refused: rejected, told: reported };
}

const ONE = [configuration("config", {})];

test("webhooks mutate the object one after the other, and annotate the audit event", async () => {
  const requested: string[] = [];
  const { object, told, webhooks } = await mutate({
    configurations: [configuration("b", { name: "b1" }), configuration("a", { name: "a1" }, { name: "a2" })],
    answer: (review, name) => (name === "a2" ? allowed(review) : withPatch(review, [label(name)])),
    about: { annotateRequest: (key) => void requested.push(key) },
  });
  expect(object).toEqual(labelled({ a1: "x", b1: "x" }));
  const seen = webhooks.requests.map(({ name, review }) => [name, review.request.object.metadata.labels]);
  expect(seen).toEqual([
    ["a1", {}],
    ["a2", { a1: "x" }],
    ["b1", { a1: "x" }],
  ]);
  const key = "mutation.webhook.admission.k8s.io/round_0_index_";
  expect(told).toEqual([
    `${key}0={"configuration":"a","webhook":"a1","mutated":true}`,
    `${key}1={"configuration":"a","webhook":"a2","mutated":false}`,
    `${key}2={"configuration":"b","webhook":"b1","mutated":true}`,
  ]);
  expect(requested).toEqual([0, 2].map((index) => `patch.webhook.admission.k8s.io/round_0_index_${index}`));
});

test("a patch without effect returns no new object", async () => {
  const patch = [label("a"), { op: "remove", path: "/metadata/labels/a" }];
  expect((await mutate({ configurations: ONE, answer: (review) => withPatch(review, patch) })).object).toBeUndefined();
  expect((await mutate({ configurations: ONE, answer: (review) => withPatch(review, []) })).object).toBeUndefined();
});

test("a webhook is selected by a label that the previous webhook has added", async () => {
  const objectSelector = { matchLabels: { first: "x" } };
  const { webhooks } = await mutate({
    configurations: [configuration("config", { name: "first" }, { name: "second", objectSelector })],
    answer: (review, name) => withPatch(review, [label(name)]),
  });
  expect(webhooks.requests.map(({ name }) => name)).toEqual(["first", "second"]);
});

describe("a write is rejected if a webhook returns", () => {
  const internal = "500 Internal error occurred:";
  const failing = `${internal} failed calling webhook "a":`;

  test.each<[string, WebhookReply, string]>([
    ["a denial", (review) => denied(review, { message: "no" }), '400 admission webhook "a" denied the request: no'],
    [
      "a patch without a patch type",
      (review) => allowed(review, { patch: base64("[]") }),
      `${failing} received invalid webhook response: webhook returned response.patch but not response.patchType`,
    ],
    [
      "a patch type without a patch",
      (review) => allowed(review, { patchType: "JSONPatch" }),
      `${failing} received invalid webhook response: webhook returned response.patchType but not response.patch`,
    ],
    [
      "an unsupported patch type",
      (review) => allowed(review, { patchType: "Merge", patch: base64(JSON.stringify([label("a")])) }),
      `${failing} unsupported patch type "Merge"`,
    ],
    [
      "an invalid patch",
      (review) => allowed(review, { patchType: "JSONPatch", patch: base64("x") }),
      `${failing} received undecodable patch in webhook response: invalid character 'x' looking for beginning of value`,
    ],
    [
      "a patch that does not apply",
      (review) => withPatch(review, [{ op: "remove", path: "/q" }]),
      `${internal} error in remove for path: '/q': Unable to remove nonexistent key: q: missing value`,
    ],
    [
      "a patch that changes the kind",
      (review) => withPatch(review, [{ op: "replace", path: "/kind", value: "Foo" }]),
      `${internal} no kind "Foo" is registered for version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"`,
    ],
  ])("%s", async (_, response, expected) => {
    expect((await mutate({ configurations: ONE, answer: response })).refused).toBe(expected);
  });

  test("a patch that the decoder rejects", async () => {
    const decode = (): never => {
      throw badRequest('Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number');
    };
    const response: WebhookReply = (review) => withPatch(review, [label("a")]);
    const { refused } = await mutate({ configurations: ONE, answer: response, parts: { decode } });
    expect(refused).toBe(`${internal} json: cannot unmarshal number`);
  });

  test("an unusable response, unless its failurePolicy is Ignore; then the next webhook is called", async () => {
    const { object, told } = await mutate({
      configurations: [configuration("config", { failurePolicy: "Ignore" }, { name: "b" })],
      answer: (review, name) => (name === "b" ? withPatch(review, [label("b")]) : {}),
    });
    expect(object).toEqual(labelled({ b: "x" }));
    expect(told).toContain("failed-open.mutation.webhook.admission.k8s.io/round_0_index_0=a");
  });
});

describe("a delete", () => {
  const about: Partial<Attributes> = { operation: "DELETE", object: undefined, existing: OBJECT };

  test("is sent to webhooks, which can deny it", async () => {
    const { refused, webhooks } = await mutate({ configurations: ONE, answer: (review) => denied(review), about });
    expect(refused).toBe('400 admission webhook "a" denied the request without explanation');
    expect(webhooks.requests[0]?.review.request).toMatchObject({
      object: null,
      oldObject: OBJECT,
      operation: "DELETE",
    });
  });

  test("is rejected if a webhook returns a patch", async () => {
    const { refused } = await mutate({
      configurations: ONE,
      answer: (review) => withPatch(review, [label("a")]),
      about,
    });
    expect(refused).toBe(
      '500 Internal error occurred: admission webhook "a" attempted to modify the object, which is not supported for this operation',
    );
  });
});

describe("the object versions of a webhook", () => {
  const versionOf = (version: string): ServedVersion => ({
    groupVersion: { group: "", version },
    resource: "pods",
    kind: { group: "", version, kind: "Pod" },
  });
  const convert = (object: JsonObject, { kind }: ServedVersion): Promise<JsonObject> =>
    Promise.resolve({ ...object, apiVersion: kind.version });
  const versions = { served: [versionOf("v1"), versionOf("v2")], convert };
  const inVersion = (name: string, version: string): JsonObject => ({
    name,
    rules: [{ operations: ["*"], apiGroups: [""], apiVersions: [version], resources: ["pods"] }],
  });

  test("are those that its rules name, and the webhook patches the object in this version", async () => {
    const { object, webhooks } = await mutate({
      configurations: [configuration("c", inVersion("a", "v2"), inVersion("b", "v1"), inVersion("d", "v2"))],
      answer: (review, name) => withPatch(review, [label(name)]),
      about: { versions, existing: OBJECT, operation: "UPDATE" },
    });
    const seen = webhooks.requests.map(({ review: { request } }) => [
      ...[request.kind.version, request.object.apiVersion, request.oldObject.apiVersion, request.requestKind.version],
    ]);
    expect(seen).toEqual([
      ["v2", "v2", "v2", "v1"],
      ["v1", "v1", "v1", "v1"],
      ["v2", "v2", "v2", "v1"],
    ]);
    expect(object).toEqual(labelled({ a: "x", b: "x", d: "x" }));
  });

  test("reject the write if the conversion fails", async () => {
    const { refused } = await mutate({
      configurations: [configuration("c", inVersion("a", "v2"))],
      answer: (review) => allowed(review),
      about: { versions: { ...versions, convert: () => Promise.reject(new Error("no way")) } },
    });
    expect(refused).toBe("500 Internal error occurred: Internal error occurred: no way");
  });
});

test("managedFields that a webhook has made invalid are replaced by the previous managedFields", async () => {
  const managedFields = [{ manager: "m", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1: {} }];
  const before = { ...OBJECT, metadata: { name: "p", labels: {}, managedFields } };
  const set = (value: unknown): JsonObject => ({ op: "add", path: "/metadata/managedFields", value });
  const answered = (value: unknown): Promise<Tried> =>
    mutate({
      configurations: ONE,
      answer: (review) => withPatch(review, [label("a"), set(value)]),
      about: { object: before },
    });
  const broken = await answered([{ manager: "x" }]);
  expect(broken.object).toEqual({ ...OBJECT, metadata: { name: "p", labels: { a: "x" }, managedFields } });
  expect(broken.told[1]).toBe(
    ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: operation must be `Apply` or `Update`",
  );
  const untyped = await answered([{ manager: "x", operation: "Update", apiVersion: "v1" }]);
  expect(untyped.told[1]).toMatch(/: missing fieldsType in managed fields entry 0$/);
  expect((await answered([])).object).toMatchObject({ metadata: { managedFields: [] } });
});

describe("reinvocation", () => {
  /**
   * Invokes the plugin twice, as the admission chain does. `between` stands for other plugins that change the object
   * after the first invocation.
   */
  async function rounds(
    given: readonly JsonObject[],
    response: WebhookReply,
    between: (object: JsonObject) => JsonObject = (object) => object,
  ): Promise<string[]> {
    const webhooks = new FakeWebhooks(response);
    webhooks.tables.mutating.reset([configuration("c", ...given)]);
    const plugin = mutatingAdmissionWebhook(webhooks.parts("mutating"));
    const reinvocation = new Reinvocation();
    const round = async (object: JsonObject): Promise<JsonObject> => {
      const about: MutatedAttributes & { readonly object: JsonObject } = { ...attributes({ object }), reinvocation };
      return (await plugin.mutate?.(about)) ?? object;
    };
    const first = await round(labelled({}));
    if (reinvocation.isRequested) {
      reinvocation.beginSecond();
      await round(between(first));
    }
    return webhooks.requests.map(({ name }) => name);
  }

  const again = (name: string): JsonObject => ({ name, reinvocationPolicy: "IfNeeded" });
  const by =
    (patcher: string): WebhookReply =>
    (review, name) =>
      name === patcher ? withPatch(review, [label(name)]) : allowed(review);

  test.each<[string, readonly JsonObject[], string, readonly string[]]>([
    ["a later patch by another webhook", [again("a"), { name: "b" }], "b", ["a", "b", "a"]],
    ["no later patch", [{ name: "a" }, again("b")], "a", ["a", "b"]],
    ["its own patch", [again("a")], "a", ["a"]],
    ["a later patch, if no webhook is reinvocable", [{ name: "a" }, { name: "b" }], "b", ["a", "b"]],
  ])(
    "after %s: the webhooks %j, with patches by %s, are called in the order %j",
    async (_, given, patcher, expected) => {
      expect(await rounds(given, by(patcher))).toEqual(expected);
    },
  );

  test("calls a reinvocable webhook again if another plugin has changed the object after it", async () => {
    expect(await rounds([{ name: "a" }, again("b")], by("a"), () => labelled({ other: "x" }))).toEqual(["a", "b", "b"]);
  });

  test("does not call a webhook that did not apply in the first invocation", async () => {
    const objectSelector = { matchLabels: { b: "x" } };
    expect(await rounds([{ ...again("a"), objectSelector }, { name: "b" }], by("b"))).toEqual(["b"]);
  });
});

test.each<[{ kind: "match" | "mismatch" | "error" }, string, string | undefined, number]>([
  [{ kind: "match" }, "Fail", undefined, 1],
  [{ kind: "mismatch" }, "Fail", undefined, 0],
  [{ kind: "error" }, "Fail", '403 pods "p" is forbidden: why', 0],
  [{ kind: "error" }, "Ignore", undefined, 0],
])(
  "match conditions with the result %j and failurePolicy %s return the error %j after %i calls",
  async ({ kind }, failurePolicy, expected, calls) => {
    const outcome = kind === "match" ? { kind } : kind === "error" ? { kind, message: "why" } : { kind, name: "c" };
    const webhooks = new FakeWebhooks(
      (review) => allowed(review),
      () => ({ evaluate: () => outcome }),
    );
    const matchConditions = [{ name: "c", expression: "e" }];
    webhooks.tables.mutating.reset([configuration("c", { failurePolicy, matchConditions })]);
    const plugin = mutatingAdmissionWebhook(webhooks.parts("mutating"));
    expect(await rejectionOf(() => plugin.mutate?.(attributes({ object: OBJECT })))).toBe(expected);
    expect(webhooks.requests).toHaveLength(calls);
  },
);
