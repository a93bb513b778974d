/** Checks every combination of routing inputs against the guarantees of routing. */
import { expect, test } from "vitest";
import { decideRoute, RULES, type Route, type RouteFacts } from "./route.ts";
import { peerOf, viewOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import type { ClusterView, PeerView } from "./view.ts";

const QUESTION = { group: "", version: "v1", resource: "pods", subresource: "resize" };
const FULL = { v1: { pods: "get", "pods/resize": "patch" } };
const DEPARTED = { serverId: "gone", release: "1.36", departedAt: "2026-01-02T03:04:05Z" };

const LOCAL = {
  nothing: {},
  resource: { v1: { pods: "get patch" } },
  otherVerb: { v1: { pods: "get", "pods/resize": "get" } },
  served: FULL,
};

const PEERS: readonly PeerView[] = [
  peerOf("reachable", { serves: FULL }),
  peerOf("unreachable", { serves: FULL, isReachable: false }),
  peerOf("nowhere", { serves: FULL, address: undefined }),
  peerOf("draining", { serves: FULL, isDraining: true }),
  peerOf("other-verb", { serves: LOCAL.otherVerb }),
  peerOf("without", { serves: LOCAL.resource }),
  peerOf("undescribed", { serves: undefined }),
  peerOf("restarted", { serves: LOCAL.resource, isDescribed: false }),
];

interface Combination {
  readonly facts: RouteFacts;
  readonly view: ClusterView;
  readonly local: keyof typeof LOCAL;
  readonly isDeparted: boolean;
  readonly isJudged: boolean;
  readonly isSupported: boolean;
}

function* combinations(): Generator<Combination> {
  for (const local of Object.keys(LOCAL) as (keyof typeof LOCAL)[]) {
    const base = viewOf({ local: LOCAL[local] });
    for (let subset = 0; subset < 2 ** PEERS.length; subset++) {
      const peers = PEERS.filter((_, index) => (subset >> index) % 2 === 1);
      for (let bits = 0; bits < 2 ** 8; bits++) {
        const [isDeparted, isProxied, isSynced, isFlagMissing, hasNeed, isSupported, isJudged, hasVersion] =
          bitsOf(bits);
        yield {
          local,
          isDeparted: isDeparted!,
          isJudged: isJudged!,
          isSupported: isSupported!,
          facts: {
            ...QUESTION,
            isResourceRequest: true,
            verb: "patch",
            isProxied: isProxied!,
            needs: hasNeed ? { kind: "patch-type", patchType: "application/apply-patch+cbor" } : undefined,
            // The local server has the previous release, and the peers have the release that the client names.
            compatibilityVersion: hasVersion ? "1.36" : undefined,
          },
          view: {
            ...base,
            isSynced: isSynced!,
            missingFlag: isFlagMissing ? "--peer-ca-file" : undefined,
            peers,
            departed: () => (isDeparted ? DEPARTED : undefined),
            isDecidedLocally: () => isJudged!,
            supports: () => isSupported!,
          },
        };
      }
    }
  }
}

function bitsOf(number: number): boolean[] {
  return Array.from({ length: 8 }, (_, index) => (number >> index) % 2 === 1);
}

/** The guarantees: each function returns whether a route keeps the guarantee. */
const PROMISES: Readonly<Record<string, (route: Route, combination: Combination) => boolean>> = {
  "a request that the local server fully serves is served locally": (route, { local, facts }) =>
    local !== "served" ||
    ((facts.needs !== undefined || facts.compatibilityVersion !== undefined) && !facts.isProxied) ||
    route.rule === "served-here",

  "a served request is never rejected because of its compatibility version": (
    route,
    { local, facts, view, isJudged },
  ) => {
    if (local !== "served" || facts.needs !== undefined || facts.compatibilityVersion === undefined) return true;
    if (facts.isProxied) return route.rule === "served-here";
    const isFree = view.isSynced && view.missingFlag === undefined && !isJudged;
    const isBetter = isFree && view.peers.some(({ id }) => id === "reachable");
    if (!isBetter) return route.kind === "local" && route.rule === "nobody-fits-client-better";
    const isOne = route.kind === "peer" && route.candidates.flat().length === 1;
    return isOne && route.rule === "peer-fits-client" && route.fallback === "local";
  },

  "a proxied request is not proxied again, and is never 404 by this decision": (route, { facts }) =>
    !facts.isProxied || route.kind === "local" || route.kind === "unavailable",

  "before the first sync nothing is concluded about peers": (route, { view, local }) =>
    view.isSynced || route.kind === "unavailable" || (route.kind === "local" && local === "served"),

  "candidates are reachable and serve the request, and draining ones come last": (route) => {
    if (route.kind !== "peer") return true;
    const all = route.candidates.flat();
    const firstLeaving = all.findIndex(({ isDraining }) => isDraining);
    return (
      all.length > 0 &&
      route.candidates.every((tier) => tier.length > 0) &&
      all.every((peer) => peer.isReachable && peer.address !== undefined && peer.document?.served.has(QUESTION)) &&
      (firstLeaving < 0 || all.slice(firstLeaving).every(({ isDraining }) => isDraining)) &&
      new Set(all).size === all.length
    );
  },

  "all equally good peers are candidates": (route, { view }) => {
    if (route.rule !== "served-by-peer" || route.kind !== "peer") return true;
    const able = view.peers.filter(({ id }) => id === "reachable" || id === "draining");
    return route.candidates.flat().length === able.length;
  },

  "404 only if every live server has published that it does not serve the resource": (
    route,
    { view, local, ...rest },
  ) =>
    route.kind !== "unknown" ||
    (view.isSynced &&
      view.peers.length > 0 &&
      view.peers.every(({ id }) => id === "without") &&
      local === "nothing" &&
      view.missingFlag === undefined &&
      !rest.isDeparted &&
      !rest.isJudged),

  "a plain 404 is returned only for a resource that no peer serves": (route, { view, isDeparted }) =>
    (route.rule !== "alone" && route.rule !== "subresource-unknown") ||
    (!isDeparted && view.peers.every(({ id }) => id === "without")),

  "a request that a reachable peer serves and the local server does not goes to the peer": (
    route,
    { view, local, facts, isJudged },
  ) => {
    const isFree = view.isSynced && view.missingFlag === undefined && !facts.isProxied && !isJudged;
    const isReachable = view.peers.some(({ id }) => id === "reachable" || id === "draining");
    return !isFree || local === "served" || !isReachable || route.kind === "peer";
  },

  "a request that only unreachable peers serve is 503 and names one": (route, { view, local, facts, isJudged }) => {
    const isFree = view.isSynced && view.missingFlag === undefined && !facts.isProxied && !isJudged;
    const has = (...ids: readonly string[]): boolean => view.peers.some(({ id }) => ids.includes(id));
    if (!isFree || local === "served" || has("reachable", "draining") || !has("unreachable", "nowhere")) return true;
    return route.kind === "unavailable" && (route.peerId === "unreachable" || route.peerId === "nowhere");
  },

  "a request that only a departed server served is 503 and names the server": (
    route,
    { view, local, facts, ...rest },
  ) => {
    const isGone = rest.isDeparted && !rest.isJudged && (local === "nothing" || local === "resource");
    if (!isGone || !view.isSynced || facts.isProxied) return true;
    if (!view.peers.every(({ id }) => id === "without")) return true;
    if (view.missingFlag !== undefined && view.peers.length > 0) return route.rule === "peer-flag-missing";
    return route.kind === "unavailable" && route.peerId === "gone";
  },

  "a shared resource is decided locally": (route, { view, facts, isJudged }) =>
    !isJudged || !view.isSynced || facts.isProxied || route.kind === "local",

  "without the flag no peer is called, and a request not served locally is 503 and names the flag": (
    route,
    combination,
  ) => {
    const { view, local, facts, isJudged } = combination;
    if (view.missingFlag === undefined) return true;
    if (route.kind === "peer") return false;
    const isAbout = view.isSynced && !facts.isProxied && !isJudged && view.peers.length > 0;
    if (!isAbout || local === "served" || local === "otherVerb") return true;
    return route.kind === "unavailable" && route.reason.includes("--peer-ca-file");
  },

  "a request that the local server would reject goes to a peer that would accept it, else it is rejected locally": (
    route,
    combination,
  ) => {
    const { view, local, facts, isJudged, isSupported } = combination;
    if (local !== "served" || facts.needs === undefined || facts.isProxied || !view.isSynced) return true;
    const isReachable = view.peers.some(({ id }) => id === "reachable" || id === "draining");
    const isSent = isReachable && isSupported && !isJudged && view.missingFlag === undefined;
    return route.rule === (isSent ? "peer-supports-it" : "nobody-supports-it");
  },

  "a 503 has Retry-After, and is never returned by a lone server without departed peers": (route, combination) => {
    if (route.kind !== "unavailable") return true;
    const { view, facts, isDeparted } = combination;
    const isAlone = view.isSynced && view.peers.length === 0 && !isDeparted && !facts.isProxied;
    return route.retryAfterSeconds >= 1 && !isAlone;
  },

  "every decision has a rule and a reason": (route) => route.rule in RULES && route.reason !== "",
};

test("every combination keeps every guarantee, and every rule is reached", () => {
  const broken = new Map<string, string>();
  // route-fields.test.ts tests the rule "peer-knows-fields".
  const reached = new Set<string>(["not-a-resource-request", "peer-knows-fields"]);
  for (const combination of combinations()) {
    const route = decideRoute(combination.facts, combination.view);
    reached.add(route.rule);
    for (const [promise, holds] of Object.entries(PROMISES)) {
      if (broken.has(promise) || holds(route, combination)) continue;
      broken.set(promise, JSON.stringify({ route, ...combination }));
    }
  }
  expect([...broken]).toEqual([]);
  expect([...reached].toSorted()).toEqual(Object.keys(RULES).toSorted());
});
