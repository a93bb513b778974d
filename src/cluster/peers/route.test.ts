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
    what: "a request that is not about a resource",
    facts: ask("get example.com/v1", { isResourceRequest: false }),
    view: viewOf({ isSynced: false }),
    kind: "local",
    rule: "not-a-resource-request",
  },
  {
    what: "what is served here",
    facts: GET_WIDGETS,
    view: viewOf({ local: WIDGETS }),
    kind: "local",
    rule: "served-here",
  },
  {
    what: "what is served here, also before the peers are known",
    facts: GET_WIDGETS,
    view: viewOf({ local: WIDGETS, isSynced: false }),
    kind: "local",
    rule: "served-here",
  },
  {
    what: "what a peer sent and is served here",
    facts: { ...GET_WIDGETS, isProxied: true },
    view: viewOf({ local: WIDGETS, isSynced: false }),
    kind: "local",
    rule: "served-here",
  },
  { what: "what an only server does not serve", facts: GET_WIDGETS, view: viewOf(), kind: "local", rule: "alone" },
  {
    what: "a custom resource this server knows of, whatever a peer says",
    facts: GET_WIDGETS,
    view: viewOf({
      isJudgedLocally: (group, version, resource) => `${group}/${version}/${resource}` === "example.com/v1/widgets",
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
    what: "a resource that a server that started anew served before",
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
    what: "all that can be reached, and those that are leaving last",
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
    what: "the client's release first, then greater ones, then the rest",
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
    what: "a field selector that a newer release has",
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
    what: "among peers that serve it, those that would not refuse it",
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
    what: "a verb nobody serves, to whoever serves the resource and will say so",
    facts: ask("patch example.com/v1/widgets"),
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "peer",
    rule: "verb-not-served",
    peers: [["new"]],
  },
  {
    what: "a method that stands for no verb, to whoever serves the resource",
    facts: ask(" example.com/v1/widgets"),
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "peer",
    rule: "served-by-peer",
    peers: [["new"]],
  },
];

const REFUSED: readonly Case[] = [
  {
    what: "what is not served here before the peers are known",
    facts: GET_WIDGETS,
    view: viewOf({ isSynced: false, peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "unavailable",
    rule: "not-synced",
  },
  {
    what: "what a peer sent and is not served here",
    facts: { ...GET_WIDGETS, isProxied: true },
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS })] }),
    kind: "unavailable",
    rule: "proxied-but-not-served-here",
    reason: "self does not serve example.com/v1, widgets",
  },
  {
    what: "what a peer sent and is served here without the verb that another has",
    facts: ask("patch example.com/v1/widgets", { isProxied: true }),
    view: viewOf({ local: WIDGETS, peers: [peerOf("new", { serves: { "example.com/v1": { widgets: "patch" } } })] }),
    kind: "unavailable",
    rule: "proxied-but-not-served-here",
  },
  {
    what: "what only a peer out of reach serves",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS, isReachable: false })], departed: () => DEPARTED }),
    kind: "unavailable",
    rule: "peer-unreachable",
    reason: "example.com/v1, widgets is served by new, which cannot be reached",
  },
  {
    what: "what only a peer without an address serves",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("new", { serves: WIDGETS, ...NO_ADDRESS })] }),
    kind: "unavailable",
    rule: "peer-unreachable",
    reason: "example.com/v1, widgets is served by new, which has not said where it can be reached",
  },
  {
    what: "what nobody is known to serve while one live server has not said",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("old"), peerOf("young", { serves: undefined })] }),
    kind: "unavailable",
    rule: "peer-not-described",
    reason: "self does not serve example.com/v1, widgets, and young has not said yet what it serves now",
  },
  {
    what: "what a server that started anew did not serve before",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("upgraded", { isDescribed: false })], departed: () => DEPARTED }),
    kind: "unavailable",
    rule: "peer-not-described",
  },
  {
    what: "what a server that left served",
    facts: GET_WIDGETS,
    view: viewOf({ peers: [peerOf("old")], departed: () => DEPARTED }),
    kind: "unavailable",
    rule: "departed",
    reason: "example.com/v1, widgets was last served by old (1.36), which left at 2026-01-02T03:04:05Z",
  },
  {
    what: "a subresource that a server that left served",
    facts: RESIZE,
    view: viewOf({ local: { v1: { pods: "get" } }, departed: () => ({ ...DEPARTED, release: undefined }) }),
    kind: "unavailable",
    rule: "departed",
    reason: "v1, pods/resize was last served by old, which left at 2026-01-02T03:04:05Z",
  },
  {
    what: "what is not served here while others cannot be asked for want of a flag",
    facts: GET_WIDGETS,
    view: viewOf({ missingFlag: "--peer-ca-file", peers: [peerOf("new", { serves: undefined })] }),
    kind: "unavailable",
    rule: "peer-flag-missing",
    reason: "self does not serve example.com/v1, widgets and cannot ask new: --peer-ca-file is not set",
  },
];

