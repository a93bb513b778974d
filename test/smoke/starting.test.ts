/**
 * The test plan of KEP-3028 over real sockets, with servers that start slowly: processes whose store does not respond
 * yet, and a server that knows its peers but cannot write to the store yet.
 */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect } from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { IfReadyMode } from "../../src/serving/http/filters/if-ready.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { createNodeEnv } from "../../src/server/env-node.ts";
import { startListening, type ListeningServer } from "../../src/server/listener.ts";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { untilReachable } from "../cluster/settle.ts";
import { openCluster, type Cluster, type Member, type StartingMember } from "../cluster/start-cluster.ts";
import { ADMIN_TOKEN } from "../peers/client.ts";
import { startCluster, TEST_TIMING, type TestCluster } from "../peers/cluster.ts";
import { eventually } from "../peers/wait.ts";
import { CONFIG_MAPS, type Target } from "./client.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

const MODES: readonly IfReadyMode[] = ["off", "retry", "report"];
/** Off is the default, and behaves like a server that does not support the header. */
const FLAGS: Readonly<Record<IfReadyMode, readonly string[]>> = {
  off: [],
  retry: ["--startup-send-retry-after-if-not-initialized"],
  report: ["--startup-send-retry-after-if-not-initialized", "--startup-if-ready-mode=report"],
};
const PROTOCOLS = ["http/1.1", "h2"] as const;
const IF_READY = { "x-kubernetes-if-ready": "" };
const REFUSAL = "The APIServer has not fully initialized yet, please try again later.";
const SERVED_BY = "x-evenkeel-served-by";
/** A resource that 1.36 serves and 1.33 does not. */
const CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const WATCH = "?watch=true&timeoutSeconds=1";

interface Question {
  readonly path: string;
  /** True if the request is sent without a token. */
  readonly isAnonymous?: boolean;
  /** The expected status before the server is ready for the first time. */
  readonly early: number;
  readonly later: number;
  readonly isExempt?: boolean;
}

const QUESTIONS: readonly Question[] = [
  { path: "/version", early: 200, later: 200 },
  { path: "/api/v1/namespaces/default", early: 503, later: 200 },
  { path: CONFIG_MAPS + WATCH, early: 503, later: 200 },
  { path: `${CONFIG_MAPS}/nosuch`, early: 503, later: 404 },
  { path: "/apis/nosuch.example.com/v1/things", early: 503, later: 404 },
  { path: CONFIG_MAPS, isAnonymous: true, early: 503, later: 403 },
  { path: "/readyz", early: 500, later: 200, isExempt: true },
  { path: "/livez", early: 200, later: 200, isExempt: true },
];

interface ReadinessResponse {
  readonly status: number;
  readonly ready: string | undefined;
  readonly retryAfter: string | undefined;
  /** True if a peer served the request. */
  readonly isPeers: boolean;
  readonly text: string;
}

interface ReadinessRequest {
  readonly question: Pick<Question, "path" | "isAnonymous">;
  readonly protocol: (typeof PROTOCOLS)[number];
  readonly hasIfReadyHeader: boolean;
}

async function readinessOf(
  target: Target,
  { question, protocol, hasIfReadyHeader }: ReadinessRequest,
): Promise<ReadinessResponse> {
  const headers = {
    ...(question.isAnonymous === true ? {} : { authorization: `Bearer ${target.token}` }),
    ...(hasIfReadyHeader ? IF_READY : {}),
  };
  const send = protocol === "h2" ? askHttp2 : askHttp1;
  const response = await send(target, question.path, headers);
  return {
    status: response.status,
    ready: first(response.headers["x-kubernetes-ready"]),
    retryAfter: first(response.headers["retry-after"]),
    isPeers: response.headers[SERVED_BY] !== undefined,
    text: response.text,
  };
}

interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === "string" ? value : value?.join();
}

type Send = (target: Target, path: string, headers: Record<string, string>) => Promise<RawResponse>;

const askHttp1: Send = async ({ url, ca, agent }, path, headers) => {
  const [response] = (await once(httpsRequest(url + path, { agent, ca, headers }).end(), "response")) as [
    IncomingMessage,
  ];
  return { status: response.statusCode!, headers: response.headers, text: await text(response) };
};

