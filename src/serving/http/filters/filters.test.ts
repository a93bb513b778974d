import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { SILENT_LOG, type LogFields } from "../../../base/log.ts";
import { MetricsRegistry } from "../../../base/metrics.ts";
import { badRequest, notFound, serviceUnavailable, StatusError } from "../../../meta/status-error.ts";
import { createManualClock } from "../../../../test/testing/storage/conformance/manual-clock.ts";
import { chain } from "../chain.ts";
import { closedSink } from "../closed-sink.ts";
import { NO_BODY, type ApiRequest, type ApiResponse, type StreamSink } from "../message.ts";
import { apiRequest, bodyJson, infoRequest } from "../../../../test/testing/serving/http/requests.ts";
import { deadline } from "./deadline.ts";
import { ifReady, retryAfterStep, type IfReadyMode } from "./if-ready.ts";
import { inFlight } from "./in-flight.ts";
import { measure } from "./measure.ts";
import { recover } from "./recover.ts";
import { isLongRunning, requestInfo } from "./request-info.ts";
import { NO_CLAIMS } from "./strip-identity.ts";

const OK: ApiResponse = { status: 200, headers: { a: "b" }, body: NO_BODY };
const answer = (): Promise<ApiResponse> => Promise.resolve(OK);
const never = (): Promise<ApiResponse> => new Promise(() => {});

