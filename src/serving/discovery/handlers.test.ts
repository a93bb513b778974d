import { describe, expect, test } from "vitest";
import { MetricsRegistry } from "../../base/metrics.ts";
import type { ApiResponse, RequestHeaders } from "../http/message.ts";
import { bodyJson, infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { isReason, StatusError } from "../../meta/status-error.ts";
import type { DiscoveryGroup } from "./groups.ts";
import { discoveryHandler, type DiscoveryOptions, type DiscoveryRequest } from "./handlers.ts";
import type { DiscoverySource } from "./merge.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { group, resource, source, version } from "../../../test/testing/serving/discovery/documents.ts";

const V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const V2BETA1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
const NO_PEER = `${V2};profile=nopeer`;

const LOCAL = [group("", "v1"), group("apps", "v1")];
const PEER = [
  group("", version("v1", "pods")),
  group("apps", version("v1", resource("deployments", { storageVersionHash: "hash" }))),
  group("batch", "v1"),
];

interface World {
  local: readonly DiscoveryGroup[];
  peers: readonly DiscoverySource[] | "off";
  generation: number;
  readonly metrics: MetricsRegistry;
  ask(path: string, headers?: RequestHeaders, more?: Partial<DiscoveryRequest>): ApiResponse;
}

function world(options: Partial<DiscoveryOptions> = {}): World {
  const metrics = new MetricsRegistry();
  const state: World = {
    local: LOCAL,
    peers: [source("peer", PEER)],
    generation: 0,
    metrics,
    ask(path, headers = {}, more = {}) {
      const response = handle({ ...infoRequest({ url: path, headers }), isVerifiedPeer: false, ...more });
      if (response === undefined) throw new Error("not a path of discovery");
      return response;
    },
  };
  const handle = discoveryHandler({
    self: { id: "self", release: "1.36" },
    gates: gatesOf("1.36"),
    servesAggregated: true,
    local: () => state.local,
    peers: () => state.peers,
    generation: () => state.generation,
    mode: "merged",
    mergeScope: "all",
    hasUndescribed: () => false,
    serverAddress: () => "192.0.2.1:6443",
    metrics,
    ...options,
  });
  return state;
}

type Json = any; // oxlint-disable-line typescript/no-explicit-any -- response bodies have no declared type
const body = (answer: ApiResponse): Json => bodyJson(answer);
const groupsOf = (answer: ApiResponse): string[] => body(answer).items.map(({ metadata }: Json) => metadata.name ?? "");
const etagOf = ({ headers }: ApiResponse): string => String(headers["etag"]);
const counters = ({ metrics }: World): Record<string, number> =>
  Object.fromEntries(
    [...metrics.render().matchAll(/^aggregator_discovery_(\w+)_total (\d+)$/gm)].map(([, name, value]) => [
      name,
      Number(value),
    ]),
  );

describe("the discovery documents of a cluster", () => {
  const both = ["apps", "batch"];
  test.each<[string, string[], string, Partial<DiscoveryOptions & DiscoveryRequest>]>([
    ["the groups of all servers", both, V2, {}],
    ["the groups of all servers for an unknown profile", both, `${V2};profile=foo`, {}],
    ["the groups of all servers for NOPEER, which is an unknown profile", both, `${V2};profile=NOPEER`, {}],
    ["the groups of this server for profile=nopeer", ["apps"], NO_PEER, {}],
    ["the groups of this server when nopeer is preferred", ["apps"], `${NO_PEER},${V2},application/json`, {}],
    ["the groups of all servers when nopeer is the second choice", both, `${NO_PEER};q=0.5,${V2}`, {}],
    ["the groups of this server in mode local", ["apps"], V2, { mode: "local" }],
    ["the groups of this server when peers are off", ["apps"], V2, { peers: () => "off" }],
    ["the groups of this server for a request from a peer", ["apps"], V2, { isVerifiedPeer: true }],
    ["the groups of all servers in scope aggregated", both, V2, { mergeScope: "aggregated" }],
  ])("/apis shows %s", (_what, expected, accept, { isVerifiedPeer = false, ...options }) => {
    expect(groupsOf(world(options).ask("/apis", { accept }, { isVerifiedPeer }))).toEqual(expected);
  });

  test("have only the legacy form if aggregated discovery is off, except for peers", () => {
    const state = world({ servesAggregated: false });
    for (const path of ["/apis", "/api"]) {
      const kind = path === "/apis" ? "APIGroupList" : "APIVersions";
      expect(body(state.ask(path, { accept: `${V2},application/json` })).kind).toBe(kind);
      expect(() => state.ask(path, { accept: V2 })).toThrow("only the following media types are accepted");
      expect(body(state.ask(path, { accept: V2 }, { isVerifiedPeer: true })).kind).toBe("APIGroupDiscoveryList");
    }
  });

  test("the groups of two peers are added to those of this server", () => {
    const state = world();
    state.peers = [source("one", [group("batch", "v1")]), source("two", [group("policy", "v1")])];
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "batch", "policy"]);
  });

  test("a server without groups shows those of its peers", () => {
    const state = world({ local: () => [] });
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "batch"]);
  });

  test("the core group is merged in all its forms", () => {
    const state = world();
    const [core] = body(state.ask("/api", { accept: V2 })).items;
    expect(core.versions[0].resources.map((item: Json) => item.resource)).toEqual(["pods", "things"]);
    expect(body(state.ask("/api/v1")).resources.map(({ name }: Json) => name)).toEqual(["pods", "things"]);
    expect(body(state.ask("/api"))).toEqual({
      kind: "APIVersions",
      versions: ["v1"],
      serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: "192.0.2.1:6443" }],
    });
  });

  test("legacy forms include resources that only peers serve", () => {
    const state = world();
    expect(body(state.ask("/apis")).groups.map(({ name }: Json) => name)).toEqual(["apps", "batch"]);
    expect(body(state.ask("/apis/batch"))).toMatchObject({ kind: "APIGroup", preferredVersion: { version: "v1" } });
    const { resources } = body(state.ask("/apis/apps/v1"));
    expect(resources).toMatchObject([{ name: "deployments", storageVersionHash: "hash" }, { name: "things" }]);
  });

  test.each<[string, Partial<DiscoveryOptions>, Partial<DiscoveryRequest>]>([
    ["in scope aggregated", { mergeScope: "aggregated" }, {}],
    ["in mode local", { mode: "local" }, {}],
    ["for a request from a peer", {}, { isVerifiedPeer: true }],
  ])("legacy forms and /api show only the resources of this server %s", (_when, options, more) => {
    const state = world(options);
    expect(body(state.ask("/apis", {}, more)).groups.map(({ name }: Json) => name)).toEqual(["apps"]);
    expect(state.ask("/apis/batch", {}, more).status).toBe(404);
    expect(() => state.ask("/apis/apps/v2", {}, more)).toThrow("could not find");
    const [core] = body(state.ask("/api", { accept: V2 }, more)).items;
    expect(core.versions[0].resources.map((item: Json) => item.resource)).toEqual(["things"]);
  });

  test("a group version that no server serves is not found", () => {
    const state = world();
    expect(state.ask("/apis/nothing").status).toBe(404);
    expect(() => state.ask("/apis/apps/v9")).toThrow("could not find");
    expect(() => state.ask("/api/v2")).toThrow("could not find");
  });

  test("a group version that only an unreachable peer serves is Stale in aggregated discovery and 503, not 404, in legacy discovery", () => {
    const state = world();
    state.peers = [source("peer", PEER, { isReachable: false })];
    const { items } = body(state.ask("/apis", { accept: V2 }));
    expect(items.map(({ versions }: Json) => versions[0].freshness)).toEqual(["Current", "Stale"]);
    expect(items[1].versions[0].resources).toHaveLength(1);
    expect(state.ask("/apis/batch").status).toBe(200);
    let thrown: unknown;
    try {
      state.ask("/apis/batch/v1");
    } catch (error) {
      thrown = error;
    }
    expect(isReason(thrown, "ServiceUnavailable")).toBe(true);
  });

  test("all servers of a cluster return equal documents", () => {
    const other = world({ self: { id: "peer", release: "1.37" }, local: () => PEER });
    other.peers = [source("self", LOCAL)];
    const own = world();
    own.peers = [source("peer", PEER, { release: "1.37" })];
    for (const [path, accept] of [
      ["/apis", V2],
      ["/api", V2],
      ["/apis", ""],
      ["/apis/apps", ""],
      ["/apis/apps/v1", ""],
      ["/api", ""],
    ] as const)
      expect(body(own.ask(path, { accept }))).toEqual(body(other.ask(path, { accept })));
    expect(etagOf(own.ask("/apis", { accept: V2 }))).toBe(etagOf(other.ask("/apis", { accept: V2 })));
  });

  test("without peers, and with a peer that has the same groups, the merged document equals the local one, including its ETag", () => {
    const state = world();
    state.peers = [];
    expect(state.ask("/apis", { accept: V2 })).toEqual(state.ask("/apis", { accept: NO_PEER }));
    state.generation++;
    state.peers = [source("peer", structuredClone(LOCAL))];
    expect(state.ask("/apis", { accept: V2 })).toEqual(state.ask("/apis", { accept: NO_PEER }));
  });

  test("storage version hashes are sent to other servers, but not to clients of aggregated discovery", () => {
    const state = world({ local: () => PEER });
    const first = (response: ApiResponse): Json => body(response).items[0].versions[0].resources[0];
    expect(first(state.ask("/apis", { accept: NO_PEER }, { isVerifiedPeer: true })).storageVersionHash).toBe("hash");
    expect(first(state.ask("/apis", { accept: NO_PEER }))).not.toHaveProperty("storageVersionHash");
    expect(first(state.ask("/apis", { accept: V2 }))).not.toHaveProperty("storageVersionHash");
  });
});

