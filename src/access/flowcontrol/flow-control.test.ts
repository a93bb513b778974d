import { describe, expect, test } from "vitest";

import type { User } from "../auth/user.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { NO_BODY, type ApiResponse } from "../../serving/http/message.ts";
import { bufferedBody } from "../../serving/http/request-body.ts";
import type { RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { StatusError } from "../../meta/status-error.ts";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { BoundedMemo } from "./bounded-memo.ts";
import { createFlowControl } from "./flow-control.ts";
import {
  EVERYTHING,
  flowSchema,
  group,
  priorityLevel,
  queued,
  userNamed,
  userRequest,
} from "../../../test/testing/access/flowcontrol/objects.ts";

const OK: ApiResponse = { status: 200, headers: { a: "b" }, body: NO_BODY };
const JANE = userNamed("jane");
const JOE = userNamed("joe");
const ROOT = userNamed("root", "system:masters");

class World {
  readonly clock = createManualClock();
  readonly metrics = new MetricsRegistry();
  readonly control;
  /** Requests that are being served, with the names of their users. */
  readonly served: { readonly who: string; readonly answer: () => void; readonly fail: () => void }[] = [];
  readonly #handler;

  constructor(serverSeats = 10) {
    const { clock, metrics } = this;
    this.control = createFlowControl({
      clock,
      metrics,
      serverSeats,
      requestTimeoutMs: 60_000,
      requestedTimeoutMs: ({ query }) => (query.has("timeout") ? Number(query.get("timeout")) : undefined),
      statsOf: () => undefined,
    });
    this.#handler = this.control.filter(
      (request: ReturnType<typeof userRequest>) =>
        new Promise<ApiResponse>((resolve, reject) => {
          const [response, fail] = [() => resolve(OK), () => reject(new Error("no"))];
          this.served.push({ who: request.user.name, answer: response, fail });
        }),
    );
  }

  async ask(
    user: User,
    options: RequestOptions & { signal?: AbortSignal; isProxied?: boolean } = {},
  ): Promise<ApiResponse> {
    const { signal, isProxied = false, ...rest } = options;
    const made = userRequest(user, { url: "/api/v1/namespaces/a/pods/x", ...rest });
    const request: ReturnType<typeof userRequest> = { ...made, isProxied, ...(signal === undefined ? {} : { signal }) };
    const response = await this.#handler(request);
    return { ...response, headers: { ...request.responseHeaders, ...response.headers } };
  }

  /** Gives one level nearly all seats of the server. */
  oneLevel(queues = 8, queueLengthLimit = 2): this {
    this.control.priorityLevels.reset([
      priorityLevel("all", { nominalConcurrencyShares: 45, ...queued(queues, 1, queueLengthLimit) }),
    ]);
    this.control.flowSchemas.reset([flowSchema("all", "all", { distinguisherMethod: { type: "ByUser" } })]);
    return this;
  }
}

const text = ({ body }: ApiResponse): string => (body.kind === "bytes" ? Buffer.concat(body.chunks).toString() : "");