describe("the deadline filter", () => {
  function open(next: () => Promise<ApiResponse> = never): {
    ask: (url: string) => Promise<ApiResponse>;
    advance: (ms: number) => void;
  } {
    const clock = createManualClock();
    const handler = deadline({ clock, requestTimeoutMs: 60_000 })(next);
    return { ask: (url) => handler(infoRequest({ url })), advance: (ms) => clock.advance(ms) };
  }

  test("returns the responses and errors of the handler unchanged", async () => {
    expect(await open(answer).ask("/api/v1/pods")).toBe(OK);
    await expect(open(() => Promise.reject(badRequest("no"))).ask("/api/v1/pods")).rejects.toThrow("no");
  });

  test.each([
    ["/api/v1/pods", 60_000],
    ["/api/v1/pods?timeout=", 60_000],
    ["/api/v1/pods?timeout=0", 60_000],
    ["/api/v1/pods?timeout=0s", 60_000],
    ["/api/v1/pods?timeout=-1s", 60_000],
    ["/api/v1/pods?timeout=500ms", 500],
    ["/api/v1/pods?timeout=1.5s", 1_500],
    ["/api/v1/pods?timeout=32s", 32_000],
    ["/api/v1/pods?timeout=1m30s", 60_000],
    ["/api/v1/pods?timeout=100h", 60_000],
  ])("returns 504 for %s after %d ms", async (url, timeoutMs) => {
    const { ask, advance } = open();
    let thrown: unknown;
    const asked = ask(url).catch((reason: unknown) => (thrown = reason));
    advance(timeoutMs - 1);
    await Promise.resolve();
    expect(thrown).toBeUndefined();
    advance(1);
    await asked;
    expect(thrown).toMatchObject({ reason: "Timeout", code: 504 });
    expect(thrown).not.toHaveProperty("details.retryAfterSeconds");
  });

  test("rejects an invalid timeout with Go's error message", async () => {
    await expect(open(answer).ask("/api/v1/pods?timeout=5x")).rejects.toThrow(
      'invalid timeout specified in the request URL - time: unknown unit "x" in duration "5x"',
    );
  });

  test.each(["x", "10", "1s x", "s", "1d", "1".repeat(100_000), "1s".repeat(100)])(
    "rejects a timeout of %.20s",
    async (timeout) => {
      await expect(open(answer).ask(`/api/v1/pods?timeout=${timeout}`)).rejects.toMatchObject({ reason: "BadRequest" });
    },
  );

  test("sets no deadline for a watch", async () => {
    const { ask, advance } = open(answer);
    const asked = ask("/api/v1/pods?watch=1&timeout=x");
    advance(1_000_000);
    expect(await asked).toBe(OK);
  });

  /** A request in the handler: the signal that the handler has received, and a function that finishes the handler. */
  function work(signal = new AbortController().signal): {
    clock: ReturnType<typeof createManualClock>;
    seen: AbortSignal;
    answered: Promise<ApiResponse>;
    finish: (response: ApiResponse) => void;
  } {
    const clock = createManualClock();
    const { promise, resolve } = Promise.withResolvers<ApiResponse>();
    let seen: AbortSignal | undefined;
    const handler = deadline({ clock, requestTimeoutMs: 1_000 })((request) => ((seen = request.signal), promise));
    const responded = handler({ ...infoRequest({ url: "/api/v1/pods" }), signal });
    responded.catch(() => undefined);
    return { clock, seen: seen!, answered: responded, finish: resolve };
  }

  test("aborts the signal of a request that exceeds the deadline, with the error that the client receives", async () => {
    const { clock, seen, answered } = work();
    clock.advance(999);
    expect(seen.aborted).toBe(false);
    clock.advance(1);
    expect(seen.reason).toMatchObject({ reason: "Timeout" });
    await expect(answered).rejects.toBe(seen.reason);
  });

  test("does not abort the signal of a request that finishes in time", async () => {
    const { clock, seen, answered, finish } = work();
    finish(OK);
    expect(await answered).toBe(OK);
    clock.advance(10_000);
    expect(seen.aborted).toBe(false);
  });

  test("aborts the signal if the client disconnects before or during the handling of the request", async () => {
    const client = new AbortController();
    const { seen } = work(client.signal);
    client.abort("gone");
    expect(seen.reason).toBe("gone");
    expect(work(AbortSignal.abort("long gone")).seen.reason).toBe("long gone");
  });

  test.each(["stream", "upgrade"] as const)(
    "aborts the signal if the client disconnects during a %s response",
    async (kind) => {
      const client = new AbortController();
      const { clock, seen, answered, finish } = work(client.signal);
      let opened = 0;
      finish({ status: 200, headers: {}, body: { kind, open: () => void opened++ } });
      const { body } = await answered;
      const stream = new PassThrough();
      if (body.kind === "stream")
        body.open({ ...closedSink(), onClose: (callback) => void stream.on("close", callback) });
      if (body.kind === "upgrade") body.open(stream);
      clock.advance(10_000);
      expect([opened, seen.aborted]).toEqual([1, false]);
      // A transport may report the close of the stream before the disconnection.
      if (kind === "stream") stream.emit("close");
      client.abort();
      expect(seen.aborted).toBe(true);
      stream.destroy();
    },
  );

  test.each(["stream", "upgrade"] as const)(
    "no longer listens to the client's signal when the %s has ended",
    async (kind) => {
      const client = new AbortController();
      const { seen, answered, finish } = work(client.signal);
      finish({ status: 200, headers: {}, body: { kind, open: () => undefined } });
      const { body } = await answered;
      if (body.kind === "stream") body.open(closedSink());
      if (body.kind === "upgrade") body.open(undefined);
      await new Promise(setImmediate);
      client.abort();
      expect(seen.aborted).toBe(false);
    },
  );

  test.each(["stream", "upgrade"] as const)(
    "opens a %s that is returned after the deadline with a closed sink",
    async (kind) => {
      const opened = Promise.withResolvers<unknown>();
      const { clock, answered, finish } = work();
      clock.advance(1_000);
      await expect(answered).rejects.toMatchObject({ reason: "Timeout" });
      finish({ status: 200, headers: {}, body: { kind, open: opened.resolve } });
      const sink = await opened.promise;
      expect(kind === "stream" ? (sink as StreamSink).bufferedBytes() : sink).toBe(kind === "stream" ? 0 : undefined);
    },
  );
});

