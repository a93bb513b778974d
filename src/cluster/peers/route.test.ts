import { describe, expect, test } from "vitest";
import { decideRoute, type Route, type RouteFacts, type RouteRule } from "./route.ts";
import { peerOf, viewOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import type { CapabilityNeed, ClusterView } from "./view.ts";

const WIDGETS = { "example.com/v1": { widgets: "get list delete" } };
const DEPARTED = { serverId: "old", release: "1.36", departedAt: "2026-01-02T03:04:05Z" };
const CLUSTER_IP: CapabilityNeed = { kind: "field-selector", labels: ["spec.clusterIP"] };
const NO_ADDRESS = { address: undefined, isReachable: false };

function ask(text: string, parts: Partial<RouteFacts> = {}): RouteFacts {
  const [verb = "", path = ""] = text.split(" ");
  const [group = "", version = "", resource = "", subresource = ""] = path.split("/");
  return { isResourceRequest: true, isProxied: false, group, version, resource, subresource, verb, ...parts };
}

const GET_WIDGETS = ask("get example.com/v1/widgets");
const RESIZE = ask("patch /v1/pods/resize");

function ids(route: Route): string[][] {
  return route.kind === "peer" ? route.candidates.map((tier) => tier.map(({ id }) => id)) : [];
}

interface Case {
  readonly what: string;
  readonly facts: RouteFacts;
  readonly view: ClusterView;
  readonly kind: Route["kind"];
  readonly rule: RouteRule;
  readonly peers?: string[][];
  readonly reason?: string;
}

const PASS_THROUGH: readonly Case[] = [
  {
    what: "a request that is not a resource request",
    facts: ask("get example.com/v1", { isResourceRequest: false }),
    view: viewOf({ isSynced: false }),
    kind: "local",
    rule: "not-a-resource-request",
  },
  {
    what: "a locally served resource",
    facts: GET_WIDGETS,
    view: viewOf({ local: WIDGETS }),
    kind: "local",
    rule: "served-here",
  },
  {
    what: "a locally served resource, also before the view is synced",
    facts: GET_WIDGETS,
    view: viewOf({ local: WIDGETS, isSynced: false }),
    kind: "local",
    rule: "served-here",
  },
  {
    what: "a proxied request for a locally served resource",
    facts: { ...GET_WIDGETS, isProxied: true },
    view: viewOf({ local: WIDGETS, isSynced: false }),
    kind: "local",
    rule: "served-here",
  },
  {
    what: "a resource that a lone server does not serve",
    facts: GET_WIDGETS,
    view: viewOf(),
    kind: "local",
    rule: "alone",
  },
  {
    what: "a custom resource in the local store, whatever a peer publishes",
    facts: GET_WIDGETS,
    view: viewOf({
      isDecidedLocally: (group, version, resource) => `${group}/${version}/${resource}` === "example.com/v1/widgets",
      peers: [peerOf("new", { serves: WIDGETS }), peerOf("young", { serves: undefined })],
      departed: () => DEPARTED,
    }),
    kind: "local",
    rule: "judged-locally",
  },
];

const TO_PEERS: readonly Case[] = [
  {
    what: "a resource only a peer serves",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("old"), peerOf("new", { serves: WIDGETS })] }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["new"]],
  },
  {
    what: "a resource that a restarted server served before",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("restarted", { serves: WIDGETS, isDescribed: false })] }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["restarted"]],
  },
  {
    what: "a subresource only a peer serves",
    facts: RESIZE,
    view: viewOf({
      local: { v1: { pods: "get patch" } },
      peers: [peerOf("new", { serves: { v1: { pods: "get patch", "pods/resize": "patch" } } })],
    }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["new"]],
  },
  {
    what: "a verb only a peer serves",
    facts: ask("deletecollection /v1/services"),
    view: viewOf({
      local: { v1: { services: "get delete" } },
      peers: [peerOf("new", { serves: { v1: { services: "get deletecollection" } } })],
    }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["new"]],
  },
  {
    what: "a resource that several peers serve, to all reachable ones, draining ones last",
    facts: GET_WIDGETS,
    view: viewOf({
      peers: [
        peerOf("leaving", { serves: WIDGETS, isDraining: true }),
        peerOf("a", { serves: WIDGETS }),
        peerOf("lost", { serves: WIDGETS, isReachable: false }),
        peerOf("nowhere", { serves: WIDGETS, ...NO_ADDRESS }),
        peerOf("b", { serves: WIDGETS }),
        peerOf("young", { serves: undefined }),
      ],
    }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["a", "b"], ["leaving"]],
  },
  {
    what: "a request with a compatibility version, to peers of that release first, then of newer ones, then to the rest",
    facts: { ...GET_WIDGETS, compatibilityVersion: "1.36" },
    view: viewOf({
      peers: [
        peerOf("leaving", { serves: WIDGETS, isDraining: true }),
        peerOf("older", { serves: WIDGETS, release: "1.9" }),
        peerOf("silent", { serves: WIDGETS, release: undefined }),
        peerOf("newer", { serves: WIDGETS, release: "1.37" }),
        peerOf("same", { serves: WIDGETS }),
      ],
    }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["same"], ["newer"], ["older", "silent"], ["leaving"]],
  },
  {
    what: "a field selector that a newer release supports",
    facts: ask("list /v1/services", { needs: CLUSTER_IP }),
    view: viewOf({
      local: { v1: { services: "list" } },
      supports: ({ release }, { resource }, need) =>
        release === "1.31" && resource === "services" && need.kind === "field-selector",
      peers: [
        peerOf("old", { serves: { v1: { services: "list" } }, release: "1.30" }),
        peerOf("new", { serves: { v1: { services: "list" } }, release: "1.31" }),
      ],
    }),
    kind: "peer",
    rule: "peer-supports-it",
    peers: [["new"]],
  },
  {
    what: "a resource that several peers serve, only to those that would accept the request",
    facts: ask("list example.com/v1/widgets", { needs: CLUSTER_IP }),
    view: viewOf({
      supports: ({ id }) => id === "new",
      peers: [peerOf("old", { serves: WIDGETS }), peerOf("new", { serves: WIDGETS })],
    }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["new"]],
  },
  {
    what: "a verb that no server serves, to a server that serves the resource and rejects the verb",
    facts: ask("patch example.com/v1/widgets"),
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "peer",
    rule: "verb-not-served",
    peers: [["new"]],
  },
  {
    what: "a method without a verb, to a server that serves the resource",
    facts: ask(" example.com/v1/widgets"),
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["new"]],
  },
];

