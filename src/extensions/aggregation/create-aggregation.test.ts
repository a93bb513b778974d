import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";

import { expect, test } from "vitest";

import type { WithUser } from "../../access/auth/user.ts";
import { SILENT_LOG } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { createClient } from "../../client/client.ts";
import { createSystemRandom, createSystemClock } from "../../client/system.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { ApiResponse } from "../../serving/http/message.ts";
import { createOutbound } from "../../serving/http/node/upstream/create-outbound.ts";
import { createServingCertificate } from "../../serving/http/node/serving-certificate.ts";
import { createServices } from "../../access/webhook-client/create-services.ts";
import { outcomeOf, TestSink } from "../../../test/testing/serving/http/node/test-upstream.ts";
import type { RequestOptions } from "../../../test/testing/serving/http/requests.ts";
import { createAggregation, type Aggregation } from "./create-aggregation.ts";
import { FakeApi } from "../../../test/testing/extensions/aggregation/fake-api.ts";
import { remoteObject, userRequest } from "../../../test/testing/extensions/aggregation/fake-outbound.ts";

const NOW_MS = Date.now();
const SERVING = createServingCertificate({ hosts: ["metrics.system.svc"], commonName: "metrics", nowMs: NOW_MS });
const OWN = createServingCertificate({ hosts: [], commonName: "front-proxy", nowMs: NOW_MS, usage: "clientAuth" });
const GROUP_VERSION = "/apis/metrics.example.com/v1";
const PATH = "/apis/apiregistration.k8s.io/v1/apiservices/v1.metrics.example.com";
const APPS: DiscoveryGroup = { name: "apps", versions: [{ version: "v1", freshness: "Current", resources: [] }] };
const HERE: ApiResponse = { status: 299, headers: {}, body: { kind: "none" } };

test("an aggregated server is found by its endpoints, checked, listed in discovery, and called over TLS", async () => {
  await using remote = await aggregatedServer();
  await using running = new Running();
  running.register(remote.port);
  await expect.poll(() => running.shown, POLL).toEqual(["apps Current", "metrics.example.com Current pods"]);
  const response = await running.ask({ url: `${GROUP_VERSION}/namespaces/x/pods?limit=1` });
  expect(response.status).toBe(200);
  const { body } = await outcomeOf({ ...response, headers: [] });
  expect(JSON.parse(body)).toEqual({ user: "jane", groups: "people, admins", peer: "front-proxy" });
  expect((await running.ask({ url: "/apis/apps/v1/deployments" })).status).toBe(299);
  expect(running.api.get(PATH)).toMatchObject({ status: { conditions: [{ status: "True", reason: "Passed" }] } });
});

test("a watch is streamed event by event, and is closed at the aggregated server when its client disconnects", async () => {
  await using remote = await aggregatedServer();
  await using running = new Running();
  running.register(remote.port);
  await expect.poll(() => running.shown, POLL).toContain("metrics.example.com Current pods");
  const { body } = await running.ask({ url: `${GROUP_VERSION}/pods?watch=true` });
  const sink = new TestSink();
  if (body.kind !== "stream") throw new Error("not a stream");
  body.open(sink);
  await expect.poll(() => sink.text, POLL).toBe("one\n");
  remote.next();
  await expect.poll(() => sink.text, POLL).toBe("one\ntwo\n");
  sink.leave();
  await expect.poll(() => remote.watches, POLL).toBe(0);
});

test("while an aggregated server is unreachable, only its own group is stale and returns 503; the group recovers when a new server is registered", async () => {
  const first = await aggregatedServer();
  await using running = new Running();
  running.register(first.port);
  await expect.poll(() => running.shown, POLL).toContain("metrics.example.com Current pods");
  await first[Symbol.asyncDispose]();
  const rejected = { code: 503, details: { retryAfterSeconds: 1 } };
  await expect(running.ask({ url: `${GROUP_VERSION}/pods` })).rejects.toMatchObject(rejected);
  await expect.poll(() => running.shown, POLL).toEqual(["apps Current", "metrics.example.com Stale pods"]);
  await expect(running.ask({ url: `${GROUP_VERSION}/pods` })).rejects.toMatchObject({
    ...rejected,
    message: "service unavailable",
  });
  expect((await running.ask({ url: "/apis/apps/v1/deployments" })).status).toBe(299);
  await using second = await aggregatedServer();
  running.register(second.port);
  await expect.poll(() => running.shown, POLL).toContain("metrics.example.com Current pods");
  running.api.remove(PATH);
  await expect.poll(() => running.shown, POLL).toEqual(["apps Current"]);
});