describe("the inFlight filter", () => {
  test("limits reads and writes separately, and no longer counts a request that has succeeded or failed", async () => {
    const metrics = new MetricsRegistry();
    const waiting: { resolve: (response: ApiResponse) => void; reject: (reason: unknown) => void }[] = [];
    const handler = inFlight({ readsMax: 2, writesMax: 1, metrics })(
      () => new Promise((resolve, reject) => void waiting.push({ resolve, reject })),
    );
    const read = (): Promise<ApiResponse> => handler(infoRequest({ url: "/api/v1/pods" }));
    const write = (): Promise<ApiResponse> =>
      handler(infoRequest({ method: "POST", url: "/api/v1/namespaces/a/pods" }));
    const [first, second, third] = [read(), read(), write()];
    expect(await read()).toMatchObject({ status: 429, headers: { "retry-after": "1" } });
    expect(await write()).toMatchObject({ status: 429 });
    expect(metrics.render()).toContain('apiserver_current_inflight_requests{request_kind="readOnly"} 2');
    waiting[0]!.resolve(OK);
    await first;
    waiting[2]!.reject(badRequest("no"));
    await expect(third).rejects.toThrow("no");
    const again = [read(), write()];
    for (const { resolve } of waiting) resolve(OK);
    await Promise.all([second, ...again]);
    expect(metrics.render()).toContain('{request_kind="readOnly"} 0');
    expect(metrics.render()).toContain('{request_kind="mutating"} 0');
  });

  test("serves exempt requests above the limit and does not count them", async () => {
    const isExempt = ({ headers }: ApiRequest): boolean => headers["x"] === "root";
    const handler = inFlight({ readsMax: 1, writesMax: 1, metrics: new MetricsRegistry(), isExempt })(never);
    void handler(infoRequest());
    void handler(infoRequest({ headers: { x: "root" } }));
    expect(await handler(infoRequest())).toMatchObject({ status: 429 });
  });

  test("does not limit watches", async () => {
    const handler = inFlight({ readsMax: 0, writesMax: 0, metrics: new MetricsRegistry() })(answer);
    expect(await handler(infoRequest({ url: "/api/v1/pods?watch=1" }))).toBe(OK);
    expect(await handler(infoRequest({ url: "/api/v1/pods" }))).toMatchObject({ status: 429 });
  });
});

