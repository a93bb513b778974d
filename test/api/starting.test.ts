/**
 * Tests of the responses of a server during each step of its start, for clients that do not send X-Kubernetes-If-Ready.
 */
import { describe, expect, test } from "vitest";
import { sleep } from "../../src/base/clock.ts";
import { World } from "../../src/tools/simulator/world.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { FaultyKv } from "./faulty-kv.ts";
import {
  CONFIG_MAPS,
  configMap,
  header,
  startServer,
  type ApiTestResponse,
  type StartOptions,
  type TestServer,
} from "./start.ts";

const TOKENS = ['secret,admin,uid,"system:masters"', "jane-token,jane,uid-2"].join("\n");
const STORE_CALL_MS = 250;
const STEP_MS = 100;
const STEPS_MAX = 1_000;
const NO_PATH = "the request has been made before all known HTTP paths have been installed, please try again";
const NOT_SURE = "this server is still starting and has not loaded all data yet";

/** Maps each request to the status that a server returns once it has been ready. */
const REQUESTS: Readonly<Record<string, number>> = {
  "GET /api/v1/namespaces/default": 200,
  "GET /apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical": 200,
  [`GET ${CONFIG_MAPS}`]: 200,
  [`GET ${CONFIG_MAPS}?watch=1&timeoutSeconds=1`]: 200,
  [`GET ${CONFIG_MAPS}/nosuch`]: 404,
  [`POST ${CONFIG_MAPS}`]: 201,
  [`POST ${CONFIG_MAPS.replace("default", "nosuch")}`]: 404,
  [`DELETE ${CONFIG_MAPS}/nosuch`]: 404,
  "GET /apis/nosuch.example.com": 404,
  "GET /apis/nosuch.example.com/v1/things": 404,
  "GET /openapi/v3/apis/nosuch.example.com/v1": 404,
  "GET /nosuch": 404,
  [`anonymous ${CONFIG_MAPS}`]: 403,
  "anonymous /nosuch": 403,
  "anonymous /version": 200,
  [`jane ${CONFIG_MAPS}`]: 403,
  "jane /nosuch": 403,
  "jane /api": 200,
};

/** Requests that have this status at any time, also before the server is ready. */
const EXEMPT: Readonly<Record<string, number>> = {
  "anonymous /livez": 200,
  "GET /livez": 200,
  "GET /readyz/nosuch": 404,
  "GET /metrics/nosuch": 404,
  "anonymous /metrics": 403,
  "jane /metrics": 403,
};

/**
 * Headers of users. The first word of a request is one of these users, who sends a GET, or a method with which an
 * administrator sends the request.
 */
const OTHER_USERS: Readonly<Record<string, Record<string, string>>> = {
  anonymous: {},
  jane: { authorization: "Bearer jane-token" },
};

async function ask(api: TestServer, question: string): Promise<ApiTestResponse> {
  const [who = "", target = ""] = question.split(" ");
  const other = OTHER_USERS[who];
  return api.begin(
    other === undefined ? who : "GET",
    target,
    who === "POST" ? configMap("", { metadata: { generateName: "made-" } }) : undefined,
    { asClient: true, headers: other ?? { authorization: "Bearer secret" } },
  );
}

/** Delays every call to the store except watches. */
function slowKv(world: World, kv: Kv): Kv {
  const slowly = async <T>(work: () => Promise<T>): Promise<T> => {
    await sleep(world.clock, STORE_CALL_MS);
    return work();
  };
  return {
    range: (request) => slowly(() => kv.range(request)),
    commit: (change) => slowly(() => kv.commit(change)),
    watch: (request, sink) => kv.watch(request, sink),
    onHistoryChange: (listener) => kv.onHistoryChange(listener),
    currentRevision: () => slowly(() => kv.currentRevision()),
    compact: (revision) => slowly(() => kv.compact(revision)),
    leaseGrant: (ttlSeconds) => slowly(() => kv.leaseGrant(ttlSeconds)),
    leaseKeepAlive: (lease) => slowly(() => kv.leaseKeepAlive(lease)),
    leaseRevoke: (lease) => slowly(() => kv.leaseRevoke(lease)),
    close: () => kv.close(),
  };
}

