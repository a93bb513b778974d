import { describe, expect, test } from "vitest";
import { decideRoute, type Route, type RouteFacts } from "./route.ts";
import { createServedSet } from "./served-set.ts";
import type { ClusterView, PeerView } from "./view.ts";

const PODS = { group: "", version: "v1", resource: "pods", subresource: "" };
const served = createServedSet([
  {
    name: "",
    versions: [
      {
        version: "v1",
        freshness: "Current",
        resources: [
          {
            ...{ resource: "pods", scope: "Namespaced", singularResource: "pod", shortNames: [], categories: [] },
            storageVersionHash: undefined,
            ...{ responseKind: { group: "", version: "v1", kind: "Pod" }, verbs: ["create", "get"], subresources: [] },
          },
        ],
      },
    ],
  },
]);
const NOTHING = createServedSet([]);

function peer(id: string, more: Partial<PeerView> = {}): PeerView {
  return {
    ...{ id, release: "1.36", address: { host: "10.0.0.1", port: 1 } },
    ...{ isReachable: true, isDraining: false, isDescribed: true },
    document: { served, confirmedAtMs: 0 },
    ...more,
  };
}

/** Decides the route of a request whose fields only peers of release 1.36 know. */
function decide(
  peers: readonly PeerView[],
  more: { facts?: Partial<RouteFacts>; view?: Partial<ClusterView> } = {},
): Route {
  const view: ClusterView = {
    self: { id: "self", release: "1.33" },
    ...{ isSynced: true, missingFlag: undefined, local: served, peers },
    departed: () => undefined,
    isDecidedLocally: () => false,
    supports: ({ release }) => release === "1.36",
    ...more.view,
  };
  const needs = { kind: "fields", of: { group: "", version: "v1", kind: "Pod" }, paths: [["spec", "x"]] } as const;
  return decideRoute(
    { ...PODS, isResourceRequest: true, verb: "create", isProxied: false, needs, ...more.facts },
    view,
  );
}

function inShort(route: Route): unknown[] {
  if (route.kind === "peer") return [route.rule, route.candidates.map((tier) => tier.map(({ id }) => id))];
  return route.kind === "unavailable" ? [route.rule, route.peerId, route.retryAfterSeconds] : [route.rule];
}

describe("a request that sets fields unknown to the local server", () => {
  test.each<[what: string, peers: readonly PeerView[], more: Parameters<typeof decide>[1], short: unknown[]]>([
    ["no peer exists", [], {}, ["nobody-supports-it"]],
    ["no peer knows them", [peer("old", { release: "1.33" })], {}, ["nobody-supports-it"]],
    ["one peer knows them", [peer("old", { release: "1.33" }), peer("b")], {}, ["peer-knows-fields", [["b"]]]],
    [
      "one of two peers that know them is draining",
      [peer("b", { isDraining: true }), peer("c")],
      {},
      ["peer-knows-fields", [["c"], ["b"]]],
    ],
    ["the peer that knows them is unreachable", [peer("b", { isReachable: false })], {}, ["peer-unreachable", "b", 1]],
    [
      "the peer that knows them has no address yet",
      [peer("b", { address: undefined })],
      {},
      ["peer-unreachable", "b", 1],
    ],
    [
      "the peer that knows them is not described",
      [peer("b", { isDescribed: false, document: undefined })],
      {},
      ["peer-unreachable", "b", 1],
    ],
    [
      "the peer that knows them does not serve the resource",
      [peer("b", { document: { served: NOTHING, confirmedAtMs: 0 } })],
      {},
      ["nobody-supports-it"],
    ],
    ["no peer can be called", [peer("b")], { view: { missingFlag: "--x" } }, ["peer-flag-missing", "b", 30]],
    ["a peer proxied the request", [peer("b")], { facts: { isProxied: true } }, ["served-here"]],
    ["the view is not synced", [], { view: { isSynced: false } }, ["not-synced", undefined, 1]],
    [
      "the local server decides about the resource",
      [peer("b")],
      { view: { isDecidedLocally: () => true } },
      ["nobody-supports-it"],
    ],
  ])("is routed by the expected rule if %s", (_what, peers, more, short) => {
    expect(inShort(decide(peers, more))).toEqual(short);
  });
});