const ANSWERED_WITH_NO: readonly Case[] = [
  {
    what: "a verb nobody serves, by the server that serves the resource",
    facts: ask("patch example.com/v1/widgets"),
    view: viewOf({ local: WIDGETS, peers: [peerOf("new", { serves: WIDGETS })], departed: () => DEPARTED }),
    kind: "local",
    rule: "verb-not-served",
  },
  {
    what: "a verb nobody serves, by the server a peer sent it to",
    facts: ask("patch example.com/v1/widgets", { isProxied: true }),
    view: viewOf({ local: WIDGETS, peers: [peerOf("old")] }),
    kind: "local",
    rule: "verb-not-served",
  },
  {
    what: "a verb not served here while others cannot be asked",
    facts: ask("patch example.com/v1/widgets"),
    view: viewOf({ local: WIDGETS, missingFlag: "--peer-ca-file", peers: [peerOf("new", { serves: undefined })] }),
    kind: "local",
    rule: "verb-not-served",
  },
  {
    what: "a subresource nobody serves, by the server that serves the resource",
    facts: RESIZE,
    view: viewOf({ local: { v1: { pods: "get" } }, peers: [peerOf("old", { serves: { v1: { pods: "get" } } })] }),
    kind: "local",
    rule: "subresource-unknown",
  },
  {
    what: "a field selector nobody has",
    facts: ask("list /v1/services", { needs: CLUSTER_IP }),
    view: viewOf({
      local: { v1: { services: "list" } },
      peers: [peerOf("old", { serves: { v1: { services: "list" } } }), peerOf("young", { serves: undefined })],
    }),
    kind: "local",
    rule: "nobody-supports-it",
  },
  {
    what: "a field selector that only a peer out of reach has",
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
    what: "what an only server does not serve, although it could not ask others",
    facts: GET_WIDGETS,
    view: viewOf({ missingFlag: "--peer-ca-file" }),
    kind: "local",
    rule: "alone",
  },
  {
    what: "what every live server has said it does not serve",
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

describe("answered here:", () => {
  test.each(PASS_THROUGH)("$what", check);
});

describe("sent to peers:", () => {
  test.each(TO_PEERS)("$what", check);
});

describe("503:", () => {
  test.each(REFUSED)("$what", check);
});

describe("a truthful no:", () => {
  test.each(ANSWERED_WITH_NO)("$what", check);
});

test("the 404 says in the documents' words that nobody serves it", () => {
  const view = viewOf({ peers: [peerOf("old")] });
  expect(decideRoute(GET_WIDGETS, view)).toMatchObject({
    message: "GVR example.com/v1, widgets is not served by anything in this cluster",
  });
  expect(decideRoute(ask("get /v1/gadgets/scale"), view)).toMatchObject({
    message: "GVR v1, gadgets/scale is not served by anything in this cluster",
  });
});

test("a 503 says which server it is about and when to come again", () => {
  const unreachable = viewOf({ peers: [peerOf("new", { serves: WIDGETS, isReachable: false })] });
  expect(decideRoute(GET_WIDGETS, unreachable)).toMatchObject({ peerId: "new", retryAfterSeconds: 1 });
  const departed = viewOf({ departed: () => DEPARTED });
  expect(decideRoute(GET_WIDGETS, departed)).toMatchObject({ peerId: "old", retryAfterSeconds: 10 });
});

test("the answer to a request that is served here is the same value each time", () => {
  const view = viewOf({ local: WIDGETS });
  expect(decideRoute(GET_WIDGETS, view)).toBe(decideRoute({ ...GET_WIDGETS, verb: "list" }, view));
});