const askHttp2: Send = async ({ url, ca }, path, given) => {
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
  const session = connect(url, { ca }).on("error", reject);
  const stream = session.request({ ":path": path, ...given });
  stream.on("error", reject).on("response", ({ ":status": status = 0, ...headers }) => {
    const answered = (body: string): void => resolve({ status, headers, text: body });
    text(stream).then(answered, reject);
  });
  try {
    return await promise;
  } finally {
    session.close();
  }
};

/** Every request, over every protocol, with and without the header. */
const ALL: readonly (ReadinessRequest & { readonly question: Question })[] = QUESTIONS.flatMap((question) =>
  PROTOCOLS.flatMap((protocol) => [true, false].map((hasIfReadyHeader) => ({ question, protocol, hasIfReadyHeader }))),
);

/**
 * Sends requests for a resource that only a newer server serves: lists and watches, over every protocol, with and
 * without the header.
 */
function proxied(target: Target): Promise<[hasIfReadyHeader: boolean, ReadinessResponse][]> {
  const asked = [CLAIMS, CLAIMS + WATCH].flatMap((path) =>
    PROTOCOLS.flatMap((protocol) =>
      [true, false].map((hasIfReadyHeader) => ({ question: { path }, protocol, hasIfReadyHeader })),
    ),
  );
  return Promise.all(asked.map(async (one) => [one.hasIfReadyHeader, await readinessOf(target, one)]));
}

