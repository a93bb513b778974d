import { upstreamResponse, jsonUpstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import {
  UpstreamError,
  type UpstreamFailure,
  type UpstreamRequest,
  type UpstreamResponse,
} from "../../serving/http/upstream.ts";
import { World } from "../../tools/simulator/world.ts";
import { createRequestPeer } from "./request-peer.ts";
import { PeerTracker } from "./peer-tracker.ts";
import { createProxyMetrics } from "./proxy-metrics.ts";
import { FakeUpstream } from "../../../test/testing/cluster/peers/fake-upstream.ts";
import { DEFAULT_PEER_TIMING } from "./timing.ts";
import type { KnownPeer } from "./tracked-peer.ts";
import type { PeerView } from "./view.ts";

const WIDGETS = { group: "example.com", version: "v1", resource: "widgets", subresource: "" };
const GADGETS = { ...WIDGETS, resource: "gadgets" };

function knownPeer(more: Partial<KnownPeer> = {}): KnownPeer {
  return {
    id: "b",
    incarnation: "one",
    isKubeApiserver: false,
    release: "1.36",
    address: { host: "127.0.0.1", port: 1 },
    isDraining: false,
    documentHash: "hash",
    ...more,
  };
}

function documentWith(resource: string, headers: readonly string[] = []): UpstreamResponse {
  const resources = [{ resource, responseKind: {}, scope: "Namespaced", singularResource: "x", verbs: ["get"] }];
  const versions = [{ version: "v1", freshness: "Current", resources }];
  return aggregated([{ metadata: { name: "example.com" }, versions }], resource, headers);
}

function aggregated(items: readonly object[], etag: string, headers: readonly string[] = []): UpstreamResponse {
  const body = { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", items };
  return jsonUpstreamResponse(body, ["ETag", etag, ...headers]);
}

class Scene implements AsyncDisposable {
  readonly world = new World({ seed: 1 });
  readonly metrics = new MetricsRegistry();
  readonly upstream = new FakeUpstream((request) => this.#answer(request));
  readonly tracker: PeerTracker;
  serves = "widgets";
  /** Requests for these targets get no response. */
  isSilent: (target: string) => boolean = () => false;
  isRefusing: (target: string) => boolean = () => false;
  rejection: UpstreamFailure = "connect";
  /** The response to /version; undefined if the peer rejects the request. */
  version: object | undefined = { major: "1", minor: "33", gitVersion: "v1.33.13" };
  /** Custom resources that this server has not read from the store. */
  unread: readonly string[] = [];
  changes = 0;
  /** The status of responses to requests for the discovery document. */
  documentStatus = 200;
  /** The run in which the peer says that it responds. */
  run = "one";
  /** Called for each request without a response, with a function that breaks it off. */
  onPending: (breakOff: () => void) => void = () => {};
  /** Warnings, with their fields. */
  readonly logged: [message: string, fields: unknown][] = [];

  constructor() {
    const { clock } = this.world;
    this.tracker = new PeerTracker({
      clock,
      random: this.world.randomFor("tracker"),
      log: { ...SILENT_LOG, warn: (message, fields) => void this.logged.push([message, fields]) },
      upstream: this.upstream,
      ask: createRequestPeer({ upstream: this.upstream, clock }),
      timing: DEFAULT_PEER_TIMING,
      metrics: createProxyMetrics(this.metrics),
      listsUnread: (groups) => this.unread.some((name) => JSON.stringify(groups).includes(name)),
      onChange: () => void this.changes++,
    });
  }

  get view(): PeerView {
    return this.tracker.views()[0]!;
  }

  /** Returns how often this target was requested since the last call. */
  asked(target: string): number {
    return this.upstream.requests.splice(0).filter((request) => request.target === target).length;
  }

  #answer(request: UpstreamRequest): UpstreamResponse | Promise<UpstreamResponse> {
    const { target, signal, headers } = request;
    if (this.isSilent(target))
      return new Promise((_, reject) => {
        this.onPending(() => reject(new UpstreamError("reset", "broken off", { isSent: true })));
        signal.addEventListener("abort", () =>
          reject(new UpstreamError("aborted", "the request was aborted", { isSent: true })),
        );
      });
    if (this.isRefusing(target)) throw new UpstreamError(this.rejection, "refused", { isSent: false });
    if (target.startsWith("/api") && this.documentStatus !== 200) return upstreamResponse(this.documentStatus);
    if (target === "/version")
      return this.version === undefined ? upstreamResponse(403) : jsonUpstreamResponse(this.version);
    if (target.startsWith("/readyz")) return upstreamResponse(200, [], "[+]poststarthook/other ok\n");
    const run = ["x-evenkeel-server-run", this.run];
    if (target === "/api") return headers.includes("core") ? upstreamResponse(304, run) : aggregated([], "core");
    if (target !== "/apis") return upstreamResponse(200, [], "ok");
    return headers.includes(this.serves) ? upstreamResponse(304, run) : documentWith(this.serves, run);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tracker.stop();
  }
}

const SILENT = new UpstreamError("timeout", "no answer", { isSent: true });

async function described(known = knownPeer()): Promise<Scene> {
  const scene = new Scene();
  scene.tracker.update([known]);
  await scene.world.advance(600);
  scene.upstream.requests.length = 0;
  return scene;
}

describe("a peer", () => {
  test("is known at once, and then becomes reachable and described; the view is the same value until something changes", async () => {
    await using scene = new Scene();
    scene.tracker.update([knownPeer()]);
    expect(scene.view).toMatchObject({ id: "b", isReachable: false, isDescribed: false, document: undefined });
    expect([scene.changes, scene.tracker.haveBeenAttempted]).toEqual([1, false]);
    await scene.world.advance(0);
    expect(scene.view).toMatchObject({ release: "1.36", isReachable: true, isDescribed: true, isDraining: false });
    expect(scene.view.document?.served.has(WIDGETS)).toBe(true);
    expect(scene.tracker.haveBeenAttempted).toBe(true);
    const { changes } = scene;
    const views = scene.tracker.views();
    await scene.world.advance(10_000);
    expect(scene.tracker.views()).toBe(views);
    expect(scene.changes).toBe(changes);
    expect(scene.tracker.sources()).toMatchObject([{ serverId: "b", release: "1.36", isReachable: true }]);
  });

  test("is asked for its document at short intervals, for half a minute, if the document lists a custom resource that this server has not read", async () => {
    await using scene = new Scene();
    scene.unread = ["widgets"];
    scene.tracker.update([knownPeer({ documentHash: undefined })]);
    await scene.world.advance(5_000);
    expect(scene.asked("/apis")).toBeGreaterThan(5);
    scene.serves = "gadgets";
    await scene.world.advance(1_000);
    expect(scene.view.document?.served.has(WIDGETS)).toBe(false);
    scene.asked("/apis");
    await scene.world.advance(30_000);
    expect(scene.asked("/apis")).toBe(0);
    scene.unread = ["gadgets"];
    await scene.world.advance(60_000);
    expect(scene.asked("/apis")).toBe(1);
  });

  test.each([
    ["with an endpoint record is not", "one", false],
    ["with only an identity lease, which any client can forge, is", undefined, true],
  ])("%s described by a response of another run", async (_peer, recordedRun, isDescribed) => {
    await using scene = new Scene();
    scene.run = "two";
    scene.tracker.update([knownPeer({ recordedRun })]);
    await scene.world.advance(600);
    expect(scene.view).toMatchObject({ isReachable: true, isDescribed });
  });

  test("without an address is not called and does not delay readiness", async () => {
    await using scene = new Scene();
    scene.tracker.update([knownPeer({ address: undefined })]);
    await scene.world.advance(5_000);
    expect(scene.upstream.requests).toEqual([]);
    expect(scene.tracker.haveBeenAttempted).toBe(true);
    scene.tracker.update([knownPeer()]);
    expect(scene.tracker.haveBeenAttempted).toBe(false);
    await scene.world.advance(600);
    expect(scene.view).toMatchObject({ isReachable: true, isDescribed: true });
  });

  test("is probed at a fixed interval", async () => {
    await using scene = await described();
    await scene.world.advance(10_000);
    expect(scene.asked("/livez/ping")).toBe(20);
  });

  test("without changes causes no notification", async () => {
    await using scene = await described();
    const { changes } = scene;
    scene.tracker.update([knownPeer()]);
    expect(scene.changes).toBe(changes);
    scene.tracker.update([knownPeer({ isDraining: true })]);
    expect(scene.changes).toBe(changes + 1);
    expect(scene.view.isDraining).toBe(true);
    await scene.world.advance(400);
    expect(scene.asked("/apis")).toBe(0);
  });
});

describe("a peer that does not respond", () => {
  test("is unreachable after two misses, keeps its last good document, and is reachable again after one response", async () => {
    await using scene = await described();
    scene.isRefusing = () => true;
    await scene.world.advance(400);
    expect(scene.view.isReachable).toBe(true);
    await scene.world.advance(500);
    expect(scene.view).toMatchObject({ isReachable: false, isDescribed: true });
    expect(scene.view.document?.served.has(WIDGETS)).toBe(true);
    expect(scene.upstream.disconnected).toEqual([{ host: "127.0.0.1", port: 1 }]);
    expect(scene.metrics.render()).toContain('evenkeel_peer_probe_failures_total{peer="b"} 2');
    expect(scene.tracker.sources()).toMatchObject([{ serverId: "b", isReachable: false }]);
    scene.isRefusing = () => false;
    scene.serves = "gadgets";
    await scene.world.advance(500);
    expect(scene.view.isReachable).toBe(true);
    expect(scene.view.document?.served.has(GADGETS)).toBe(true);
  });

  test.each([
    ["refuses connections", { isSent: false, isRefused: true }, "connect"],
    ["closes connections", { isSent: true }, "reset"],
  ] as const)(
    "because it %s is unreachable, and requests that it has accepted continue",
    async (_how, options, failure) => {
      await using scene = await described();
      for (let miss = 0; miss < 5; miss++) scene.tracker.reportMiss("b", new UpstreamError(failure, failure, options));
      expect(scene.view.isReachable).toBe(false);
      expect(scene.upstream.disconnected).toEqual([]);
      scene.tracker.reportMiss("b", SILENT);
      expect(scene.upstream.disconnected).toEqual([{ host: "127.0.0.1", port: 1 }]);
    },
  );

  test("because the local server has no free connections stays reachable, and open connections continue", async () => {
    await using scene = new Scene();
    scene.tracker.update([knownPeer()]);
    await scene.world.advance(1_000);
    expect(scene.view.isReachable).toBe(true);
    scene.isRefusing = () => true;
    scene.rejection = "exhausted";
    await scene.world.advance(10_000);
    expect(scene.view.isReachable).toBe(true);
    scene.rejection = "connect";
    await scene.world.advance(1_500);
    expect(scene.view.isReachable).toBe(false);
  });

  test("but keeps its connections open is unreachable after two probe timeouts, with at most four probes pending", async () => {
    await using scene = await described();
    scene.isSilent = () => true;
    await scene.world.advance(1_300);
    expect(scene.view.isReachable).toBe(true);
    await scene.world.advance(700);
    expect(scene.view.isReachable).toBe(false);
    const waiting = scene.upstream.requests.filter(({ signal }) => !signal.aborted);
    expect(waiting.length).toBeLessThanOrEqual(4);
  });

  test("is judged by requests as well as by probes, and any response resets the number of misses", async () => {
    await using scene = await described();
    scene.tracker.reportMiss("b", SILENT);
    scene.tracker.reportResponse("b");
    scene.tracker.reportMiss("b", SILENT);
    expect(scene.view.isReachable).toBe(true);
    scene.tracker.reportMiss("b", SILENT);
    expect(scene.view.isReachable).toBe(false);
    scene.tracker.reportResponse("b");
    expect(scene.view.isReachable).toBe(true);
    scene.tracker.reportMiss("nobody", SILENT);
    scene.tracker.reportResponse("nobody");
  });
});

describe("the reason why a peer is unreachable", () => {
  const refused = new UpstreamError("connect", "no", { isSent: false, isRefused: true });
  const expired = new UpstreamError("tls", "no", {
    isSent: false,
    cause: Object.assign(new Error("x"), { code: "CERT_HAS_EXPIRED" }),
  });

  test("is in the view and the log from the miss that makes it unreachable until it responds", async () => {
    await using scene = await described();
    scene.isSilent = () => true;
    await scene.world.advance(10_000);
    expect(scene.view.unreachableBecause).toBe("no response for 1 s");
    expect(scene.logged).toEqual([["peer unreachable", { peer: "b", reason: "no response for 1 s" }]]);
    scene.isSilent = () => false;
    await scene.world.advance(500);
    expect(scene.view).toMatchObject({ isReachable: true, unreachableBecause: undefined });
  });

  test("is reported for a peer that was never reachable, and for one without an address", async () => {
    await using scene = new Scene();
    scene.tracker.update([knownPeer({ address: undefined })]);
    expect(scene.view.unreachableBecause).toBe("no address published");
    scene.isRefusing = () => true;
    scene.tracker.update([knownPeer()]);
    await scene.world.advance(5_000);
    expect(scene.view).toMatchObject({ isReachable: false, unreachableBecause: "no connection" });
    expect(scene.logged.filter(([message]) => message === "peer unreachable")).toHaveLength(1);
  });

  test("changes when as many misses as make a peer unreachable have another reason, not with each miss", async () => {
    await using scene = await described();
    scene.isSilent = () => true;
    for (const error of [refused, refused]) scene.tracker.reportMiss("b", error);
    const { changes } = scene;
    for (const error of [expired, refused, expired, refused, expired]) scene.tracker.reportMiss("b", error);
    expect([scene.view.unreachableBecause, scene.changes]).toEqual(["no connection", changes]);
    scene.tracker.reportMiss("b", expired);
    expect([scene.view.unreachableBecause, scene.changes]).toEqual(["TLS: certificate expired", changes + 1]);
  });

  test("is not the reset of the probes that this server has broken off itself", async () => {
    await using scene = await described();
    const pending: (() => void)[] = [];
    scene.upstream.onDisconnect = () => pending.splice(0).forEach((breakOff) => breakOff());
    scene.onPending = (breakOff) => void pending.push(breakOff);
    scene.isSilent = () => true;
    await scene.world.advance(30_000);
    expect(scene.upstream.disconnected.length).toBeGreaterThan(5);
    expect(scene.view.unreachableBecause).toBe("no response for 1 s");
    expect(scene.logged).toHaveLength(1);
  });

  test("is separate from the reason why its discovery document is missing", async () => {
    await using scene = new Scene();
    scene.documentStatus = 401;
    scene.tracker.update([knownPeer()]);
    await scene.world.advance(1_000);
    const undescribedBecause = "HTTP 401: not accepted as a peer";
    expect(scene.view).toMatchObject({ isReachable: true, unreachableBecause: undefined, undescribedBecause });
    scene.documentStatus = 200;
    await scene.world.advance(60_000);
    expect(scene.view).toMatchObject({ isDescribed: true, undescribedBecause: undefined });
  });
});

test("connections to a draining peer are not reused", async () => {
  await using scene = await described();
  scene.tracker.update([knownPeer({ isDraining: true })]);
  expect(scene.upstream.retired).toEqual([{ host: "127.0.0.1", port: 1 }]);
  scene.tracker.update([knownPeer({ isDraining: true, documentHash: "other" })]);
  expect(scene.upstream.retired).toHaveLength(1);
  expect(scene.upstream.disconnected).toEqual([]);
});

test("requests in flight to a peer that was draining are not aborted when its lease ends", async () => {
  await using scene = await described();
  scene.tracker.update([knownPeer({ isDraining: true })]);
  scene.tracker.update([]);
  expect(scene.upstream.disconnected).toEqual([]);
});

describe("the discovery document of a peer", () => {
  test.each([
    { what: "restarted", change: { incarnation: "two" } },
    { what: "serves other resources", change: { documentHash: "other" } },
  ])("is fetched again when the peer $what, and is not current until then", async ({ change }) => {
    await using scene = await described();
    scene.serves = "gadgets";
    scene.tracker.update([knownPeer(change)]);
    expect(scene.view).toMatchObject({ isReachable: true, isDescribed: false });
    expect(scene.view.document?.served.has(WIDGETS)).toBe(true);
    await scene.world.advance(0);
    expect(scene.view.isDescribed).toBe(true);
    expect(scene.view.document?.served.has(WIDGETS)).toBe(false);
    expect(scene.view.document?.served.has(GADGETS)).toBe(true);
  });

  test("is fetched at the new address when the address changes, and the old connections are closed", async () => {
    await using scene = await described();
    scene.tracker.update([knownPeer({ address: { host: "127.0.0.1", port: 2 } })]);
    await scene.world.advance(0);
    expect(scene.upstream.disconnected).toEqual([{ host: "127.0.0.1", port: 1 }]);
    expect(
      scene.upstream.requests.filter(({ target }) => target === "/apis").map(({ address }) => address.port),
    ).toEqual([2]);
  });

  test("is ignored if the peer has restarted since the request", async () => {
    await using scene = await described();
    scene.isSilent = (target) => target.startsWith("/api");
    scene.tracker.update([knownPeer({ incarnation: "two" })]);
    await scene.world.advance(100);
    scene.tracker.update([knownPeer({ incarnation: "three" })]);
    expect(scene.view.isDescribed).toBe(false);
    scene.isSilent = () => false;
    await scene.world.advance(6_000);
    expect(scene.view.isDescribed).toBe(true);
  });

  test("is fetched about every minute, and once at the start", async () => {
    await using scene = new Scene();
    scene.tracker.update([knownPeer()]);
    await scene.world.advance(40_000);
    expect(scene.asked("/apis")).toBeLessThanOrEqual(2);
    await scene.world.advance(600_000);
    const requests = scene.asked("/apis");
    expect(requests).toBeGreaterThanOrEqual(8);
    expect(requests).toBeLessThanOrEqual(14);
  });

  test("is fetched again soon after a failure, and then with backoff, without limit", async () => {
    await using scene = new Scene();
    scene.isRefusing = (target) => target === "/apis";
    scene.tracker.update([knownPeer()]);
    await scene.world.advance(1_000);
    expect(scene.tracker.haveBeenAttempted).toBe(true);
    expect(scene.view).toMatchObject({ isReachable: true, isDescribed: false, document: undefined });
    expect(scene.asked("/apis")).toBeGreaterThanOrEqual(3);
    await scene.world.advance(3_600_000);
    scene.asked("/apis");
    await scene.world.advance(600_000);
    const asked = scene.asked("/apis");
    expect(asked).toBeGreaterThanOrEqual(14);
    expect(asked).toBeLessThanOrEqual(28);
    scene.isRefusing = () => false;
    await scene.world.advance(40_000);
    expect(scene.view.isDescribed).toBe(true);
  });
});

describe("all peers", () => {
  test("are listed by ID, and a departed peer is not called again", async () => {
    await using scene = await described();
    scene.tracker.update([knownPeer({ id: "c", address: { host: "127.0.0.1", port: 2 } }), knownPeer()]);
    await scene.world.advance(600);
    expect(scene.tracker.views().map(({ id }) => id)).toEqual(["b", "c"]);
    scene.tracker.update([knownPeer({ id: "c", address: { host: "127.0.0.1", port: 2 } })]);
    expect(scene.tracker.views().map(({ id }) => id)).toEqual(["c"]);
    expect(scene.upstream.disconnected).toEqual([{ host: "127.0.0.1", port: 1 }]);
    scene.upstream.requests.length = 0;
    await scene.world.advance(5_000);
    expect(new Set(scene.upstream.ports)).toEqual(new Set([2]));
  });

  test("are not called after the tracker has stopped; pending calls are aborted, and no timer is left", async () => {
    const scene = await described();
    scene.isSilent = () => true;
    scene.tracker.update([knownPeer({ incarnation: "two" })]);
    await scene.world.advance(600);
    await scene.tracker.stop();
    expect(scene.upstream.requests.every(({ signal }) => signal.aborted)).toBe(true);
    scene.tracker.update([knownPeer({ id: "c" })]);
    await expect(scene.world.run(new Promise(() => {}))).rejects.toThrow("no event is left");
    expect(scene.tracker.views().map(({ id }) => id)).toEqual(["b"]);
  });
});

describe("a kube-apiserver", () => {
  const kube = knownPeer({ isKubeApiserver: true, release: undefined, documentHash: undefined });

  test("has the release that it reports, and this server knows whether it proxies requests", async () => {
    await using scene = await described(kube);
    expect(scene.view).toMatchObject({
      release: "1.33",
      kube: { version: { binaryVersion: "1.33.13" }, assumedRelease: undefined, proxiesToPeers: false },
    });
    expect(scene.tracker.sources()).toMatchObject([
      { release: "1.33", binaryVersion: "1.33.13", isKubeApiserver: true },
    ]);
  });

  test("that does not report its release has one that its discovery document suggests", async () => {
    await using scene = new Scene();
    scene.version = undefined;
    scene.tracker.update([kube]);
    await scene.world.advance(600);
    expect(scene.view).toMatchObject({ release: undefined, isDescribed: true, kube: { assumedRelease: "1.32" } });
  });

  test("that restarted as another release has the new release as soon as it is described again", async () => {
    await using scene = await described(kube);
    scene.version = { major: "1", minor: "36", gitVersion: "v1.36.4" };
    scene.tracker.update([{ ...kube, incarnation: "two" }]);
    expect(scene.view.isDescribed).toBe(false);
    await scene.world.advance(600);
    expect(scene.view).toMatchObject({ release: "1.36", isDescribed: true });
  });
});

test("an Evenkeel server is not asked for its version, because it publishes its release", async () => {
  await using scene = new Scene();
  scene.tracker.update([knownPeer()]);
  await scene.world.advance(600);
  expect(scene.view.kube).toBeUndefined();
  expect(scene.asked("/version")).toBe(0);
});