describe("the ifReady filter", () => {
  const asking = { headers: { "x-kubernetes-if-ready": "" } };
  const own: ApiRequest["connection"] = { protocol: "in-process", remoteAddress: "self", clientChain: [] };
  const open = (
    isReady: boolean,
    next: () => Promise<ApiResponse> = answer,
    mode: IfReadyMode = "retry",
  ): ((request: ApiRequest) => Promise<ApiResponse>) =>
    ifReady({
      mode,
      hasBeenReady: () => isReady,
      retryAfterSeconds: () => 7,
      isLoopback: ({ connection }) => connection === own,
    })(recover(SILENT_LOG)(next));

  test("returns 503 with Retry-After and X-Kubernetes-Ready: false to a request with the header while the server is unready", async () => {
    const response = await open(false, () => expect.unreachable())(apiRequest(asking));
    expect(response).toMatchObject({ status: 503, headers: { "retry-after": "7", "x-kubernetes-ready": "false" } });
    expect(bodyJson(response)).toMatchObject({
      message: "The APIServer has not fully initialized yet, please try again later.",
      reason: "ServiceUnavailable",
    });
  });

  test("in report mode serves a request with the header while the server is unready, with X-Kubernetes-Ready: false", async () => {
    expect(await open(false, answer, "report")(apiRequest(asking))).toEqual({
      ...OK,
      headers: { a: "b", "x-kubernetes-ready": "false" },
    });
  });

  test.each(["retry", "report"] as const)(
    "in %s mode serves a request without the header unchanged while the server is unready",
    async (mode) => {
      expect(await open(false, answer, mode)(apiRequest())).toEqual(OK);
    },
  );

  test.each(["retry", "report"] as const)(
    "in %s mode serves a request with the header when the server is ready, with X-Kubernetes-Ready: true",
    async (mode) => {
      expect(await open(true, answer, mode)(apiRequest(asking))).toEqual({
        ...OK,
        headers: { a: "b", "x-kubernetes-ready": "true" },
      });
      expect(OK.headers).toEqual({ a: "b" });
    },
  );

  test.each(["retry", "report"] as const)(
    "in %s mode serves a request without the header unchanged when the server is ready",
    async (mode) => {
      expect(await open(true, answer, mode)(apiRequest())).toEqual(OK);
    },
  );

  test.each([true, false])(
    "in off mode ignores the header, whether the server is ready (%s) or not",
    async (isReady) => {
      expect(await open(isReady, answer, "off")(apiRequest(asking))).toEqual(OK);
    },
  );

  test.each(["/healthz", "/livez/ping", "/readyz", "/metrics", "/metrics/slis"])(
    "serves %s while the server is unready, with X-Kubernetes-Ready: false",
    async (url) => {
      const response = await open(false)(apiRequest({ ...asking, url }));
      expect(response).toMatchObject({ status: 200, headers: { "x-kubernetes-ready": "false" } });
    },
  );

  test.each(["/metricsfoo", "/healthz2/x", "/api/healthz", "/version", "/"])(
    "returns 503 for %s while the server is unready",
    async (url) => {
      expect((await open(false)(apiRequest({ ...asking, url }))).status).toBe(503);
    },
  );

  test("serves loopback requests while the server is unready", async () => {
    const response = await open(false)({ ...apiRequest(asking), connection: own });
    expect(response).toMatchObject({ status: 200, headers: { "x-kubernetes-ready": "false" } });
  });

  test("reports the readiness at the time when the request arrived", async () => {
    let isReady = false;
    const handler = ifReady({
      mode: "report",
      hasBeenReady: () => isReady,
      retryAfterSeconds: () => 1,
      isLoopback: () => false,
    })(() => {
      isReady = true;
      return answer();
    });
    expect((await handler(apiRequest(asking))).headers["x-kubernetes-ready"]).toBe("false");
    expect((await handler(apiRequest(asking))).headers["x-kubernetes-ready"]).toBe("true");
  });

  test.each([
    [serviceUnavailable("the store is away", 1), 503],
    [notFound({ group: "", resource: "pods" }, "x"), 404],
    [new Error("secret"), 500],
  ])("sets X-Kubernetes-Ready on the response for the error %s too", async (thrown, status) => {
    const response = await open(true, () => Promise.reject(thrown))(apiRequest(asking));
    expect(response).toMatchObject({ status, headers: { "x-kubernetes-ready": "true" } });
    expect(JSON.stringify(bodyJson(response))).not.toContain("secret");
  });

  test("sets X-Kubernetes-Ready on a stream and keeps its body", async () => {
    const stream: ApiResponse = { status: 200, headers: {}, body: { kind: "stream", open: () => undefined } };
    const response = await open(true, () => Promise.resolve(stream))(apiRequest(asking));
    expect(response.headers).toEqual({ "x-kubernetes-ready": "true" });
    expect(response.body).toBe(stream.body);
  });

  test.each([
    [0, 1],
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [12_300, 13],
    [29_999, 30],
    [30_001, 30],
    [1e12, 30],
    [-5, 1],
  ])("estimates for a start-up step that has taken %d ms a Retry-After of %d s", (stepMs, seconds) => {
    expect(retryAfterStep(stepMs)).toBe(seconds);
  });
});

describe("the recover filter", () => {
  test("returns a StatusError as the response and does not log it", async () => {
    const log = { ...SILENT_LOG, error: () => expect.unreachable() };
    const response = await recover(log)(() => Promise.reject(notFound({ group: "", resource: "pods" }, "x")))(
      apiRequest(),
    );
    expect(response).toMatchObject({ status: 404, headers: { "content-type": "application/json" } });
    expect(bodyJson(response)).toMatchObject({ kind: "Status", code: 404 });
  });

  test.each([new Error("secret detail"), "secret detail", { secret: true }])(
    "logs %s and does not send its text to the client",
    async (thrown) => {
      const lines: (LogFields | undefined)[] = [];
      const log = { ...SILENT_LOG, error: (_message: string, fields?: LogFields) => void lines.push(fields) };
      const response = await recover(log)(() => Promise.reject(thrown as Error))(
        apiRequest({ method: "GET", url: "/x?token=hidden" }),
      );
      expect(response.status).toBe(500);
      expect(JSON.stringify(bodyJson(response))).not.toContain("secret");
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatchObject({ method: "GET", path: "/x" });
      expect(JSON.stringify(lines)).not.toContain("hidden");
    },
  );

  test("catches a synchronous throw too", async () => {
    const response = await recover(SILENT_LOG)(() => {
      throw badRequest("no");
    })(apiRequest());
    expect(response.status).toBe(400);
  });
});