describe.skipIf(isMissing)("a process that starts while its store does not respond", { timeout: 60_000 }, () => {
  let cluster: Cluster;
  let starting: Map<IfReadyMode, StartingMember>;

  const member = (mode: IfReadyMode): Member => starting.get(mode)!.member;
  const all = (mode: IfReadyMode): Promise<[(typeof ALL)[number], ReadinessResponse][]> =>
    Promise.all(ALL.map(async (asked) => [asked, await readinessOf(member(mode), asked)]));

  beforeAll(async () => {
    cluster = await openCluster();
    cluster.etcd.pause();
    const begin = async (mode: IfReadyMode): Promise<[IfReadyMode, StartingMember]> => [
      mode,
      await cluster.begin({ id: mode, release: "1.33", flags: [...FLAGS[mode], "--controllers="] }),
    ];
    starting = new Map(await Promise.all(MODES.map(begin)));
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test.each(MODES)("in mode %s responds as a server that is not ready, with and without the header", async (mode) => {
    for (const [{ question, protocol, hasIfReadyHeader }, response] of await all(mode)) {
      const what = `${protocol} ${question.path} ${hasIfReadyHeader ? "if ready" : ""}`;
      const isRejected = mode === "retry" && hasIfReadyHeader && question.isExempt !== true;
      expect([response.status, response.ready], what).toEqual([
        isRejected ? 503 : question.early,
        mode !== "off" && hasIfReadyHeader ? "false" : undefined,
      ]);
      if (response.status === 503) expect(response.retryAfter, what).toMatch(/^([1-9]|[12][0-9]|30)$/);
      if (isRejected) expect(response.text, what).toContain(REFUSAL);
      else expect(response.text, what).not.toContain(REFUSAL);
    }
  });

  test("becomes ready when the store responds, and reports that it is ready", async () => {
    cluster.etcd.resume();
    await Promise.all([...starting.values()].map(({ ready }) => ready));
    const others = (mode: IfReadyMode): IfReadyMode[] => MODES.filter((other) => other !== mode);
    await Promise.all(MODES.map((mode) => untilReachable(member(mode), others(mode))));
    const responses = await Promise.all(MODES.map(async (mode) => ({ mode, all: await all(mode) })));
    for (const { mode, all: ofMode } of responses)
      for (const [{ question, protocol, hasIfReadyHeader }, { status, ready }] of ofMode)
        expect([status, ready], `${mode} ${protocol} ${question.path}`).toEqual([
          question.later,
          mode !== "off" && hasIfReadyHeader ? "true" : undefined,
        ]);
  });

  test("reports that it is ready also on proxied requests and proxied watches", async () => {
    await cluster.start({ id: "newer", release: "1.36", flags: ["--controllers="] });
    await Promise.all(MODES.map((mode) => untilReachable(member(mode), ["newer"])));
    const responses = await Promise.all(MODES.map(async (mode) => ({ mode, all: await proxied(member(mode)) })));
    for (const { mode, all: ofMode } of responses)
      for (const [hasIfReadyHeader, response] of ofMode)
        expect(response).toMatchObject({
          status: 200,
          ready: mode !== "off" && hasIfReadyHeader ? "true" : undefined,
          isPeers: true,
        });
  });

  test("reports that it is not ready after a restart until its store responds", async () => {
    await member("retry").stop();
    cluster.etcd.pause();
    const again = await cluster.begin({ id: "retry", release: "1.33", flags: [...FLAGS.retry, "--controllers="] });
    const asked: ReadinessRequest = { question: { path: "/version" }, protocol: "h2", hasIfReadyHeader: true };
    expect(await readinessOf(again.member, asked)).toMatchObject({ status: 503, ready: "false" });
    cluster.etcd.resume();
    await again.ready;
    expect(await readinessOf(again.member, asked)).toMatchObject({ status: 200, ready: "true" });
  });
});

/**
 * Servers in one process delay each other; the intervals are long enough that none counts as departed because of that.
 */
const TIMING = { ...TEST_TIMING, probeIntervalMs: 5_000, documentTimeoutMs: 20_000 };

/** A server that knows its peers but is not ready, because it cannot write its identity lease. */
interface Held {
  readonly listening: ListeningServer;
  readonly target: Target;
  release(): void;
}

async function startHeld(cluster: TestCluster, ifReadyMode: IfReadyMode): Promise<Held> {
  const { credentials, files, kv } = cluster;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held = overlaidKv(kv, {
    commit: (change) => released.then(() => kv.commit(change)),
    close: () => Promise.resolve(),
  });
  const { caFile, certFile, keyFile } = files;
  const config = resolveOptions({
    release: "1.33",
    storage: { kind: "memory" },
    controllers: [""],
    tokenFile: `${ADMIN_TOKEN},admin,admin-uid,"system:masters"`,
    requestHeader: { clientCa: credentials.proxyCa },
    peers: { serverId: ifReadyMode, timing: TIMING, caFile, certFile, keyFile },
    ifReadyMode,
  });
  const { certPem: cert, keyPem: key } = credentials.serving;
  const env = { ...createNodeEnv({ logLevel: "error", write: () => {} }), openKv: () => Promise.resolve(held) };
  const listening = await startListening(env, config, { host: "127.0.0.1", port: 0, cert, key });
  const agent = new Agent();
  cluster.defer(async () => {
    release();
    await listening.stop();
    agent.destroy();
  });
  const isKnown = (): boolean =>
    listening.server.view().peers.some(({ isReachable, document }) => isReachable && document);
  await eventually(isKnown, (known) => known);
  const { port } = listening;
  return {
    listening,
    target: { url: `https://127.0.0.1:${port}`, port, ca: credentials.servingCa, token: ADMIN_TOKEN, agent },
    release,
  };
}

test.concurrent.each(MODES)(
  "in mode %s a server that knows its peers reports that it is not ready, also on a proxied request and a proxied watch",
  async (mode) => {
    await using cluster = await startCluster([{ release: "1.36", peers: { timing: TIMING } }]);
    const { listening, target, release } = await startHeld(cluster, mode);
    for (const [hasIfReadyHeader, response] of await proxied(target)) {
      const isRejected = mode === "retry" && hasIfReadyHeader;
      expect(response).toMatchObject({
        status: isRejected ? 503 : 200,
        ready: mode !== "off" && hasIfReadyHeader ? "false" : undefined,
        isPeers: !isRejected,
      });
    }
    release();
    await listening.server.ready;
    for (const [hasIfReadyHeader, response] of await proxied(target))
      expect(response).toMatchObject({
        status: 200,
        ready: mode !== "off" && hasIfReadyHeader ? "true" : undefined,
        isPeers: true,
      });
  },
);
