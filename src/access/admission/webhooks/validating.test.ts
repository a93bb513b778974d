import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import type { Attributes } from "../admission.ts";
import {
  type WebhookReply,
  allowed,
  base64,
  configuration,
  denied,
  FakeWebhooks,
} from "../../../../test/testing/access/admission/webhooks/fake-webhooks.ts";
import { attributes, pod, rejectionOf } from "../../../../test/testing/access/admission/plugins/attributes.ts";
import { validatingAdmissionWebhook } from "./validating.ts";

interface Tried {
  readonly webhooks: FakeWebhooks;
  readonly rejected: string | undefined;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

async function validate(
  given: readonly JsonObject[],
  response: WebhookReply,
  about: Partial<Attributes> = {},
): Promise<Tried> {
  const webhooks = new FakeWebhooks(response);
  webhooks.tables.validating.reset([configuration("config", ...given)]);
  const warnings: string[] = [];
  const annotations: Record<string, string> = {};
  const write: Attributes = {
    ...attributes({ object: pod({}) }),
    warn: (text) => warnings.push(text),
    annotate: (key, value) => (annotations[key] = value),
    ...about,
  };
  const plugin = validatingAdmissionWebhook(webhooks.parts("validating"));
  return { webhooks, rejected: await rejectionOf(() => plugin.validate?.(write)), warnings, annotations };
}

test("the AdmissionReview contains all attributes of the request", async () => {
  const { webhooks } = await validate([{}], (review) => allowed(review), {
    operation: "UPDATE",
    subresource: "status",
    existing: pod({ nodeName: "n" }),
    dryRun: true,
    options: { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", dryRun: ["All"] },
    user: { name: "alice", uid: "7", groups: ["g"], extra: { scopes: ["s"] } },
  });
  expect(webhooks.requests).toHaveLength(1);
  expect(webhooks.requests[0]?.timeoutMs).toBe(5_000);
  expect(webhooks.requests[0]?.review).toEqual({
    kind: "AdmissionReview",
    apiVersion: "admission.k8s.io/v1",
    request: {
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      subResource: "status",
      requestKind: { group: "", version: "v1", kind: "Pod" },
      requestResource: { group: "", version: "v1", resource: "pods" },
      requestSubResource: "status",
      name: "p",
      namespace: "ns",
      operation: "UPDATE",
      userInfo: { username: "alice", uid: "7", groups: ["g"], extra: { scopes: ["s"] } },
      object: pod({}),
      oldObject: pod({ nodeName: "n" }),
      dryRun: true,
      options: { kind: "UpdateOptions", apiVersion: "meta.k8s.io/v1", dryRun: ["All"] },
    },
  });
});

test("absent attributes are null or omitted in the AdmissionReview", async () => {
  const { webhooks } = await validate([{ admissionReviewVersions: ["v9", "v1beta1", "v1"] }], () => ({
    response: { allowed: true },
  }));
  const { apiVersion, request } = webhooks.requests[0]!.review;
  expect(apiVersion).toBe("admission.k8s.io/v1beta1");
  expect(request).toMatchObject({ oldObject: null, options: null, dryRun: false, userInfo: { username: "alice" } });
  expect(Object.keys(request)).not.toContain("subResource");
});

describe("a webhook that denies the request", () => {
  const prefix = 'admission webhook "a" denied the request';

  test.each<[JsonObject | undefined, string]>([
    [undefined, `400 ${prefix} without explanation`],
    [{ message: "no" }, `400 ${prefix}: no`],
    [{ reason: "Because" }, `400 ${prefix}: Because`],
    [{ code: 200, message: "no" }, `400 ${prefix}: no`],
    [{ code: 418, message: "tea", reason: "Teapot" }, `418 ${prefix}: tea`],
    [{ code: 70_000, message: "no" }, `999 ${prefix}: no`],
  ])("with the status %j returns %s", async (status, expected) => {
    const { rejected } = await validate([{}], (review) => denied(review, status));
    expect(rejected).toBe(expected);
  });

  test("returns code, reason and details to the client", async () => {
    const details = { name: "n", kind: "k", causes: [{ reason: "R", message: "M", field: "F" }], retryAfterSeconds: 7 };
    const webhooks = new FakeWebhooks((review) =>
      denied(review, { code: 409, reason: "Odd", status: "Success", details, metadata: { continue: "c" }, other: 1 }),
    );
    webhooks.tables.validating.reset([configuration("config", {})]);
    const plugin = validatingAdmissionWebhook(webhooks.parts("validating"));
    const thrown: unknown = await Promise.resolve(plugin.validate?.(attributes({ object: pod({}) }))).catch(
      (error: unknown) => error,
    );
    expect(thrown).toBeInstanceOf(StatusError);
    expect((thrown as StatusError).toStatus()).toEqual({
      ...{ kind: "Status", apiVersion: "v1", metadata: { continue: "c" }, status: "Failure", code: 409, reason: "Odd" },
      ...{ message: `${prefix}: Odd`, details },
    });
  });

  test("does not prevent the calls of other webhooks; the client receives the first denial in the order of the webhooks", async () => {
    const { webhooks, rejected } = await validate([{ name: "slow" }, { name: "fast" }], async (review, name) => {
      if (name === "slow") await new Promise((resolve) => setImmediate(resolve));
      return denied(review);
    });
    expect(webhooks.requests.map(({ name }) => name)).toEqual(["slow", "fast"]);
    expect(rejected).toBe('400 admission webhook "slow" denied the request without explanation');
    expect(webhooks.metrics.render()).toContain(
      'apiserver_admission_webhook_rejection_count{name="slow",type="validating",operation="CREATE",error_type="no_error",rejection_code="400"} 1',
    );
  });
});

test("warnings without control characters and annotations with valid keys are passed on, even for a denial", async () => {
  const reported = await validate([{ name: "a.example.com" }], (review) =>
    allowed(review, { allowed: false, warnings: ["w", "in\njected"], auditAnnotations: { key: "v", "x/y": "z" } }),
  );
  expect(reported.warnings).toEqual(["w"]);
  expect(reported.annotations).toEqual({ "a.example.com/key": "v" });
});

describe("a failing webhook", () => {
  const failing = 'Internal error occurred: failed calling webhook "a":';

  test.each<[string, WebhookReply, string]>([
    ["that is unreachable", () => Promise.reject(new Error("gone")), "failed to call webhook: gone"],
    ["without a response", () => ({}), "received invalid webhook response: webhook response was absent"],
    [
      "that returns another uid",
      (review) => allowed(review, { uid: "x" }),
      'received invalid webhook response: expected response.uid="00000000-0000-4000-8000-000000000000", got "x"',
    ],
    [
      "that returns neither apiVersion nor kind",
      ({ request }) => ({ response: { uid: request.uid, allowed: true } }),
      "received invalid webhook response: expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
    ],
    [
      "that returns another AdmissionReview version",
      (review) => ({ ...allowed(review), apiVersion: "admission.k8s.io/v1beta1" }),
      "failed to call webhook: converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion",
    ],
    [
      "that returns another kind",
      () => ({ apiVersion: "v1", kind: "Pod" }),
      'failed to call webhook: no kind "Pod" is registered for version "v1" in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"',
    ],
    [
      "that returns a field with a wrong type",
      (review) => allowed(review, { allowed: "yes" }),
      "failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
    ],
    [
      "that returns a patch",
      (review) => allowed(review, { patch: base64("[]") }),
      "received invalid webhook response: validating webhook may not return response.patch",
    ],
    [
      "that returns a patch type",
      (review) => allowed(review, { patchType: "JSONPatch" }),
      "received invalid webhook response: validating webhook may not return response.patchType",
    ],
  ])("%s", async (_, response, why) => {
    expect((await validate([{}], response)).rejected).toBe(`500 ${failing} ${why}`);
    const open = await validate([{ failurePolicy: "Ignore" }], response);
    expect(open.rejected).toBeUndefined();
    expect(open.annotations).toEqual({ "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "a" });
  });

  test("that supports no known review version is not called", async () => {
    const { rejected, webhooks } = await validate([{ admissionReviewVersions: ["v9"] }], (review) => allowed(review));
    expect(rejected).toBe(
      `500 ${failing} could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)`,
    );
    expect(webhooks.requests).toEqual([]);
  });

  test("that does not respond is abandoned when the client disconnects", async () => {
    const client = new AbortController();
    const hangs: WebhookReply = () => {
      client.abort();
      return new Promise(() => undefined);
    };
    const about = { signal: client.signal };
    expect((await validate([{}], hangs, about)).rejected).toBe(
      `500 ${failing} failed to call webhook: context canceled`,
    );
    expect((await validate([{}], hangs, about)).rejected).toBe(
      "504 Timeout: request did not complete within requested timeout",
    );
  });
});

describe("a dry run", () => {
  test.each<[JsonObject, string | undefined]>([
    [{ sideEffects: "None" }, undefined],
    [{ sideEffects: "NoneOnDryRun" }, undefined],
    [{ sideEffects: "Some" }, '400 admission webhook "a" does not support dry run'],
    [{ sideEffects: "Unknown", failurePolicy: "Ignore" }, '400 admission webhook "a" does not support dry run'],
    [{ sideEffects: "" }, '500 Internal error occurred: failed calling webhook "a": Webhook SideEffects is nil'],
  ])("with the webhook %j returns the error %j", async (webhook, expected) => {
    const { rejected, webhooks } = await validate([webhook], (review) => allowed(review), { dryRun: true });
    expect(rejected).toBe(expected);
    expect(webhooks.requests).toHaveLength(expected === undefined ? 1 : 0);
  });
});

test("webhooks are not called for webhook configurations", async () => {
  const kind = { group: "admissionregistration.k8s.io", version: "v1", kind: "ValidatingWebhookConfiguration" };
  const { webhooks } = await validate([{}], (review) => denied(review), { kind });
  expect(webhooks.requests).toEqual([]);
});

describe("the plugin", () => {
  const start = (): { webhooks: FakeWebhooks; answer: Promise<string | undefined> } => {
    const webhooks = new FakeWebhooks((review) => denied(review));
    const plugin = validatingAdmissionWebhook(webhooks.parts("validating"));
    webhooks.tables.validating.put(configuration("config", {}));
    expect(plugin.handles("CREATE", attributes({ object: {} }))).toBe(true);
    return { webhooks, answer: rejectionOf(() => plugin.validate?.(attributes({ object: pod({}) }))) };
  };

  test("makes a write wait until all webhooks are loaded", async () => {
    const { webhooks, answer } = start();
    webhooks.tables.validating.reset([configuration("another", { name: "late" })]);
    expect(await answer).toBe('400 admission webhook "late" denied the request without explanation');
  });

  test("rejects a write that has waited for the webhooks until the timeout", async () => {
    const { webhooks, answer } = start();
    for (const pass of webhooks.waiting) pass();
    expect(await answer).toBe('403 pods "p" is forbidden: not yet ready to handle request');
    expect(webhooks.requests).toEqual([]);
  });

  test("handles no writes after it has loaded an empty list of webhooks", () => {
    const webhooks = new FakeWebhooks((review) => denied(review));
    const plugin = validatingAdmissionWebhook(webhooks.parts("validating"));
    webhooks.tables.validating.reset([]);
    expect(plugin.handles("CREATE", attributes({ object: {} }))).toBe(false);
  });
});