describe("before any objects are loaded", () => {
  test("all users share the catch-all level, and system:masters is exempt", async () => {
    const world = new World(2);
    const held = [world.ask(JANE), world.ask(JOE)];
    const rejected = await world.ask(JANE);
    expect([rejected.status, text(rejected)]).toEqual([429, "Too many requests, please try again later.\n"]);
    expect(rejected.headers).toEqual({
      "content-type": "text/plain; charset=utf-8",
      "cache-control": "no-cache, private",
      "x-content-type-options": "nosniff",
      "retry-after": "1",
      "x-kubernetes-pf-flowschema-uid": "",
      "x-kubernetes-pf-prioritylevel-uid": "",
    });
    held.push(world.ask(ROOT));
    expect(world.served.map(({ who }) => who)).toEqual(["jane", "joe", "root"]);
    for (const { answer } of world.served) answer();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test("deleting the mandatory objects has no effect", async () => {
    const world = new World(1);
    for (const name of ["exempt", "catch-all"]) {
      world.control.priorityLevels.remove("", name);
      world.control.flowSchemas.remove("", name);
    }
    void world.ask(JANE);
    void world.ask(ROOT);
    expect((await world.ask(JANE)).status).toBe(429);
    expect(world.served).toHaveLength(2);
  });
});

describe("with stored objects", () => {
  test("the response names the FlowSchema and the priority level", async () => {
    const world = new World().oneLevel();
    const response = world.ask(JANE);
    world.served[0]!.answer();
    expect((await response).headers).toEqual({
      a: "b",
      "x-kubernetes-pf-flowschema-uid": "schema-all",
      "x-kubernetes-pf-prioritylevel-uid": "level-all",
    });
    expect(OK.headers).toEqual({ a: "b" });
  });

  test("a client fills only its own queue, and another client is still served", async () => {
    const world = new World().oneLevel();
    const limit = 9;
    for (let index = 0; index < limit + 2; index++) void world.ask(JANE);
    expect((await world.ask(JANE)).status).toBe(429);
    void world.ask(JOE);
    expect(world.served).toHaveLength(limit);
    world.served[0]!.answer();
    world.served[1]!.answer();
    await Promise.resolve();
    await new Promise(setImmediate);
    expect(world.served.slice(limit).map(({ who }) => who)).toContain("joe");
    expect(world.metrics.render()).toContain(
      'apiserver_flowcontrol_rejected_requests_total{priority_level="all",flow_schema="all",reason="queue-full"} 1',
    );
  });

  test("a failed request releases its seats", async () => {
    const world = new World(1);
    const failing = world.ask(JANE);
    world.served[0]!.fail();
    await expect(failing).rejects.toThrow("no");
    void world.ask(JANE);
    expect(world.served).toHaveLength(2);
  });

  test("an exempt FlowSchema serves health checks at once", async () => {
    const world = new World(1).oneLevel();
    world.control.flowSchemas.put(
      flowSchema("probes", "exempt", {
        matchingPrecedence: 2,
        rules: [
          {
            subjects: [group("system:unauthenticated"), group("system:authenticated")],
            nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
          },
        ],
      }),
    );
    for (let index = 0; index < 3; index++) void world.ask(JANE);
    expect(world.served).toHaveLength(1);
    for (const url of ["/livez", "/readyz/ping", "/healthz"]) void world.ask(JANE, { url });
    expect(world.served).toHaveLength(4);
  });

  test("a FlowSchema is ignored while its priority level does not exist", async () => {
    const world = new World().oneLevel();
    world.control.flowSchemas.put(flowSchema("first", "special", { matchingPrecedence: 1 }));
    const [before] = [world.ask(JANE), world.served[0]!.answer()];
    expect((await before).headers["x-kubernetes-pf-flowschema-uid"]).toBe("schema-all");
    world.control.priorityLevels.put(priorityLevel("special"));
    const [after] = [world.ask(JANE), world.served[1]!.answer()];
    expect((await after).headers["x-kubernetes-pf-flowschema-uid"]).toBe("schema-first");
  });

  test("a deleted priority level serves its waiting requests and is then removed", async () => {
    const world = new World(1).oneLevel();
    const asked = [world.ask(JANE), world.ask(JANE), world.ask(JANE)];
    world.control.priorityLevels.remove("", "all");
    void world.ask(JOE);
    for (let index = 0; index < 4; index++) {
      for (const { answer } of world.served) answer();
      await new Promise(setImmediate);
    }
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(world.metrics.render()).not.toContain('limit_seats{priority_level="all"}');
  });

  test("requests of one user with different groups are classified separately", async () => {
    const world = new World().oneLevel();
    world.control.flowSchemas.put(
      flowSchema("dev", "all", {
        matchingPrecedence: 1,
        rules: [
          {
            subjects: [group("dev")],
            nonResourceRules: [],
            resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"] }],
          },
        ],
      }),
    );
    const uids = [];
    for (const user of [JANE, userNamed("jane", "dev"), JANE]) {
      const asked = world.ask(user);
      world.served.at(-1)!.answer();
      uids.push((await asked).headers["x-kubernetes-pf-flowschema-uid"]);
    }
    expect(uids).toEqual(["schema-all", "schema-dev", "schema-all"]);
  });
});

describe("a request waits", () => {
  test.each([
    ["/api/v1/namespaces/a/pods/x", 15_000],
    ["/api/v1/namespaces/a/pods/x?timeout=2000", 500],
    ["/api/v1/namespaces/a/pods?watch=1&timeout=2000", 15_000],
  ])("at most a quarter of its timeout: a request for %s waits %i ms", async (url, limitMs) => {
    const world = new World(1).oneLevel();
    void world.ask(JANE);
    const waiting = world.ask(JANE, { url });
    world.clock.advance(limitMs - 1);
    expect(world.metrics.render()).toContain('current_inqueue_requests{priority_level="all",flow_schema="all"} 1');
    world.clock.advance(1);
    expect((await waiting).status).toBe(429);
    expect(world.metrics.render()).toContain('reason="time-out"} 1');
    expect(world.metrics.render()).toContain('current_inqueue_requests{priority_level="all",flow_schema="all"} 0');
  });

  test("until its client disconnects", async () => {
    const world = new World(1).oneLevel();
    void world.ask(JANE);
    const leaving = new AbortController();
    const gone = world.ask(JANE, { signal: leaving.signal });
    leaving.abort();
    expect((await gone).status).toBe(429);
    expect(world.metrics.render()).toContain('apiserver_current_inqueue_requests{request_kind="readOnly"} 0');
    world.served[0]!.answer();
    await new Promise(setImmediate);
    expect(world.served).toHaveLength(1);
    void world.ask(JANE);
    expect(world.served).toHaveLength(2);
  });

  test("not at all if a peer has proxied it, because it has a seat there", async () => {
    const world = new World(1).oneLevel();
    void world.ask(JANE);
    void world.ask(JANE);
    void world.ask(JANE, { isProxied: true });
    expect(world.served).toHaveLength(2);
  });

  test("for seats that its level borrows from an idle level", async () => {
    const world = new World(100);
    world.control.priorityLevels.reset([
      priorityLevel("small", { nominalConcurrencyShares: 10, ...queued(8, 1, 50) }),
      priorityLevel("large", { nominalConcurrencyShares: 85, lendablePercent: 80, ...queued(8, 1, 100) }),
    ]);
    world.control.flowSchemas.reset([
      flowSchema("large", "large", { rules: [{ ...EVERYTHING, subjects: [{ kind: "User", user: { name: "joe" } }] }] }),
      flowSchema("small", "small", { matchingPrecedence: 200 }),
    ]);
    const limitOfSmall = (): number => {
      void world.ask(ROOT);
      return Number(/current_limit_seats\{priority_level="small"\} (\d+)/.exec(world.metrics.render())![1]);
    };
    for (let index = 0; index < 80; index++) void world.ask(JOE);
    for (let index = 0; index < 40; index++) void world.ask(JANE);
    world.clock.advance(10_000);
    const whileLargeIsBusy = limitOfSmall();
    for (let index = 0; index < world.served.length; index++)
      if (world.served[index]!.who === "joe") world.served[index]!.answer();
    await new Promise(setImmediate);
    world.clock.advance(10_000);
    limitOfSmall();
    world.clock.advance(10_000);
    expect([whileLargeIsBusy, limitOfSmall()]).toEqual([15, 32]);
  });
});

describe("long-running requests", () => {
  test("a watch holds its seat until its response begins", async () => {
    const world = new World(1);
    const watch = world.ask(JANE, { url: "/api/v1/pods?watch=1" });
    expect((await world.ask(JANE)).status).toBe(429);
    world.served[0]!.answer();
    await watch;
    void world.ask(JANE);
    expect(world.served).toHaveLength(2);
  });

  test.each(["exec", "attach", "portforward", "proxy", "log"])(
    "the subresource %s does not take a seat",
    async (subresource) => {
      const world = new World(1);
      void world.ask(JANE);
      void world.ask(JANE, { url: `/api/v1/namespaces/a/pods/x/${subresource}` });
      expect(world.served).toHaveLength(2);
    },
  );
});

test("the lists of one client do not block the event loop for other clients", async () => {
  const turns: (() => void)[] = [];
  const control = createFlowControl({
    clock: createManualClock(),
    metrics: new MetricsRegistry(),
    serverSeats: 100,
    requestTimeoutMs: 60_000,
    nextTurn: (callback) => void turns.push(callback),
    statsOf: () => ({ count: 10_000, averageBytes: 1_000 }),
  });
  control.priorityLevels.reset([priorityLevel("all", { nominalConcurrencyShares: 95, ...queued(8, 1, 200) })]);
  control.flowSchemas.reset([flowSchema("all", "all", { distinguisherMethod: { type: "ByUser" } })]);
  const served: string[] = [];
  const handler = control.filter(async ({ user }: ReturnType<typeof userRequest>) => {
    served.push(user.name);
    return OK;
  });
  const responses: Promise<ApiResponse>[] = [];
  for (let index = 0; index < 50; index++) {
    responses.push(handler(userRequest(JANE, { url: "/api/v1/pods" })));
    // Completes pending microtasks, as happens between two requests of one connection.
    for (let tick = 0; tick < 5; tick++) await Promise.resolve();
  }
  responses.push(handler(userRequest(JOE)));
  expect(served).toEqual(["jane", "joe"]);
  while (turns.length > 0) {
    turns.shift()!();
    await new Promise(setImmediate);
  }
  expect((await Promise.all(responses)).every(({ status }) => status === 200)).toBe(true);
  expect(served).toHaveLength(51);
});

test("a BoundedMemo is bounded and keeps entries that are read", () => {
  const memo = new BoundedMemo<number>(100);
  memo.set("often", 1);
  for (let index = 0; index < 10_000; index++) {
    memo.set(`user-${index}`, index);
    expect(memo.get("often")).toBe(1);
  }
  expect(memo.size).toBeLessThanOrEqual(200);
  expect(memo.get("user-1")).toBeUndefined();
});

test("a BoundedMemo ignores overlong keys, such as request paths", () => {
  const memo = new BoundedMemo<number>(100);
  memo.set("n".repeat(1_025), 1);
  expect([memo.size, memo.get("n".repeat(1_025))]).toEqual([0, undefined]);
});

describe("processing of request bodies", () => {
  type Sent = RequestOptions & { readonly signal?: AbortSignal; readonly bytes?: number };
  const LARGE = 100_000;

  function workshop(workMs: number): {
    readonly done: string[];
    readonly send: (user: User, options?: Sent) => Promise<ApiResponse>;
    readonly turn: () => Promise<number>;
    readonly pass: (ms: number) => Promise<void>;
  } {
    const [turns, done]: [(() => void)[], string[]] = [[], []];
    const clock = createManualClock();
    const control = createFlowControl({
      ...{ clock, metrics: new MetricsRegistry(), serverSeats: 100, requestTimeoutMs: 60_000 },
      ...{ nextTurn: (callback) => void turns.push(callback), statsOf: () => undefined },
    });
    const handler = control.filter(async ({ user, body }: ReturnType<typeof userRequest>) => {
      const sent = await body.read(1_000_000);
      clock.advance(sent.length > LARGE ? 10 * workMs : workMs);
      done.push(user.name);
      return OK;
    });
    return {
      done,
      send: (user, { signal, bytes = 2, ...options } = {}) => {
        const request = userRequest(user, { method: "POST", url: "/api/v1/namespaces/a/configmaps", ...options });
        const body = bufferedBody(Buffer.alloc(bytes, "x"));
        return handler({ ...request, body, ...(signal === undefined ? {} : { signal }) });
      },
      async turn() {
        for (const callback of turns.splice(0)) {
          callback();
          await new Promise(setImmediate);
        }
        return turns.length;
      },
      async pass(ms) {
        clock.advance(ms);
        await new Promise(setImmediate);
      },
    };
  }

  test("is spread over several turns of the event loop and alternates between users", async () => {
    const { done, send, turn, pass } = workshop(200);
    const responses = [send(JANE), send(JANE), send(JANE), send(JOE), send(ROOT)];
    await new Promise(setImmediate);
    expect(done.toSorted()).toEqual(["jane", "root"]);
    for (let rests = 0; rests < 4; rests++) {
      while ((await turn()) > 0);
      await pass(200);
    }
    expect(done.slice(2)).toEqual(["jane", "joe", "jane"]);
    await Promise.all(responses);
    void send(JOE);
    await new Promise(setImmediate);
    expect(done).toHaveLength(6);
  });

  test("that takes long is followed by a pause, in which new clients can connect", async () => {
    const { done, send, turn, pass } = workshop(100);
    const responses = [send(JANE), send(JOE)];
    await new Promise(setImmediate);
    while ((await turn()) > 0);
    await pass(19);
    expect(done).toEqual(["jane"]);
    await pass(1);
    expect(done).toEqual(["jane", "joe"]);
    await Promise.all(responses);
  });

  test("that is quick runs for several requests in one turn of the event loop", async () => {
    const { done, send, turn } = workshop(1);
    for (let index = 0; index < 30; index++) void send(JANE);
    await new Promise(setImmediate);
    const counts = [done.length];
    while ((await turn()) > 0) counts.push(done.length);
    expect(counts).toEqual([1, 11, 21, 30]);
  });

  test("is skipped if the client has disconnected", async () => {
    const { done, send, turn, pass } = workshop(200);
    const leaving = new AbortController();
    const responses = Promise.allSettled([send(JANE), send(JOE, { signal: leaving.signal })]);
    await new Promise(setImmediate);
    leaving.abort(new Error("gone"));
    while ((await turn()) > 0);
    await pass(40);
    expect(done).toEqual(["jane"]);
    // The error must be a Status; the server would log any other error as its own failure.
    const reason = { message: "the client disconnected before its request was complete", code: 400 };
    expect(await responses).toMatchObject([{ status: "fulfilled" }, { status: "rejected", reason }]);
  });

  test("of large requests leaves at least half of the time to small requests", async () => {
    const { done, send, turn, pass } = workshop(20);
    for (let index = 0; index < 3; index++) void send(JANE, { bytes: 2 * LARGE });
    await new Promise(setImmediate);
    while ((await turn()) > 0);
    for (let index = 0; index < 4; index++) void send(JOE);
    await new Promise(setImmediate);
    await pass(40);
    for (let rests = 0; rests < 60; rests++) {
      while ((await turn()) > 0);
      await pass(10);
    }
    expect(done).toEqual(["jane", "joe", "joe", "joe", "joe", "jane", "jane"]);
  });

  test("of a user whose last request took long waits with the large requests", async () => {
    const { done, send, turn, pass } = workshop(100);
    const responses = [send(JANE), send(JANE)];
    await new Promise(setImmediate);
    for (let rests = 0; rests < 20; rests++) {
      while ((await turn()) > 0);
      await pass(10);
    }
    expect(done).toEqual(["jane", "jane"]);
    await Promise.all(responses);
    responses.push(send(JANE), send(JANE), send(JOE), send(JOE));
    await new Promise(setImmediate);
    for (let rests = 0; rests < 60; rests++) {
      while ((await turn()) > 0);
      await pass(10);
    }
    expect(done.slice(2)).toEqual(["jane", "joe", "joe", "jane"]);
  });

  test.each([
    ["application/yaml", 1],
    ["application/json;as=Table;v=v1;g=meta.k8s.io", 1],
    ["application/json", 3],
  ])("also applies to reads as %s: %i of three reads are processed at once", async (accept, count) => {
    const { done, send, turn } = workshop(1);
    const responses = [1, 2, 3].map(() => send(JANE, { method: "GET", bytes: 0, headers: { accept } }));
    await new Promise(setImmediate);
    expect(done).toHaveLength(count);
    while ((await turn()) > 0);
    await Promise.all(responses);
  });

  test("is rejected if too many large bodies wait; a canceled request no longer counts", async () => {
    const { send } = workshop(200);
    void send(JOE, { bytes: 2 * LARGE });
    await new Promise(setImmediate);
    const leaving = new AbortController();
    const sent = Array.from({ length: 64 }, () => send(JANE, { bytes: 2 * LARGE, signal: leaving.signal }));
    const all = Promise.allSettled(sent);
    await new Promise(setImmediate);
    await expect(send(JANE, { bytes: 2 * LARGE })).rejects.toMatchObject({ code: 429 });
    const announced = { "content-length": String(2 * LARGE) };
    await expect(send(JANE, { bytes: 2, headers: announced })).rejects.toMatchObject({ code: 429 });
    leaving.abort(new StatusError("Timeout", "too late"));
    expect(new Set((await all).map((one) => (one as PromiseRejectedResult).reason as unknown))).toEqual(
      new Set([leaving.signal.reason]),
    );
    const more = send(JANE, { bytes: 2 * LARGE });
    await expect(Promise.race([more, new Promise((resolve) => setImmediate(resolve, "waits"))])).resolves.toBe("waits");
  });
});