interface Early {
  /** The first failed check of /readyz when the request was sent. */
  readonly step: string;
  readonly question: string;
  readonly response: Promise<ApiTestResponse>;
}

/** Sends all requests every 100 ms until the server is ready. */
async function walk(api: TestServer): Promise<Early[]> {
  const asked: Early[] = [];
  let isReady = false;
  void api.server.ready.then(() => (isReady = true));
  for (let count = 0; !isReady; count++) {
    if (count > STEPS_MAX) throw new Error("the server does not become ready");
    const { text } = await api.begin("GET", "/readyz");
    const step = /^\[-\](\S+)/m.exec(text)?.[1] ?? "";
    for (const question of [...Object.keys(REQUESTS), ...Object.keys(EXEMPT)])
      asked.push({ step, question, response: ask(api, question) });
    await api.world.advance(STEP_MS);
  }
  await api.world.run(Promise.all(asked.map(({ response }) => response)));
  return asked;
}

function startSlowly(world: World, options: StartOptions = {}): Promise<TestServer> {
  const wrapKv = (kv: Kv): Kv => slowKv(world, kv);
  const access = {};
  return startServer({ world, tokenFile: TOKENS, access, wrapKv, skipReady: true, strictRelease: false, ...options });
}

const FIRST_STEPS = ["etcd", "identity-lease"];
const PUBLISHING = "poststarthook/built-in-resources-storage-version-updater";
const REPAIR = "poststarthook/start-service-ip-repair-controllers";
const SEEDING = "poststarthook/start-system-namespaces-controller";

describe.each<{ where: string; options?: StartOptions; isFilled?: boolean; steps: string[] }>([
  { where: "an empty store", steps: [PUBLISHING, REPAIR, SEEDING] },
  { where: "a store that another server has filled", isFilled: true, steps: [PUBLISHING, REPAIR, SEEDING] },
  { where: "an empty store, with a strict release", options: { strictRelease: true }, steps: [REPAIR, SEEDING] },
  {
    where: "an empty store, without the proxy",
    options: { featureGates: ["UnknownVersionInteroperabilityProxy=false"] },
    steps: [PUBLISHING, REPAIR, SEEDING],
  },
])("during a start on $where,", ({ options, isFilled = false, steps }) => {
  test("no client gets 404 or 403, except for health and metrics, and every client gets the final response afterwards", async () => {
    const world = new World({ seed: 1 });
    if (isFilled) await (await startServer({ world, access: {}, strictRelease: false }))[Symbol.asyncDispose]();
    await using api = await startSlowly(world, options);
    const early = await walk(api);
    for (const { step, question, response } of early) {
      const { status, headers } = await response;
      const where = `${question} at ${step}`;
      expect(allowedEarly(question), where).toContain(status);
      if (status === 503) expect(headers["retry-after"], where).toMatch(/^([1-9]|[12][0-9]|30)$/);
    }
    for (const step of [...FIRST_STEPS, ...steps]) expect(early.map((one) => one.step)).toContain(step);
    for (const [question, status] of Object.entries({ ...REQUESTS, ...EXEMPT }))
      expect([question, (await world.run(ask(api, question))).status]).toEqual([question, status]);
  });
});

function allowedEarly(question: string): unknown[] {
  const later = REQUESTS[question];
  if (later === undefined) return [EXEMPT[question]];
  return later < 400 ? [503, later] : [503];
}