test("an aggregated server whose certificate is signed by another CA is not trusted", async () => {
  const other = createServingCertificate({ hosts: ["other.svc"], commonName: "other", nowMs: NOW_MS });
  await using remote = await aggregatedServer(other);
  await using running = new Running();
  running.register(remote.port);
  const condition = { reason: "FailedDiscoveryCheck", message: expect.stringContaining("self-signed") };
  await expect.poll(() => running.api.get(PATH), POLL).toMatchObject({ status: { conditions: [condition] } });
});

const POLL = { timeout: 10_000 } as const;

interface AggregatedServer extends AsyncDisposable {
  readonly port: number;
  /** Number of open watches. */
  readonly watches: number;
  /** Sends another chunk to each watch. */
  next(): void;
}

async function aggregatedServer(serving = SERVING): Promise<AggregatedServer> {
  const watches = new Set<{ write(text: string): unknown }>();
  const tls = { cert: serving.certPem, key: serving.keyPem, ca: OWN.caPem, requestCert: true };
  const server: Server = createServer(tls, (request, response) => {
    const { url = "", headers } = request;
    if (url.includes("watch=true")) {
      watches.add(response);
      response.on("close", () => watches.delete(response));
      response.write("one\n");
      return;
    }
    if (url === GROUP_VERSION) {
      const resources = [{ name: "pods", namespaced: true, kind: "PodMetrics", verbs: ["get"], singularName: "" }];
      return void response.end(
        JSON.stringify({ kind: "APIResourceList", groupVersion: "metrics.example.com/v1", resources }),
      );
    }
    const peer = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
    response.end(JSON.stringify({ user: headers["x-remote-user"], groups: headers["x-remote-group"], peer }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    get watches() {
      return watches.size;
    },
    next: () => watches.forEach((watch) => void watch.write("two\n")),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Running {
  readonly api = new FakeApi();
  readonly aggregation: Aggregation;
  readonly #outbound = createOutbound({
    clientCertificate: () => FRONT_PROXY,
    log: () => undefined,
  });
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor() {
    const clock = createSystemClock();
    const random = createSystemRandom();
    const env = { clock, random, log: SILENT_LOG };
    const client = createClient({ transport: this.api, clock, random });
    const services = createServices({ env, client, outbound: this.#outbound, overrides: new Map() });
    this.aggregation = createAggregation({
      ...{ ...env, client, services, metrics: new MetricsRegistry(), outbound: this.#outbound },
      localGroupVersions: () => [],
      isServedElsewhere: () => false,
      mayWriteConditions: () => true,
    });
    const tasks = [...services.tasks, ...this.aggregation.tasks];
    this.#running = Promise.all(tasks.map((task) => task.run(this.#stop.signal)));
  }

  /** Creates an APIService, its Service and one endpoint. */
  register(port: number): void {
    const object = remoteObject();
    const caBundle = Buffer.from(SERVING.caPem).toString("base64");
    this.api.put(PATH, { ...object, spec: { ...object.spec, insecureSkipTLSVerify: false, caBundle } });
    const spec = { type: "ClusterIP", ports: [{ name: "https", port: 443 }] };
    this.api.put("/api/v1/namespaces/system/services/metrics", { spec });
    this.api.put("/apis/discovery.k8s.io/v1/namespaces/system/endpointslices/metrics-1", {
      metadata: { labels: { "kubernetes.io/service-name": "metrics" } },
      addressType: "IPv4",
      ports: [{ name: "https", port }],
      endpoints: [{ addresses: ["127.0.0.1"] }],
    });
  }

  ask(options: RequestOptions): Promise<ApiResponse> {
    const handler = this.aggregation.filter<WithUser>(() => Promise.resolve(HERE));
    return handler(userRequest(options));
  }

  get shown(): string[] {
    return this.aggregation.discoveryGroups(LOCAL).map(({ name, versions: [version] }) => {
      const resources = version!.resources.map(({ resource }) => ` ${resource}`);
      return `${name} ${version!.freshness}${resources.join("")}`;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#outbound.close();
  }
}

const FRONT_PROXY = { cert: OWN.certPem, key: OWN.keyPem };
const LOCAL: readonly DiscoveryGroup[] = [APPS];