describe("negotiation of the discovery form", () => {
  test.each(["application/json;foo=bar", "", "application/json", "*/*"])(
    "Accept: %s selects the legacy form",
    (accept) => {
      expect(body(world().ask("/apis", { accept })).kind).toBe("APIGroupList");
    },
  );

  test.each<[release: ReleaseName, accept: string, expected: string]>([
    ["1.28", V2BETA1, "v2beta1"],
    ["1.32", `${V2BETA1},application/json`, "v2beta1"],
    ["1.32", `${V2},${V2BETA1},application/json`, "v2"],
    ["1.28", V2, "v2"],
    ["1.33", `${V2BETA1},${V2}`, "v2"],
    ["1.36", `${V2BETA1};profile=nopeer,${V2}`, "v2"],
  ])("release %s responds to %s with %s", (release, accept, expected) => {
    const response = world({ self: { id: "self", release }, gates: gatesOf(release) }).ask("/apis", { accept });
    expect(response.headers["content-type"]).toBe(expected === "v2" ? V2 : V2BETA1);
    expect(body(response)).toMatchObject({
      kind: "APIGroupDiscoveryList",
      apiVersion: `apidiscovery.k8s.io/${expected}`,
    });
  });

  test("a release without v2beta1 rejects Accept: v2beta1, or returns the next accepted form", () => {
    expect(body(world().ask("/apis", { accept: `${V2BETA1},application/json` })).kind).toBe("APIGroupList");
    expect(() => world().ask("/apis", { accept: V2BETA1 })).toThrow("only the following media types are accepted");
  });

  test("the body ends with a line break, and the ETag is 128 hexadecimal digits in quotes", () => {
    const { headers, body: bytes } = world().ask("/apis", { accept: V2 });
    expect(headers).toMatchObject({ vary: "Accept", "cache-control": "public" });
    expect(headers["etag"]).toMatch(/^"[0-9A-F]{128}"$/);
    expect(bytes.kind === "bytes" && Buffer.concat(bytes.chunks).toString().endsWith("]}\n")).toBe(true);
  });

  test.each([
    [(etag: string) => etag, 304],
    [(etag: string) => `W/${etag}`, 304],
    [(etag: string) => `"other", ${etag}`, 304],
    [(etag: string) => `"other",W/${etag} , "a,b"`, 304],
    [() => "*", 304],
    [() => '"other"', 200],
    [() => '"other", W/"another"', 200],
    [(etag: string) => etag.slice(1, -1), 200],
    [(etag: string) => etag.slice(0, -1), 200],
    [() => "", 200],
    [() => '"*"', 200],
  ])("If-None-Match: %s returns %d", (header, status) => {
    const state = world();
    const etag = etagOf(state.ask("/apis", { accept: V2 }));
    const response = state.ask("/apis", { accept: V2, "if-none-match": header(etag) });
    expect(response.status).toBe(status);
    expect(etagOf(response)).toBe(etag);
    if (status === 304) {
      expect(response.body.kind).toBe("none");
      expect(response.headers).toMatchObject({ vary: "Accept", "cache-control": "public" });
    }
  });

  test("a client that sends an outdated ETag receives the new document", () => {
    const state = world();
    const etag = etagOf(state.ask("/apis", { accept: V2 }));
    state.peers = [];
    state.generation++;
    const response = state.ask("/apis", { accept: V2, "if-none-match": etag });
    expect(response.status).toBe(200);
    expect(etagOf(response)).not.toBe(etag);
  });

  test("500 different Accept headers are parsed correctly, although the cache of parsed headers is smaller", () => {
    const state = world();
    for (let index = 0; index < 500; index++)
      expect(groupsOf(state.ask("/apis", { accept: `${NO_PEER};x=${index}` }))).toEqual(["apps"]);
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "batch"]);
  });
});