const REFUSED: readonly Case[] = [
  {
    what: "a resource not served locally, before the view is synced",
    facts: GET_WIDGETS,
    view: viewOf({ isSynced: false, peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "unavailable",
    rule: "not-synced",
  },
  {
    what: "a proxied request for a resource not served locally",
    facts: { ...GET_WIDGETS, isProxied: true },
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "unavailable",
    rule: "proxied-but-not-served-here",
    reason: "self does not serve example.com/v1, widgets",
  },
  {
    what: "a proxied request for a resource served locally without the verb that another peer serves",
    facts: ask("patch example.com/v1/widgets", { isProxied: true }),
    view: viewOf({ local: WIDGETS, peers: [peerOf("new", { serves: { "example.com/v1": { widgets: "patch" } } })] }),
    kind: "unavailable",
    rule: "proxied-but-not-served-here",
  },
  {
    what: "a resource that only an unreachable peer serves",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS, isReachable: false })], departed: () => DEPARTED }),
    kind: "unavailable",
    rule: "peer-unreachable",
    reason: "example.com/v1, widgets is served by new, which cannot be reached",
  },
  {
    what: "a resource that only a peer serves which is unreachable for a known reason",
    facts: GET_WIDGETS,
    view: viewOf({
      peers: [peerOf("new", { serves: WIDGETS, isReachable: false, unreachableBecause: "connection refused" })],
    }),
    kind: "unavailable",
    rule: "peer-unreachable",
    reason: "example.com/v1, widgets is served by new, which cannot be reached (connection refused)",
  },
  {
    what: "a resource that no known server serves, while the document of a live peer cannot be fetched",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("young", { serves: undefined, undescribedBecause: "HTTP 503" })] }),
    kind: "unavailable",
    rule: "peer-not-described",
    reason: "self does not serve example.com/v1, widgets, and young has not yet published what it serves (HTTP 503)",
  },
  {
    what: "a resource that only a peer without an address serves",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS, ...NO_ADDRESS })] }),
    kind: "unavailable",
    rule: "peer-unreachable",
    reason: "example.com/v1, widgets is served by new, which has not published its address",
  },
  {
    what: "a resource that no known server serves while one live server is undescribed",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("old"), peerOf("young", { serves: undefined })] }),
    kind: "unavailable",
    rule: "peer-not-described",
    reason: "self does not serve example.com/v1, widgets, and young has not yet published what it serves",
  },
  {
    what: "a resource that a restarted server did not serve before",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("upgraded", { isDescribed: false })], departed: () => DEPARTED }),
    kind: "unavailable",
    rule: "peer-not-described",
  },
  {
    what: "a resource that a departed server served",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("old")], departed: () => DEPARTED }),
    kind: "unavailable",
    rule: "departed",
    reason: "example.com/v1, widgets was last served by old (1.36), which departed at 2026-01-02T03:04:05Z",
  },
  {
    what: "a resource of an unreachable kube-apiserver whose ID is a guess",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("guess", { serves: WIDGETS, calledAt: "192.0.2.7:6443", isReachable: false })] }),
    kind: "unavailable",
    rule: "peer-unreachable",
    reason: "example.com/v1, widgets is served by the kube-apiserver at 192.0.2.7:6443, which cannot be reached",
  },
  {
    what: "a resource that a departed kube-apiserver served whose ID was a guess",
    facts: GET_WIDGETS,
    view: viewOf({ departed: () => ({ ...DEPARTED, calledAt: "192.0.2.7:6443" }) }),
    kind: "unavailable",
    rule: "departed",
    reason:
      "example.com/v1, widgets was last served by the kube-apiserver at 192.0.2.7:6443 (1.36), which departed at 2026-01-02T03:04:05Z",
  },
  {
    what: "a subresource that a departed server served",
    facts: RESIZE,
    view: viewOf({ local: { v1: { pods: "get" } }, departed: () => ({ ...DEPARTED, release: undefined }) }),
    kind: "unavailable",
    rule: "departed",
    reason: "v1, pods/resize was last served by old, which departed at 2026-01-02T03:04:05Z",
  },
  {
    what: "a resource not served locally while peers cannot be called because of a missing flag",
    facts: GET_WIDGETS,
    view: viewOf({ missingFlag: "--peer-ca-file", peers: [peerOf("new", { serves: undefined })] }),
    kind: "unavailable",
    rule: "peer-flag-missing",
    reason: "self does not serve example.com/v1, widgets and cannot call new: --peer-ca-file is not set",
  },
];