describe("the requestInfo filter", () => {
  test("adds the request info and the query", async () => {
    const handler = requestInfo()((request) =>
      Promise.resolve({ ...OK, headers: { verb: request.info.verb, limit: request.query.get("limit") ?? "" } }),
    );
    expect(await handler({ ...apiRequest({ url: "/api/v1/pods?limit=5" }), claims: NO_CLAIMS })).toMatchObject({
      headers: { verb: "list", limit: "5" },
    });
  });

  test("rejects a path that cannot be decoded", async () => {
    const request = { ...apiRequest({ url: "/%zz" }), claims: NO_CLAIMS };
    await expect(requestInfo()(answer)(request)).rejects.toMatchObject({ reason: "BadRequest" });
  });

  test("isLongRunning is true for watches, logs, exec and proxy", () => {
    const urls = [
      "/api/v1/pods?watch=1",
      "/api/v1/namespaces/a/pods/x/log",
      "/api/v1/namespaces/a/pods/x/exec",
      "/api/v1/namespaces/a/services/x/proxy/y",
    ];
    expect(urls.map((url) => isLongRunning(infoRequest({ url }).info))).toEqual([true, true, true, true]);
    expect(isLongRunning(infoRequest({ url: "/api/v1/namespaces/a/pods/x/status" }).info)).toBe(false);
  });
});

describe("the measure filter", () => {
  function open(next: () => Promise<ApiResponse>): {
    metrics: MetricsRegistry;
    ask: (method: string, url: string) => Promise<unknown>;
  } {
    const metrics = new MetricsRegistry();
    const handler = measure({ metrics, clock: createManualClock(), isKnown: ({ resource }) => resource === "pods" })(
      next,
    );
    return { metrics, ask: (method, url) => handler(infoRequest({ method, url })).catch((thrown: unknown) => thrown) };
  }

  test("counts requests by verb, resource and code", async () => {
    const { metrics, ask } = open(answer);
    await ask("GET", "/api/v1/namespaces/a/pods/x");
    await ask("POST", "/api/v1/namespaces/a/pods?dryRun=All");
    expect(metrics.render()).toContain(
      'apiserver_request_total{verb="GET",dry_run="",group="",version="v1",resource="pods",subresource="",scope="resource",component="apiserver",code="200"} 1',
    );
    expect(metrics.render()).toContain(
      '{verb="POST",dry_run="All",group="",version="v1",resource="pods",subresource="",scope="namespace",component="apiserver",code="200"} 1',
    );
  });

  test("counts a thrown error under the code of its Status", async () => {
    const { metrics, ask } = open(() => Promise.reject(new StatusError("Conflict", "lost")));
    expect(await ask("PUT", "/api/v1/namespaces/a/pods/x")).toMatchObject({ reason: "Conflict" });
    expect(metrics.render()).toMatch(/verb="PUT".*code="409"} 1/);
  });

  test("counts a watch but does not measure its duration", async () => {
    const { metrics, ask } = open(answer);
    await ask("GET", "/api/v1/pods?watch=1");
    expect(metrics.render()).toMatch(/apiserver_request_total{verb="WATCH"/);
    expect(metrics.render()).not.toMatch(/apiserver_request_duration_seconds_count{verb="WATCH".*} 1/);
  });

  test("uses no name that a client has invented as a label value", async () => {
    const { metrics, ask } = open(answer);
    for (let count = 0; count < 50; count++) {
      await ask("GET", `/api/v1/namespaces/a/pods/x/made-up-${count}`);
      await ask("GET", `/api/v1/made-up-${count}`);
      await ask(`MADE-UP-${count}`, "/made/up");
    }
    expect(metrics.render()).not.toMatch(/made-up/i);
    expect(metrics.render().match(/^apiserver_request_total/gm)).toHaveLength(3);
  });
});

test("a chain runs its filters in the order in which they are written", async () => {
  const met: string[] = [];
  const note = (name: string) => (next: (request: ApiRequest) => Promise<ApiResponse>) => (request: ApiRequest) => {
    met.push(name);
    return next(request);
  };
  await chain<ApiRequest>().through(note("first")).through(note("second")).to(answer)(apiRequest());
  expect(met).toEqual(["first", "second"]);
});