describe("a request before the server has been ready", () => {
  async function startStalled(options: StartOptions = {}): Promise<{ api: TestServer; kv: FaultyKv }> {
    let kv: FaultyKv | undefined;
    const wrapKv = (real: Kv): Kv => {
      kv = new FaultyKv(real);
      kv.stall();
      return kv;
    };
    const api = await startServer({ tokenFile: TOKENS, access: {}, wrapKv, skipReady: true, ...options });
    return { api, kv: kv! };
  }

  test("for an unknown path returns 503 with the message of kube-apiserver", async () => {
    const { api, kv } = await startStalled();
    const { status, body } = await ask(api, "GET /nosuch");
    expect(status).toBe(503);
    expect(body).toEqual({
      ...{ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", reason: "ServiceUnavailable", code: 503 },
      message: NO_PATH,
      details: { retryAfterSeconds: 1 },
    });
    kv.resume();
    await api[Symbol.asyncDispose]();
  });

  test.each([
    ["anonymous", "system:anonymous"],
    ["jane", "jane"],
  ])("that would be forbidden returns 503, with the message of the 403 at its end: %s", async (who, user) => {
    const { api, kv } = await startStalled();
    const { status, body } = await api.world.run(ask(api, `${who} ${CONFIG_MAPS}`));
    expect([status, body.reason]).toEqual([503, "ServiceUnavailable"]);
    expect(body.message).toMatch(new RegExp(`^${NOT_SURE}: configmaps is forbidden: User "${user}" cannot list`));
    expect(body.details).toEqual({ retryAfterSeconds: 1 });
    kv.resume();
    await api[Symbol.asyncDispose]();
  });

  test("gets as Retry-After the seconds that the current step has taken, at most 30", async () => {
    const { api, kv } = await startStalled({ ifReadyMode: "retry", advertise: { address: undefined } });
    const wait = async (headers: Record<string, string>): Promise<string | undefined> =>
      header(await api.begin("GET", "/nosuch", undefined, { asClient: true, headers }), "retry-after");
    const both = async (): Promise<(string | undefined)[]> => [
      await wait({}),
      await wait({ "x-kubernetes-if-ready": "" }),
    ];
    expect(await both()).toEqual(["1", "1"]);
    await api.world.advance(12_000);
    expect(await both()).toEqual(["12", "12"]);
    await api.world.advance(20_000);
    expect(await both()).toEqual(["30", "30"]);
    // The store responds now. The next step waits until the server's address is known.
    kv.resume();
    await api.world.advance(8_000);
    const [seconds] = await both();
    expect(Number(seconds)).toBeGreaterThan(1);
    expect(Number(seconds)).toBeLessThanOrEqual(8);
    await api.world.advance(2_000);
    expect(await both()).toEqual([String(Number(seconds) + 2), String(Number(seconds) + 2)]);
    api.server.announce("127.0.0.1:6443");
    await api.world.run(api.server.ready);
    expect(await wait({})).toBeUndefined();
    await api[Symbol.asyncDispose]();
  });

  test("is counted as 503", async () => {
    const { api, kv } = await startStalled();
    await ask(api, "GET /nosuch");
    const { text } = await api.begin("GET", "/metrics");
    expect(text).toMatch(/apiserver_request_total\{verb="GET".*code="503"\} 1/);
    expect(text).not.toContain('code="404"');
    kv.resume();
    await api[Symbol.asyncDispose]();
  });

  test("never returns 404, even if the server becomes ready before the response", async () => {
    const { api, kv } = await startStalled();
    const asked = ask(api, "GET /nosuch");
    const question = `GET ${CONFIG_MAPS}/nosuch`;
    kv.resume();
    await api.world.advance(0);
    const slow = ask(api, question);
    await api.world.run(api.server.ready);
    expect([(await asked).status, (await slow).status]).toEqual([503, 503]);
    expect((await api.world.run(ask(api, question))).status).toBe(404);
    await api[Symbol.asyncDispose]();
  });

  test("of the loopback client gets the final response", async () => {
    const { api, kv } = await startStalled();
    expect((await api.begin("GET", "/nosuch")).status).toBe(404);
    kv.resume();
    await api[Symbol.asyncDispose]();
  });
});