const ANSWERED_WITH_NO: readonly Case[] = [
  {
    what: "a verb that no server serves, by the server that serves the resource",
    facts: ask("patch example.com/v1/widgets"),
    view: viewOf({ local: WIDGETS, peers: [peerOf("new", { serves: WIDGETS })], departed: () => DEPARTED }),
    kind: "local",
    rule: "verb-not-served",
  },
  {
    what: "a verb that no server serves, by the server to which a peer proxied it",
    facts: ask("patch example.com/v1/widgets", { isProxied: true }),
    view: viewOf({ local: WIDGETS, peers: [peerOf("old")] }),
    kind: "local",
    rule: "verb-not-served",
  },
  {
    what: "a verb not served locally while peers cannot be called",
    facts: ask("patch example.com/v1/widgets"),
    view: viewOf({ local: WIDGETS, missingFlag: "--peer-ca-file", peers: [peerOf("new", { serves: undefined })] }),
    kind: "local",
    rule: "verb-not-served",
  },
  {
    what: "a subresource that no server serves, by the server that serves the resource",
    facts: RESIZE,
    view: viewOf({ local: { v1: { pods: "get" } }, peers: [peerOf("old", { serves: { v1: { pods: "get" } } })] }),
    kind: "local",
    rule: "subresource-unknown",
  },
  {
    what: "a field selector that no server supports",
    facts: ask("list /v1/services", { needs: CLUSTER_IP }),
    view: viewOf({
      local: { v1: { services: "list" } },
      peers: [peerOf("old", { serves: { v1: { services: "list" } } }), peerOf("young", { serves: undefined })],
    }),
    kind: "local",
    rule: "nobody-supports-it",
  },
  {
    what: "a field selector that only an unreachable peer supports",
    facts: ask("list /v1/services", { needs: CLUSTER_IP }),
    view: viewOf({
      local: { v1: { services: "list" } },
      supports: () => true,
      peers: [peerOf("new", { serves: { v1: { services: "list" } }, isReachable: false })],
    }),
    kind: "local",
    rule: "nobody-supports-it",
  },
  {
    what: "a resource that a lone server does not serve, although a flag is missing",
    facts: GET_WIDGETS,
    view: viewOf({ missingFlag: "--peer-ca-file" }),
    kind: "local",
    rule: "alone",
  },
  {
    what: "a resource that no live server serves according to its document",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("a"), peerOf("b", { isReachable: false }), peerOf("c"), peerOf("d")] }),
    kind: "unknown",
    rule: "served-by-nobody",
    reason: "neither self nor a, b, c and 1 more serves example.com/v1, widgets",
  },
];

