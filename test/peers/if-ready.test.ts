/**
 * Tests of X-Kubernetes-Ready in a cluster. The header reports the readiness of the server that the client called, even
 * if a peer served the request.
 */
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { IfReadyMode } from "../../src/serving/http/filters/if-ready.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { createNodeEnv } from "../../src/server/env-node.ts";
import { startListening } from "../../src/server/listener.ts";
import { StorageError } from "../../src/storage/kv.ts";
import { ADMIN_TOKEN, ApiClient, type CallOptions } from "./client.ts";
import { OPEN, startCluster, TEST_TIMING, UNPROBED, type Member, type TestCluster } from "./cluster.ts";
import { sendJson, startStub, WIDGETS, type StubPeer } from "./stub-peer.ts";
import { eventually } from "./wait.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

const IF_READY = { "x-kubernetes-if-ready": "" };
/** A resource that 1.36 serves and 1.33 does not. */
const CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const SERVED_BY = "x-evenkeel-served-by";

/**
 * The status, the X-Kubernetes-Ready header, and whether a peer served the request. A watch is closed as soon as it has
 * started.
 */
async function readinessOf(server: ApiClient, target: string, options: CallOptions = {}): Promise<unknown[]> {
  const message = await server.open(target, { headers: IF_READY, ...options });
  if (target.includes("watch=1")) message.destroy();
  else await once(message.resume(), "end");
  return [message.statusCode, message.headers["x-kubernetes-ready"], message.headers[SERVED_BY] !== undefined];
}

describe.each(["retry", "report"] as const)("in mode %s, a ready server", (ifReadyMode) => {
  let cluster: TestCluster;
  let member: Member;
  let stub: StubPeer;

  beforeAll(async () => {
    cluster = await startCluster([{ options: { ifReadyMode }, peers: { timing: UNPROBED } }]);
    ({ member, stub } = await startStub(cluster));
  });
  afterAll(() => cluster[Symbol.asyncDispose]());
  beforeEach(() => void stub.arrivals.splice(0));

  test.each([200, 403, 404, 500, 503])(
    "reports its own readiness on a proxied response with status %d, although the peer reports that it is not ready",
    async (status) => {
      stub.respond = (_request, response) =>
        sendJson(response, status, { kind: "Status", details: { name: "x" } }, { "X-Kubernetes-Ready": "false" });
      expect(await readinessOf(member, `${WIDGETS}/x`)).toEqual([status, "true", true]);
      expect(stub.arrivals.flatMap((arrival) => arrival.all("X-Kubernetes-If-Ready"))).toEqual([]);
    },
  );

  test("reports its own readiness at the start of a proxied watch", async () => {
    stub.respond = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "X-Kubernetes-Ready": "false" });
      response.write('{"type":"ADDED","object":{}}\n');
    };
    expect(await readinessOf(member, `${WIDGETS}?watch=1`)).toEqual([200, "true", true]);
    expect(stub.arrivals[0]!.all("X-Kubernetes-If-Ready")).toEqual([]);
  });

  test("reports its own readiness if the peer does not respond", async () => {
    stub.respond = (request) => void request.socket.destroy();
    expect(await readinessOf(member, `${WIDGETS}/x`)).toEqual([503, "true", false]);
  });

  test("sends no X-Kubernetes-Ready to a client that did not request it, whatever the peer sends", async () => {
    stub.respond = (_request, response) => sendJson(response, 200, {}, { "X-Kubernetes-Ready": "true" });
    expect(await readinessOf(member, WIDGETS, { headers: {} })).toEqual([200, undefined, true]);
  });
});

test.each<[IfReadyMode, IfReadyMode, string | undefined]>([
  ["off", "retry", undefined],
  ["off", "report", undefined],
  ["retry", "off", "true"],
  ["report", "off", "true"],
])(
  "a server in mode %s with a peer in mode %s handles the header according to its own mode",
  async (first, second, ready) => {
    await using cluster = await startCluster([
      { release: "1.33", options: { ifReadyMode: first } },
      { options: { ifReadyMode: second } },
    ]);
    const member = cluster.members[0]!;
    expect(await readinessOf(member, CLAIMS)).toEqual([200, ready, true]);
    expect(await readinessOf(member, `${CLAIMS}?watch=1`)).toEqual([200, ready, true]);
    expect(await readinessOf(member, `${CLAIMS}/nosuch`)).toEqual([404, ready, true]);
  },
);

