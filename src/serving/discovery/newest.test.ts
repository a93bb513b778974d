import { describe, expect, test } from "vitest";
import { MetricsRegistry } from "../../base/metrics.ts";
import type { ApiResponse } from "../http/message.ts";
import { bodyJson, infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { isReason } from "../../meta/status-error.ts";
import { discoveryHandler, type DiscoveryOptions } from "./handlers.ts";
import type { DiscoverySource } from "./merge.ts";
import { newestFirst, type Candidate } from "./newest.ts";
import { gatesOf } from "../../objects/catalog/release-gates.ts";
import { group, resource, source, version } from "../../../test/testing/serving/discovery/documents.ts";

function candidate(serverId: string, release: string | undefined, more: Partial<Candidate> = {}): Candidate {
  return { serverId, release, isReachable: true, ...more };
}

const order = (...candidates: readonly Candidate[]): string[] =>
  newestFirst(candidates).map(({ serverId }) => serverId);

describe("the newest server", () => {
  test("has the highest compatibility version, then the highest binary version, then the lowest ID", () => {
    const servers = [
      candidate("a", "1.35", { binaryVersion: "1.37.0" }),
      candidate("b", "1.36", { binaryVersion: "1.36.10" }),
      candidate("c", "1.36", { binaryVersion: "1.36.9" }),
      candidate("d", "1.36", { binaryVersion: "1.36.10" }),
      candidate("e", "1.36", { binaryVersion: "1.37.0-rc.1" }),
      candidate("f", "1.36", { binaryVersion: "1.37.0" }),
      candidate("g", "1.9", { binaryVersion: "1.37.0" }),
      candidate("h", undefined),
    ];
    const expected = ["f", "e", "b", "d", "c", "a", "g", "h"];
    expect(order(...servers)).toEqual(expected);
    expect(order(...servers.toReversed())).toEqual(expected);
  });

  test.each<[string, Partial<Candidate>]>([
    ["is unreachable", { isReachable: false }],
    ["has restarted and not published its discovery document", { isOutdated: true }],
    ["is draining", { isDraining: true }],
  ])("is not a server that %s", (_why, more) => {
    expect(order(candidate("old", "1.33"), candidate("new", "1.36", more))).toEqual(["old"]);
  });
});

const V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const OLD = [group("", version("v1", "pods")), group("old.example.com", "v1")];
const NEW = [
  group("", version("v1", resource("pods", { storageVersionHash: "hash" }), "things")),
  group("new.example.com", "v2", "v1"),
];

interface Scene {
  peers: readonly DiscoverySource[];
  generation: number;
  ask(path: string, accept?: string, isVerifiedPeer?: boolean): ApiResponse;
}

function scene(id: string, release: string, more: Partial<DiscoveryOptions> = {}): Scene {
  const state: Scene = {
    peers: [],
    generation: 0,
    ask: (path, accept = "application/json", isVerifiedPeer = false) =>
      handle({ ...infoRequest({ url: path, headers: { accept } }), isVerifiedPeer })!,
  };
  const handle = discoveryHandler({
    self: { id, release },
    gates: gatesOf("1.36"),
    servesAggregated: true,
    local: () => (release === "1.36" ? NEW : OLD),
    peers: () => state.peers,
    generation: () => state.generation,
    mode: "newest",
    mergeScope: "all",
    hasUndescribed: () => false,
    serverAddress: () => "192.0.2.1:6443",
    metrics: new MetricsRegistry(),
    ...more,
  });
  return state;
}

const shown = ({ status, headers, body }: ApiResponse): unknown[] => [
  status,
  headers,
  body.kind === "bytes" ? Buffer.concat(body.chunks).toString("utf8") : body.kind,
];

const FORMS: readonly [path: string, accept: string | undefined][] = [
  ["/api", V2],
  ["/apis", V2],
  ["/api", undefined],
  ["/apis", undefined],
  ["/apis", "application/yaml"],
  ["/api/v1", undefined],
  ["/apis/new.example.com", undefined],
  ["/apis/new.example.com/v1", undefined],
];

describe("in discovery mode newest,", () => {
  test.each(FORMS)("every server returns the %s of the newest server for Accept: %s", (path, accept) => {
    const [old, newest] = [scene("a", "1.33"), scene("b", "1.36")];
    old.peers = [source("b", NEW)];
    newest.peers = [source("a", OLD, { release: "1.33" })];
    const expected = scene("b", "1.36", { mode: "local" }).ask(path, accept);
    expect(shown(old.ask(path, accept))).toEqual(shown(expected));
    expect(shown(newest.ask(path, accept))).toEqual(shown(expected));
  });

  test("a group that only an older server serves is not found, even if that server receives the request", () => {
    const old = scene("a", "1.33");
    old.peers = [source("b", NEW)];
    expect(old.ask("/apis/old.example.com").status).toBe(404);
    expect(old.ask("/apis", V2, true).body).not.toEqual(old.ask("/apis", V2).body);
    expect(JSON.stringify(bodyJson(old.ask("/apis", V2, true)))).toContain("old.example.com");
    expect(JSON.stringify(bodyJson(old.ask("/apis", `${V2};profile=nopeer`)))).toContain("old.example.com");
  });

  test("the next newest server is shown while the newest one is unreachable", () => {
    const old = scene("a", "1.33");
    const next = source("c", [group("next.example.com", "v1")], { release: "1.34" });
    const names = (): string[] =>
      (bodyJson(old.ask("/apis")) as { groups: { name: string }[] }).groups.map(({ name }) => name);
    const changeTo = (...peers: readonly DiscoverySource[]): void => {
      old.peers = peers;
      old.generation++;
    };
    changeTo(source("b", NEW), next);
    expect(names()).toEqual(["new.example.com"]);
    changeTo(source("b", NEW, { isReachable: false }), next);
    expect(names()).toEqual(["next.example.com"]);
    changeTo(source("b", NEW, { isReachable: false }), { ...next, isReachable: false });
    expect(names()).toEqual(["old.example.com"]);
    changeTo(source("b", NEW));
    expect(names()).toEqual(["new.example.com"]);
  });

  test("an unknown group returns 503, not 404, while a live server has not published its discovery document", () => {
    const old = scene("a", "1.33", { hasUndescribed: () => true });
    let thrown: unknown;
    try {
      old.ask("/apis/new.example.com");
    } catch (refusal) {
      thrown = refusal;
    }
    expect(isReason(thrown, "ServiceUnavailable")).toBe(true);
  });
});