function check({ facts, view, kind, rule, peers, reason }: Case): void {
  const route = decideRoute(facts, view);
  expect({ kind: route.kind, rule: route.rule, peers: ids(route) }).toEqual({ kind, rule, peers: peers ?? [] });
  if (reason !== undefined) expect(route.reason).toBe(reason);
}

describe("served locally:", () => {
  test.each(PASS_THROUGH)("$what", check);
});

describe("proxied to peers:", () => {
  test.each(TO_PEERS)("$what", check);
});

describe("503:", () => {
  test.each(REFUSED)("$what", check);
});

describe("rejected:", () => {
  test.each(ANSWERED_WITH_NO)("$what", check);
});

test("the 404 has the message of kube-apiserver's documentation", () => {
  const view = viewOf({ peers: [peerOf("old")] });
  expect(decideRoute(GET_WIDGETS, view)).toMatchObject({
    message: "GVR example.com/v1, widgets is not served by anything in this cluster",
  });
  expect(decideRoute(ask("get /v1/gadgets/scale"), view)).toMatchObject({
    message: "GVR v1, gadgets/scale is not served by anything in this cluster",
  });
});

test("a 503 names the server that is the cause, and has a Retry-After", () => {
  const unreachable = viewOf({ peers: [peerOf("new", { serves: WIDGETS, isReachable: false })] });
  expect(decideRoute(GET_WIDGETS, unreachable)).toMatchObject({ peerId: "new", retryAfterSeconds: 1 });
  const departed = viewOf({ departed: () => DEPARTED });
  expect(decideRoute(GET_WIDGETS, departed)).toMatchObject({ peerId: "old", retryAfterSeconds: 10 });
});

test("the routes of locally served requests are one shared value", () => {
  const view = viewOf({ local: WIDGETS });
  expect(decideRoute(GET_WIDGETS, view)).toBe(decideRoute({ ...GET_WIDGETS, verb: "list" }, view));
});