/**
 * Starts a server that reads the store and knows its peers but is not ready, because its store rejects writes, also
 * that of its identity lease.
 */
async function startHeld(cluster: TestCluster, ifReadyMode: IfReadyMode): Promise<ApiClient> {
  const { credentials, files, kv } = cluster;
  const env = createNodeEnv({ logLevel: "error", write: () => {} });
  const held = overlaidKv(kv, {
    commit: () => Promise.reject(new StorageError("unavailable", "read only")),
    close: () => Promise.resolve(),
  });
  const { caFile, certFile, keyFile } = files;
  const config = resolveOptions({
    release: "1.33",
    strictRelease: true,
    featureGates: ["UnknownVersionInteroperabilityProxy=true"],
    storage: { kind: "memory" },
    tokenFile: `${ADMIN_TOKEN},admin,admin-uid,"system:masters"`,
    requestHeader: { clientCa: credentials.proxyCa },
    access: OPEN,
    peers: { serverId: "held", timing: TEST_TIMING, caFile, certFile, keyFile },
    ifReadyMode,
  });
  const { certPem: cert, keyPem: key } = credentials.serving;
  const at = { host: "127.0.0.1", port: 0, cert, key };
  const listening = await startListening({ ...env, openKv: () => Promise.resolve(held) }, config, at);
  cluster.defer(() => listening.stop());
  const isKnown = (): boolean =>
    listening.server.view().peers.some(({ isReachable, document }) => isReachable && document);
  await eventually(isKnown, (known) => known);
  return new ApiClient(listening.port, credentials);
}

describe("a server that has not been ready, with a ready peer,", () => {
  let cluster: TestCluster;
  let retry: ApiClient;
  let report: ApiClient;

  beforeAll(async () => {
    cluster = await startCluster([{ options: { ifReadyMode: "retry" } }]);
    retry = await startHeld(cluster, "retry");
    report = await startHeld(cluster, "report");
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  test("in mode retry rejects requests with the header, although the peer could serve them", async () => {
    expect(await readinessOf(retry, CLAIMS)).toEqual([503, "false", false]);
    expect(await readinessOf(retry, `${CLAIMS}?watch=1`)).toEqual([503, "false", false]);
    expect(await readinessOf(retry, CLAIMS, { headers: {} })).toEqual([200, undefined, true]);
  });

  test("in mode report proxies requests, and reports that it is not ready", async () => {
    expect(await readinessOf(report, CLAIMS)).toEqual([200, "false", true]);
    expect(await readinessOf(report, `${CLAIMS}?watch=1`)).toEqual([200, "false", true]);
    expect(await readinessOf(report, `${CLAIMS}/nosuch`)).toEqual([503, "false", false]);
  });

  test("turns a 404 of the peer into a 503 that contains the peer's message", async () => {
    const response = await retry.get(`${CLAIMS}/nosuch`);
    expect([response.status, response.headers["retry-after"] !== undefined]).toEqual([503, true]);
    expect(response.body.message).toBe(
      'this server is still starting and has not loaded all data yet: resourceclaims.resource.k8s.io "nosuch" not found',
    );
  });

  test("returns 503 with its ID to a peer that requests a resource it does not serve, and its discovery document", async () => {
    const headers = { "X-Remote-User": "jane", "X-Kubernetes-Peer-Proxied": "true" };
    const asPeer = { asProxy: true, token: "", headers };
    const notServed = await retry.call(CLAIMS, asPeer);
    expect([notServed.status, notServed.headers["x-evenkeel-not-served"]]).toEqual([503, "held"]);
    expect((await retry.call("/apis", asPeer)).status).toBe(200);
    expect((await retry.call("/apis/nosuch.example.com", asPeer)).status).toBe(404);
    const absent = await retry.call("/api/v1/namespaces/default/configmaps/nosuch", asPeer);
    expect([absent.status, absent.body.reason]).toEqual([503, "ServiceUnavailable"]);
  });
});