describe("the cached merged document", () => {
  test("counts cache hits, cache misses and nopeer requests", () => {
    const state = world();
    for (let count = 0; count < 3; count++) state.ask("/apis", { accept: V2 });
    for (let count = 0; count < 2; count++) state.ask("/apis", { accept: NO_PEER });
    state.ask("/api", { accept: NO_PEER });
    expect(counters(state)).toEqual({
      aggregation_count: 1,
      peer_aggregated_cache_hits: 2,
      peer_aggregated_cache_misses: 1,
      nopeer_requests: 3,
    });
  });

  test("counts neither hits nor misses if the server never has peers", () => {
    const state = world({ peers: () => "off" });
    state.ask("/apis", { accept: V2 });
    state.ask("/apis", { accept: V2 });
    expect(counters(state)).toMatchObject({ peer_aggregated_cache_hits: 0, peer_aggregated_cache_misses: 0 });
  });

  test("serves all forms from one merge", () => {
    let builds = 0;
    const state = world({ peers: () => (builds++, [source("peer", PEER)]) });
    for (const [path, accept] of [
      ["/apis", V2],
      ["/api", V2],
      ["/apis", ""],
      ["/apis/apps/v1", ""],
    ] as const)
      state.ask(path, { accept });
    expect(builds).toBe(1);
  });

  test("has an ETag that depends only on the content", () => {
    const state = world();
    const etag = etagOf(state.ask("/apis", { accept: V2 }));
    state.generation++;
    expect(etagOf(state.ask("/apis", { accept: V2 }))).toBe(etag);
    const { peers } = state;
    state.peers = [source("peer", [group("policy", "v1")])];
    state.generation++;
    expect(etagOf(state.ask("/apis", { accept: V2 }))).not.toBe(etag);
    state.peers = peers;
    state.generation++;
    expect(etagOf(state.ask("/apis", { accept: V2 }))).toBe(etag);
  });

  test("is rebuilt without the groups of the last peer when that peer departs", () => {
    const state = world();
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "batch"]);
    state.peers = [];
    state.generation++;
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps"]);
  });

  test("is rebuilt when a local group is added or removed, without a change of the generation", () => {
    const state = world();
    state.ask("/apis", { accept: V2 });
    state.local = [...LOCAL, group("example.com", "v1")];
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "batch", "example.com"]);
    expect(groupsOf(state.ask("/apis", { accept: NO_PEER }))).toEqual(["apps", "example.com"]);
    state.local = LOCAL;
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "batch"]);
    expect(groupsOf(state.ask("/apis", { accept: NO_PEER }))).toEqual(["apps"]);
  });

  test("is rebuilt at the next request if the peers change during the build", () => {
    let isFirst = true;
    const state: World = world({
      peers: () => {
        const seen = state.peers;
        if (isFirst) {
          isFirst = false;
          state.peers = [source("peer", [group("policy", "v1")])];
          state.generation++;
        }
        return seen;
      },
    });
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "batch"]);
    expect(groupsOf(state.ask("/apis", { accept: V2 }))).toEqual(["apps", "policy"]);
  });

  test("shows a server address that becomes known later", () => {
    let address = "localhost";
    const state = world({ serverAddress: () => address });
    state.ask("/api");
    address = "192.0.2.7:6443";
    expect(body(state.ask("/api")).serverAddressByClientCIDRs[0].serverAddress).toBe(address);
  });
});

test("an unserved group returns 503 while a live server has not published its discovery document", () => {
  const ask = (hasUndescribed: boolean, target: string): number => {
    try {
      return world({ hasUndescribed: () => hasUndescribed }).ask(target).status;
    } catch (thrown) {
      return StatusError.from(thrown).code;
    }
  };
  expect(["/apis/nope.io", "/apis/nope.io/v1", "/apis/apps/v9"].map((path) => ask(true, path))).toEqual([
    503, 503, 503,
  ]);
  expect(["/apis/nope.io", "/apis/nope.io/v1", "/apis/apps/v9"].map((path) => ask(false, path))).toEqual([
    404, 404, 404,
  ]);
});
