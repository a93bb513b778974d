import { type Duplex, PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { WithUser } from "../auth/user.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import type { Handler } from "../../serving/http/chain.ts";
import { closedSink } from "../../serving/http/closed-sink.ts";
import type { ApiRequest, ApiResponse, StreamSink } from "../../serving/http/message.ts";
import { bufferedBody } from "../../serving/http/request-body.ts";
import { jsonResponse, textResponse } from "../../serving/http/respond.ts";
import { bodyJson, infoRequest, type RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { notFound, StatusError } from "../../meta/status-error.ts";
import { World } from "../../tools/simulator/world.ts";
import { createAudit, recordDecision, type Audit, type Audited } from "./create-audit.ts";
import { createAuditMetrics } from "./metrics.ts";
import type { ReadBody } from "./objects.ts";
import { parsePolicy } from "./parse-policy.ts";
import type { AuditTrail } from "../../serving/http/audit-trail.ts";
import {
  collectingBackend,
  type CollectingBackend,
  type EventJson,
} from "../../../test/testing/access/audit/events.ts";

const ALICE = { name: "alice", uid: "7", groups: ["devs"], extra: {} };
const CONFIG_MAPS = "/api/v1/namespaces/ns/configmaps";

type Asked = WithUser & Audited & { proxiedBy?: string };

interface SceneOptions {
  readonly rule?: object;
  readonly readBody?: ReadBody;
}

class Scene {
  readonly world = new World({ seed: 1 });
  readonly metrics = new MetricsRegistry();
  readonly backend: CollectingBackend = collectingBackend();
  readonly audit: Audit;

  constructor({ rule = { level: "RequestResponse" }, readBody }: SceneOptions = {}) {
    const { policy } = parsePolicy({ apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [rule] });
    const { clock, random } = this.world.env;
    const metrics = createAuditMetrics(this.metrics);
    this.audit = createAudit({ policy, backend: this.backend, clock, random, metrics, readBody });
  }

  /** Sends a request with a body through the audit filters, as ALICE unless `more` overrides the user. */
  send(
    options: RequestOptions & { readonly body?: string },
    handler: Handler<Asked>,
    more: Partial<Asked> = {},
  ): Promise<ApiResponse> {
    const { identify, failedAuthentication, record } = this.audit;
    const body = options.body === undefined ? {} : { body: bufferedBody(Buffer.from(options.body)) };
    const request: Asked = {
      ...infoRequest(options),
      ...{ ...body, user: ALICE, isVerifiedPeer: false, isProxied: false, ...more },
    };
    return identify(failedAuthentication(record(handler)) as Handler<ApiRequest>)(request);
  }

  get events(): readonly EventJson[] {
    return this.backend.events;
  }

  get stages(): readonly string[] {
    return this.events.map(({ stage }) => stage);
  }
}

const OK: Handler<Asked> = () => Promise.resolve(jsonResponse(200, { kind: "ConfigMap", apiVersion: "v1" }));
const readAndAnswer: Handler<Asked> = async ({ body }) => {
  await body.read(1000);
  return jsonResponse(201, { kind: "ConfigMap", apiVersion: "v1" });
};

describe("the audit ID", () => {
  test("is taken from the request or generated, and is set on every response and event", async () => {
    const scene = new Scene();
    const seen: (string | undefined)[] = [];
    const handler: Handler<Asked> = (request) => {
      seen.push(request.audit?.id);
      return OK(request);
    };
    const named = await scene.send({ headers: { "audit-id": "mine" } }, handler);
    const unnamed = await scene.send({ headers: { "audit-id": "" } }, handler);
    expect(named.headers["audit-id"]).toBe("mine");
    expect(unnamed.headers["audit-id"]).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(seen).toEqual([named.headers["audit-id"], unnamed.headers["audit-id"]]);
    expect(scene.events.map(({ auditID }) => auditID)).toEqual(["mine", "mine", seen[1], seen[1]]);
  });

  test("is the value of the first Audit-ID header, unchanged", async () => {
    const rawHeaders = ["Audit-ID", "a,1", "audit-id", "b"];
    const response = await new Scene().send({ headers: { "audit-id": "a,1, b" } }, OK, { rawHeaders });
    expect(response.headers["audit-id"]).toBe("a,1");
  });
});

describe("a request is recorded", () => {
  test("when it arrives and when it is complete", async () => {
    const scene = new Scene({ rule: { level: "Metadata" } });
    const headers = { "user-agent": "x".repeat(1025), authorization: "Bearer secret" };
    await scene.send({ url: `${CONFIG_MAPS}/c?x=1`, headers }, async (request) => {
      recordDecision(request, { allowed: true, reason: "because" });
      await scene.world.advance(3);
      return OK(request);
    });
    const common = {
      ...{ kind: "Event", apiVersion: "audit.k8s.io/v1", level: "Metadata", requestURI: `${CONFIG_MAPS}/c?x=1` },
      ...{ verb: "get", user: { username: "alice", uid: "7", groups: ["devs"] } },
      userAgent: `${"x".repeat(1024)}...TRUNCATED`,
      objectRef: { resource: "configmaps", namespace: "ns", name: "c", apiVersion: "v1" },
      requestReceivedTimestamp: "2030-01-01T00:00:00.000000Z",
    };
    const { auditID } = scene.events[0]!;
    expect(scene.events).toEqual([
      { ...common, auditID, stage: "RequestReceived", stageTimestamp: "2030-01-01T00:00:00.000000Z" },
      {
        ...{ ...common, auditID, stage: "ResponseComplete", responseStatus: { metadata: {}, code: 200 } },
        stageTimestamp: "2030-01-01T00:00:00.003000Z",
        annotations: { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "because" },
      },
    ]);
    expect(JSON.stringify(scene.events)).not.toContain("secret");
  });

  test("neither at level None nor in omitted stages, but is counted", async () => {
    const none = new Scene({ rule: { level: "None" } });
    await none.send({}, (request) => {
      request.audit?.annotate("a", "b");
      return OK(request);
    });
    expect(none.events).toEqual([]);
    expect(none.metrics.render()).toContain('apiserver_audit_level_total{level="None"} 1');
    const some = new Scene({ rule: { level: "Metadata", omitStages: ["RequestReceived"] } });
    await some.send({}, OK);
    expect(some.stages).toEqual(["ResponseComplete"]);
    expect(some.metrics.render()).toContain("apiserver_audit_event_total 1");
  });

  test("without computing the reason of the authorization decision if the level is None or auditing is off", async () => {
    let asked = 0;
    const decision = {
      allowed: true,
      get reason() {
        asked++;
        return "because";
      },
    };
    const decided: Handler<Asked> = (request) => {
      recordDecision(request, decision);
      return OK(request);
    };
    await new Scene({ rule: { level: "None" } }).send({}, decided);
    const { clock, random } = new World({ seed: 1 }).env;
    const silent = createAudit({ clock, random, metrics: createAuditMetrics(new MetricsRegistry()) });
    await silent.identify(decided as Handler<ApiRequest>)(infoRequest({}));
    expect(asked).toBe(0);
    await new Scene().send({}, decided);
    expect(asked).toBe(1);
  });

  test("with the Status of an error, whether thrown or returned", async () => {
    const scene = new Scene();
    const rejection = notFound({ group: "", resource: "configmaps" }, "c");
    await expect(scene.send({ url: `${CONFIG_MAPS}/c` }, () => Promise.reject(rejection))).rejects.toBe(rejection);
    await scene.send({ url: `${CONFIG_MAPS}/c` }, () => Promise.resolve(jsonResponse(404, rejection.toStatus())));
    const [, thrown, , answered] = scene.events;
    expect(thrown?.["responseStatus"]).toEqual({
      ...{ metadata: {}, status: "Failure", message: 'configmaps "c" not found', reason: "NotFound" },
      ...{ details: { name: "c", kind: "configmaps" }, code: 404 },
    });
    expect(thrown?.["responseObject"]).toEqual(rejection.toStatus());
    for (const field of ["stage", "responseStatus", "responseObject"])
      expect(answered?.[field]).toEqual(thrown?.[field]);
  });

  test("in the stage Panic if the handler throws an unexpected error", async () => {
    const scene = new Scene();
    await expect(scene.send({}, () => Promise.reject(new TypeError("oh")))).rejects.toThrow("oh");
    expect(scene.stages).toEqual(["RequestReceived", "Panic"]);
    expect(scene.events[1]!["responseStatus"]).toMatchObject({ message: "APIServer panic'd: oh", code: 500 });
  });

  test("in the stage ResponseComplete if the client disconnects or the deadline passes", async () => {
    const scene = new Scene();
    const abort = new AbortController();
    const leave = (reason?: unknown): Promise<ApiResponse> => {
      abort.abort(reason);
      return Promise.reject(new Error("aborted"));
    };
    await expect(scene.send({}, () => leave(), { signal: abort.signal })).rejects.toThrow("aborted");
    expect(scene.events[1]).toMatchObject({
      stage: "ResponseComplete",
      responseStatus: { message: "Connection closed early" },
    });
    const late = AbortSignal.abort(new StatusError("Timeout", "too late"));
    await expect(scene.send({}, () => leave(), { signal: late })).rejects.toThrow("aborted");
    expect(scene.events[3]).toMatchObject({ responseStatus: { message: "too late", code: 504 } });
  });
});

describe("the objects of an event", () => {
  const body = '{"kind": "ConfigMap", "metadata": {"name": "c", "uid": "u", "managedFields": []}}';
  const create: RequestOptions & { body: string } = { method: "POST", url: CONFIG_MAPS, body };

  test.each([
    ["Metadata", undefined, undefined],
    ["Request", JSON.parse(body), undefined],
    ["RequestResponse", JSON.parse(body), { kind: "ConfigMap", apiVersion: "v1" }],
  ])("are included according to level %s, and objectRef names the created object", async (level, request, response) => {
    const scene = new Scene({ rule: { level } });
    await scene.send(create, readAndAnswer);
    expect(scene.events[0]).not.toHaveProperty("requestObject");
    expect(scene.events[1]!["requestObject"]).toEqual(request);
    expect(scene.events[1]!["responseObject"]).toEqual(response);
    expect(scene.events[1]!["objectRef"]).toMatchObject({ name: "c", uid: "u", namespace: "ns" });
  });

  test("are decoded by the handler if it provides the request object", async () => {
    const scene = new Scene({ rule: { level: "Request", omitManagedFields: true } });
    const object = {
      kind: "ConfigMap",
      metadata: { name: "d", managedFields: [] },
      data: {} as Record<string, string>,
    };
    await scene.send(create, async (request) => {
      await request.body.read(1000);
      request.audit?.requestObject(object, (copy) => Object.assign(copy, { immutable: false }));
      object.data["later"] = "changed";
      return OK(request);
    });
    expect(scene.events[1]).toMatchObject({
      requestObject: { kind: "ConfigMap", metadata: { name: "d" }, data: {}, immutable: false },
      objectRef: { name: "d" },
    });
    expect(scene.events[1]!["requestObject"]).not.toHaveProperty(["metadata", "managedFields"]);
    expect(scene.events[1]!["requestObject"]).not.toHaveProperty(["data", "later"]);
    expect(object).not.toHaveProperty("immutable");
  });

  test("are decoded if they are not JSON; if they cannot be decoded, an annotation reports that they are omitted", async () => {
    const yaml = { ...create, body: "a: 1", headers: { "content-type": "application/yaml" } };
    const reading = new Scene({ readBody: () => ({ a: 1 }) });
    await reading.send(yaml, readAndAnswer);
    expect(reading.events[1]!["requestObject"]).toEqual({ a: 1 });
    const missing = new Scene();
    await missing.send(yaml, readAndAnswer);
    expect(missing.events[1]).not.toHaveProperty("requestObject");
    expect(missing.events[1]!["annotations"]).toEqual({ "evenkeel.io/request-object": "omitted: application/yaml" });
  });

  test("do not include JSON without a kind and plain text", async () => {
    const scene = new Scene();
    await scene.send({ url: "/version" }, () => Promise.resolve(jsonResponse(200, { major: "1" })));
    await scene.send({ url: "/healthz" }, () => Promise.resolve(textResponse(200, "ok")));
    for (const event of scene.events) {
      expect(event).not.toHaveProperty("responseObject");
      expect(event).not.toHaveProperty("annotations");
    }
  });

  test("at level Metadata do not include the Status of a delete, which becomes responseStatus", async () => {
    const scene = new Scene({ rule: { level: "Metadata" } });
    const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details: { name: "c" } };
    await scene.send({ method: "DELETE", url: `${CONFIG_MAPS}/c` }, () => Promise.resolve(jsonResponse(200, status)));
    expect(scene.events[1]!["responseStatus"]).toEqual({
      ...{ metadata: {}, status: "Success", details: { name: "c" }, code: 200 },
    });
  });
});

describe("a response that is a Status", () => {
  test("becomes responseStatus even at level Metadata, for example for an eviction", async () => {
    const scene = new Scene({ rule: { level: "Metadata" } });
    const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
    const response = jsonResponse(201, status);
    await scene.send({ method: "POST", url: "/api/v1/namespaces/ns/pods/p/eviction" }, () => Promise.resolve(response));
    expect(scene.events[1]!["responseStatus"]).toEqual({ metadata: {}, status: "Success", code: 201 });
  });
});

describe("a long-running response", () => {
  test("is recorded as ResponseStarted when it is returned and as ResponseComplete when it is closed", async () => {
    const scene = new Scene();
    let close: (() => void) | undefined;
    const opened: StreamSink[] = [];
    const stream = { kind: "stream", open: (sink: StreamSink) => void opened.push(sink) } as const;
    const response = await scene.send({ url: `${CONFIG_MAPS}?watch=1` }, () =>
      Promise.resolve({ status: 200, headers: {}, body: stream }),
    );
    expect(scene.stages).toEqual(["RequestReceived", "ResponseStarted"]);
    const sink = { ...closedSink(), onClose: (callback: () => void) => void (close = callback) };
    if (response.body.kind === "stream") response.body.open(sink);
    expect(opened).toEqual([sink]);
    expect(scene.stages).toHaveLength(2);
    close?.();
    expect(scene.stages).toEqual(["RequestReceived", "ResponseStarted", "ResponseComplete"]);
  });

  test("with an upgrade is complete when the connection ends, or if it was never established", async () => {
    const scene = new Scene();
    const opened: (Duplex | undefined)[] = [];
    const upgrade: ApiResponse = {
      status: 101,
      headers: {},
      body: { kind: "upgrade", open: (to) => void opened.push(to) },
    };
    const url = "/api/v1/namespaces/ns/pods/p/exec";
    for (const socket of [undefined, new PassThrough()]) {
      const { body } = await scene.send({ url }, () => Promise.resolve(upgrade));
      if (body.kind === "upgrade") body.open(socket);
      socket?.destroy();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(opened).toHaveLength(2);
    expect(scene.stages.filter((stage) => stage === "ResponseComplete")).toHaveLength(2);
    expect(scene.events.at(-1)!["responseStatus"]).toEqual({ metadata: {}, code: 101 });
  });

  test("that fails is recorded in all three stages", async () => {
    const scene = new Scene();
    const rejected = scene.send({ url: `${CONFIG_MAPS}?watch=1` }, () =>
      Promise.reject(new StatusError("Expired", "old")),
    );
    await expect(rejected).rejects.toThrow("old");
    expect(scene.stages).toEqual(["RequestReceived", "ResponseStarted", "ResponseComplete"]);
  });
});

describe("a request that fails authentication", () => {
  const unauthorized = new StatusError("Unauthorized", "Unauthorized");

  test("has one event, in the stage ResponseStarted and without a user", async () => {
    const scene = new Scene();
    const { identify, failedAuthentication } = scene.audit;
    const handler = identify(failedAuthentication(() => Promise.reject(unauthorized)) as Handler<ApiRequest>);
    await expect(handler(infoRequest({ url: CONFIG_MAPS }))).rejects.toBe(unauthorized);
    expect(scene.events).toEqual([
      expect.objectContaining({
        ...{ stage: "ResponseStarted", user: {}, verb: "list" },
        responseStatus: { metadata: {}, status: "Failure", message: "Unauthorized", reason: "Unauthorized", code: 401 },
        responseObject: unauthorized.toStatus(),
      }),
    ]);
  });

  test("is recorded differently from an authenticated request that returns 401", async () => {
    const scene = new Scene();
    await expect(scene.send({}, () => Promise.reject(unauthorized))).rejects.toBe(unauthorized);
    expect(scene.stages).toEqual(["RequestReceived", "ResponseComplete"]);
  });
});

describe("in blocking-strict mode", () => {
  test("a request whose first event cannot be stored is rejected", async () => {
    const scene = new Scene();
    scene.backend.isStoring = false;
    let calls = 0;
    const response = await scene.send({ url: "/api?a=<&>" }, (request) => {
      calls++;
      return OK(request);
    });
    expect(calls).toBe(0);
    expect(response.status).toBe(500);
    const text = response.body.kind === "bytes" ? response.body.chunks.join("") : "";
    expect(text).toBe('Internal Server Error: "/api?a=&lt;&amp;&gt;": failed to store audit event\n');
    expect(scene.metrics.render()).toContain("apiserver_audit_requests_rejected_total 1");
  });

  test("a request whose later event cannot be stored is served", async () => {
    const scene = new Scene();
    const response = await scene.send({}, (request) => {
      scene.backend.isStoring = false;
      return OK(request);
    });
    expect(response.status).toBe(200);
    expect(bodyJson(response)).toEqual({ kind: "ConfigMap", apiVersion: "v1" });
  });
});

describe("the audit trail", () => {
  test("keeps the first value of an annotation and records the impersonated user", async () => {
    const scene = new Scene();
    const say = (trail: AuditTrail | undefined): void => {
      trail?.annotate("k", "first");
      trail?.annotate("k", "second");
      trail?.annotate("long", "x".repeat(100_000));
      trail?.impersonated({ name: "bob", uid: "", groups: ["g"], extra: {} }, "impersonate:user-info");
    };
    await scene.send({}, (request) => {
      say(request.audit);
      return OK(request);
    });
    const [received, complete] = scene.events;
    expect(received).not.toHaveProperty("impersonatedUser");
    expect(complete).toMatchObject({
      user: { username: "alice" },
      impersonatedUser: { username: "bob", groups: ["g"] },
      authenticationMetadata: { impersonationConstraint: "impersonate:user-info" },
      annotations: { k: "first", long: "x".repeat(65_536) },
    });
  });

  test.each([
    [{ isProxied: true, proxiedBy: "server-1" }, { "evenkeel.io/proxied-by": "server-1" }],
    [{ isProxied: true }, { "evenkeel.io/proxied-by": "an unnamed server" }],
    [{ isProxied: false, proxiedBy: "server-1" }, undefined],
  ])("records the peer that proxied the request: %j", async (more, annotations) => {
    const scene = new Scene();
    await scene.send({}, OK, more);
    expect(scene.events[0]!["annotations"]).toEqual(annotations);
  });
});
