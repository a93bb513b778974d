/**
 * Tests of priority and fairness: the requests of a user with many requests wait, while those of other users,
 * administrators and probes are served.
 */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import {
  CONFIG_MAPS,
  configMap,
  header,
  startServer,
  type ApiTestResponse,
  type StartOptions,
  type TestServer,
} from "./start.ts";

const TOKENS = ["root,root,u-1,system:masters", "bob,bob,u-2", "alice,alice,u-3"].join("\n");
const SLOW_MS = 100;

/** A store that delays writes of keys that contain "slow". */
function slowKv(kv: Kv, clock: World["clock"]): Kv {
  const isSlow = (change: Parameters<Kv["commit"]>[0]): boolean => JSON.stringify(change).includes("/slow-");
  return overlaidKv(kv, {
    async commit(change) {
      if (isSlow(change)) await new Promise<void>((done) => void clock.after(SLOW_MS, done));
      return kv.commit(change);
    },
  });
}

/** Starts a server with few seats and a store with slow writes. Every user may do everything. */
async function start(seats: number, access: StartOptions["access"] = {}): Promise<TestServer> {
  const world = new World({ seed: 5 });
  const api = await startServer({
    world,
    tokenFile: TOKENS,
    maxRequestsInflight: seats,
    maxMutatingRequestsInflight: seats,
    access: { authorizationModes: ["AlwaysAllow"], disableAdmissionPlugins: ["ServiceAccount"], ...access },
    wrapKv: (kv) => slowKv(kv, world.clock),
  });
  // Waits until the server has seen priority levels and flow schemas.
  await api.world.advance(10_000);
  return api;
}

interface Timed {
  readonly answer: ApiTestResponse;
  readonly afterMs: number;
}

const as = (user: string): { asClient: true; headers: Record<string, string> } => ({
  asClient: true,
  headers: { authorization: `Bearer ${user}` },
});

type TimedRequest = readonly [method: string, target: string, body?: object];

async function timed(api: TestServer, user: string, [method, target, body]: TimedRequest): Promise<Timed> {
  const { clock } = api.world;
  const from = clock.monotonic();
  const response = await api.begin(method, target, body, as(user));
  return { answer: response, afterMs: clock.monotonic() - from };
}

const made = (name: string): TimedRequest => ["POST", CONFIG_MAPS, configMap(name)];
const read = (target: string): TimedRequest => ["GET", target];

/** Sends slow writes of the user and returns when the server has received them. */
async function flood(api: TestServer, user: string, count: number): Promise<Promise<Timed>[]> {
  const begun = Array.from({ length: count }, (_, at) => timed(api, user, made(`slow-${user}-${at}`)));
  await api.world.advance(1);
  return begun;
}

const statuses = (all: readonly Timed[]): Set<number> => new Set(all.map(({ answer }) => answer.status));

describe("with priority and fairness,", () => {
  test("a user with many requests does not delay other users", async () => {
    await using api = await start(12);
    const many = await flood(api, "bob", 60);
    const own = await api.world.run(timed(api, "alice", made("slow-alice")));
    const probe = await api.world.run(timed(api, "alice", read("/livez")));
    const root = await api.world.run(timed(api, "root", made("slow-root")));
    const look = await api.world.run(timed(api, "alice", read(`${CONFIG_MAPS}/slow-root`)));
    const all = await api.world.run(Promise.all(many));
    expect([own, probe, root, look].map(({ answer }) => answer.status)).toEqual([201, 200, 201, 200]);
    expect(probe.afterMs).toBe(0);
    expect(root.afterMs).toBe(SLOW_MS);
    expect(own.afterMs).toBeLessThan(10 * SLOW_MS);
    expect(look.afterMs).toBeLessThan(10 * SLOW_MS);
    expect(Math.max(...all.map(({ afterMs }) => afterMs))).toBeGreaterThan(10 * SLOW_MS);
    expect(statuses(all)).toEqual(new Set([201]));
  });

  test("requests that exceed the queue limit return 429 with Retry-After, and all writes that returned 201 are stored", async () => {
    await using api = await start(12);
    const all = await api.world.run(Promise.all(await flood(api, "bob", 450)));
    expect(statuses(all)).toEqual(new Set([201, 429]));
    const { answer } = all.find((one) => one.answer.status === 429)!;
    expect(answer.text).toBe("Too many requests, please try again later.\n");
    expect(header(answer, "retry-after")).toMatch(/^[1-9]\d*$/);
    expect(header(answer, "content-type")).toBe("text/plain; charset=utf-8");
    expect(header(answer, "x-kubernetes-pf-flowschema-uid")).toBeDefined();
    const stored = (await api.get(CONFIG_MAPS)).body.items.length;
    expect(stored).toBe(all.filter((one) => one.answer.status === 201).length);
    const rejected =
      'rejected_requests_total{priority_level="global-default",flow_schema="global-default",reason="queue-full"}';
    expect((await api.get("/metrics")).text).toContain(rejected);
  });

  test("a watch occupies no seat once it has started", async () => {
    await using api = await start(12);
    const target = `${CONFIG_MAPS}?watch=true&timeoutSeconds=300`;
    const watches = await api.world.run(
      Promise.all(
        Array.from({ length: 30 }, () => api.send({ method: "GET", target, headers: as("bob").headers }, true)),
      ),
    );
    expect(new Set(watches.map(({ status }) => status))).toEqual(new Set([200]));
    const { answer, afterMs } = await api.world.run(timed(api, "bob", read(CONFIG_MAPS)));
    expect([answer.status, afterMs]).toEqual([200, 0]);
  });
});

describe("without priority and fairness,", () => {
  test("reads and writes are limited separately, and administrators and probes are exempt", async () => {
    await using api = await start(2, { priorityAndFairness: false });
    const two = await flood(api, "bob", 2);
    const write = await api.world.run(timed(api, "alice", made("a")));
    const look = await api.world.run(timed(api, "alice", read(CONFIG_MAPS)));
    const root = await api.world.run(timed(api, "root", made("b")));
    const probe = await api.world.run(timed(api, "alice", read("/livez")));
    expect([write, look, root, probe].map(({ answer }) => answer.status)).toEqual([429, 200, 201, 200]);
    expect(header(write.answer, "retry-after")).toBe("1");
    expect(write.answer.text).toBe("Too many requests, please try again later.\n");
    expect(statuses(await api.world.run(Promise.all(two)))).toEqual(new Set([201]));
    const again = await api.world.run(timed(api, "alice", made("a")));
    expect(again.answer.status).toBe(201);
  });
});
