/**
 * Decides which server serves a request. The decision is a pure function of the request and the view of this server.
 * The proxy, `explain-route` and the console all report the route that is returned here.
 *
 * It gives two guarantees. The result is `unknown` (404) only if every live server has published what it serves and no
 * recently departed server served the resource. And a request makes at most one hop.
 */
import { someOf } from "../../base/some-of.ts";
import { must } from "../../base/assert.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import type { ServedSet } from "./served-set.ts";
import { serverName } from "../../serving/discovery/server-name.ts";
import type { CapabilityNeed, ClusterView, PeerView, ResourceQuestion } from "./view.ts";

export interface RouteFacts extends ResourceQuestion {
  readonly isResourceRequest: boolean;
  /** The verb of RequestInfo; "" if the HTTP method maps to no verb. */
  readonly verb: string;
  /**
   * Whether a verified peer proxied the request to this server. A request that falsely claims so was rejected before.
   */
  readonly isProxied: boolean;
  /**
   * The feature for lack of which the local server would reject the request or drop fields, while a peer might not;
   * undefined if the local server lacks none.
   */
  readonly needs?: CapabilityNeed | undefined;
  /**
   * The client's compatibility version, such as "1.36". Servers of this release are preferred, then servers of newer
   * releases.
   */
  readonly compatibilityVersion?: string | undefined;
}

/** The rules of routing, each with a stable ID and one sentence. */
export const RULES = {
  "not-a-resource-request": "The request is not a resource request, so the local server serves it.",
  "served-here": "The local server serves the resource with this verb.",
  "peer-fits-client":
    "The local server serves the request, but the release of a peer matches the client's compatibility version better.",
  "nobody-fits-client-better":
    "The local server serves the request, and no available peer matches the client's compatibility version better.",
  "proxied-but-not-served-here":
    "A peer proxied the request to this server, which does not serve it; the peer may try another server.",
  "not-synced": "The local server does not yet know what it serves or which peers are live.",
  "peer-supports-it": "The local server serves the resource but would reject the request; a peer would accept it.",
  "peer-knows-fields": "The request sets fields that the local server does not know and a peer does.",
  "nobody-supports-it":
    "The local server serves the resource and rejects the request; no available peer would accept it.",
  "judged-locally":
    "Custom and aggregated resources are defined in the shared store: every server decides about them itself.",
  "peer-flag-missing":
    "Another server may serve the request, but a flag without which no peer can be called is not set.",
  "served-by-peer": "The local server does not serve the request, and a reachable peer does.",
  "peer-unreachable": "Only a peer that cannot be reached serves the request.",
  "peer-not-described": "A live server has not yet published what it serves.",
  "verb-not-served": "No server serves this verb; a server that serves the resource rejects it.",
  departed: "A server that served the resource departed recently, and no live server serves it.",
  "subresource-unknown": "The local server serves the resource, and no server serves this subresource.",
  alone: "The local server does not serve the resource, and no other server is live.",
  "served-by-nobody": "Every live server has published what it serves, and none serves the resource.",
} as const satisfies Record<string, string>;

export type RouteRule = keyof typeof RULES;

export type Route = LocalRoute | PeerRoute | UnavailableRoute | UnknownRoute;

interface Decided {
  readonly rule: RouteRule;
  readonly reason: string;
}

interface LocalRoute extends Decided {
  readonly kind: "local";
}

export interface PeerRoute extends Decided {
  readonly kind: "peer";
  /**
   * Best tier first; no tier is empty. All servers of a tier are equal, and the caller chooses among them at random.
   */
  readonly candidates: readonly (readonly PeerView[])[];
  /** Set if the local server can serve the request as well. It does so if no candidate serves it. */
  readonly fallback?: "local";
}

interface UnavailableRoute extends Decided {
  readonly kind: "unavailable";
  readonly retryAfterSeconds: number;
  /** The server to which the reason refers, if any. */
  readonly peerId: string | undefined;
  /** True if peers serve the request, but the address of none of them is known. */
  readonly isUnresolved: boolean;
}

interface UnknownRoute extends Decided {
  readonly kind: "unknown";
  /** The message of the 404. */
  readonly message: string;
}

const NOT_A_RESOURCE = local("not-a-resource-request");
const SERVED_HERE = local("served-here");
const NO_BETTER_MATCH = local("nobody-fits-client-better");
const NOT_SUPPORTED = local("nobody-supports-it");
const JUDGED_LOCALLY = local("judged-locally");
const VERB_NOT_SERVED = local("verb-not-served");
const SUBRESOURCE_UNKNOWN = local("subresource-unknown");
const ALONE = local("alone");

/** Retry-After for a state that ends by itself within moments, such as a sync, a probe or the fetch of a document. */
const SOON_SECONDS = 1;
/** Retry-After for a state that lasts until an operator starts a server. */
const LATER_SECONDS = 10;
/** Retry-After for a state that lasts until an operator changes the flags of a server. */
const MUCH_LATER_SECONDS = 30;

export function decideRoute(facts: RouteFacts, view: ClusterView): Route {
  if (!facts.isResourceRequest) return NOT_A_RESOURCE;
  // Nearly every request returns here, so nothing is allocated up to this point.
  const isServedHere = serves(view.local, facts);
  if (isServedHere && (facts.needs === undefined || facts.isProxied))
    return facts.compatibilityVersion === undefined || facts.isProxied
      ? SERVED_HERE
      : decideByVersion(facts, view, facts.compatibilityVersion);
  if (facts.isProxied) return decideProxied(facts, view);
  if (!view.isSynced) return unavailable("not-synced", `${view.self.id} does not know its peers yet`);
  if (isServedHere) return decideNeed(facts, view);
  if (view.isDecidedLocally(facts.group, facts.version, facts.resource)) return JUDGED_LOCALLY;
  if (view.missingFlag !== undefined && view.peers.length > 0) return decideWithoutPeers(facts, view, view.missingFlag);
  return decideAmongPeers(facts, view);
}

/**
 * Routes a request that the local server could serve to a peer that matches the client better: a peer of the client's
 * own release or, if the local release is older than that, a peer of a newer release. A request is never rejected
 * because no server matches.
 */
function decideByVersion(facts: RouteFacts, view: ClusterView, wanted: string): Route {
  const { id, release } = view.self;
  if (release === wanted) return SERVED_HERE;
  const isUsable = view.isSynced && view.missingFlag === undefined;
  if (!isUsable || view.isDecidedLocally(facts.group, facts.version, facts.resource)) return NO_BETTER_MATCH;
  const farthest = versionDistance(release, wanted) === OLDER ? OLDER : 1;
  const isBetter = (peer: PeerView): boolean =>
    peer.isDescribed && !peer.isDraining && versionDistance(peer.release, wanted) < farthest;
  const candidates = tiers(facts, view.peers.filter(isServing(facts)).filter(isBetter));
  if (candidates.length === 0) return NO_BETTER_MATCH;
  const reason = `the client requests compatibility with ${wanted}; better matches than ${id} (${release}): ${names(candidates.flat())}`;
  return { kind: "peer", rule: "peer-fits-client", reason, candidates, fallback: "local" };
}

/**
 * Decides about a request that a peer proxied here. It is not proxied again: this server returns 503, and the peer may
 * try another server. Exception: if no server serves the verb, the peer chose this server because it serves the
 * resource, and this server rejects the verb with 405.
 */
function decideProxied(facts: RouteFacts, view: ClusterView): Route {
  const isElsewhere = (peer: PeerView): boolean => !peer.isDescribed || isServing(facts)(peer);
  if (view.isSynced && view.local.has(facts) && !view.peers.some(isElsewhere)) return VERB_NOT_SERVED;
  return unavailable("proxied-but-not-served-here", `${view.self.id} does not serve ${described(facts)}`);
}

function decideNeed(facts: RouteFacts, view: ClusterView): Route {
  const isUsable = view.missingFlag === undefined && !view.isDecidedLocally(facts.group, facts.version, facts.resource);
  if (facts.needs?.kind === "fields") return decideFields(facts, view);
  if (!isUsable) return NOT_SUPPORTED;
  const able = view.peers.filter(isServing(facts)).filter((peer) => isSupporting(facts, view, peer));
  const candidates = tiers(facts, able);
  if (candidates.length === 0) return NOT_SUPPORTED;
  const reason = `${view.self.id} would reject the request, and ${names(candidates.flat())} would accept it`;
  return { kind: "peer", rule: "peer-supports-it", reason, candidates };
}

/**
 * The local server would drop the fields. Therefore the request gets 503 if peers know the fields but none of them can
 * be called now, for example because they are not described yet.
 */
function decideFields(facts: RouteFacts, view: ClusterView): Route {
  const isOut = view.isDecidedLocally(facts.group, facts.version, facts.resource);
  const knowing = view.peers.filter(
    (peer) => isSupporting(facts, view, peer) && (peer.document === undefined || isServing(facts)(peer)),
  );
  const [first] = knowing;
  if (isOut || first === undefined) return NOT_SUPPORTED;
  const what = `${view.self.id} does not know all fields that the request sets; they are known to ${names(knowing)}`;
  if (view.missingFlag !== undefined) {
    const reason = `${what}, which cannot be called: ${view.missingFlag} is not set`;
    return unavailable("peer-flag-missing", reason, { retryAfterSeconds: MUCH_LATER_SECONDS, peerId: first.id });
  }
  const candidates = tiers(facts, knowing.filter(isServing(facts)));
  if (candidates.length > 0) return { kind: "peer", rule: "peer-knows-fields", reason: what, candidates };
  return unavailable("peer-unreachable", `${what}, which ${cannotBeReached(first)}`, { peerId: first.id });
}

/**
 * Decides if no peer can be called. Whether a peer serves a resource that the local server does not serve is unknown,
 * so it returns 503. If the local server serves the resource without this verb, it returns 405.
 */
function decideWithoutPeers(facts: RouteFacts, view: ClusterView, missingFlag: string): Route {
  if (view.local.has(facts)) return VERB_NOT_SERVED;
  const reason = `${view.self.id} does not serve ${described(facts)} and cannot call ${names(view.peers)}: ${missingFlag} is not set`;
  return unavailable("peer-flag-missing", reason, { retryAfterSeconds: MUCH_LATER_SECONDS });
}

function decideAmongPeers(facts: RouteFacts, view: ClusterView): Route {
  const serving = view.peers.filter(isServing(facts));
  if (serving.length > 0) return decideHolders("served-by-peer", serving, { facts, view });

  const undescribed = view.peers.find((peer) => !peer.isDescribed);
  if (undescribed !== undefined) {
    const { id, calledAt, unreachableBecause, undescribedBecause } = undescribed;
    const why = because(unreachableBecause ?? undescribedBecause);
    const reason = `${view.self.id} does not serve ${described(facts)}, and ${serverName(id, calledAt)} has not yet published what it serves${why}`;
    return unavailable("peer-not-described", reason, { peerId: id });
  }
  if (view.local.has(facts)) return VERB_NOT_SERVED;
  const holding = view.peers.filter((peer) => peer.document?.served.has(facts) === true);
  if (holding.length > 0) return decideHolders("verb-not-served", holding, { facts, view });
  return decideUnserved(facts, view);
}

/**
 * Routes to the reachable holders, if possible to those that support the needed feature. If none is reachable, returns
 * a 503 that names one of them.
 */
function decideHolders(
  rule: "served-by-peer" | "verb-not-served",
  holders: readonly PeerView[],
  { facts, view }: { readonly facts: RouteFacts; readonly view: ClusterView },
): Route {
  const supporting = tiers(
    facts,
    holders.filter((peer) => isSupporting(facts, view, peer)),
  );
  const candidates = supporting.length > 0 ? supporting : tiers(facts, holders);
  if (candidates.length > 0) {
    const reason = `${described(facts)} is served by ${names(candidates.flat())}, not by ${view.self.id}`;
    return { kind: "peer", rule, reason, candidates };
  }
  const holder = must(holders[0], "there are holders");
  const reason = `${described(facts)} is served by ${serverName(holder.id, holder.calledAt)}, which ${cannotBeReached(holder)}`;
  const isUnresolved = holders.every(({ address }) => address === undefined);
  return unavailable("peer-unreachable", reason, { peerId: holder.id, isUnresolved });
}

function cannotBeReached({ address, unreachableBecause }: PeerView): string {
  return address === undefined ? "has not published its address" : `cannot be reached${because(unreachableBecause)}`;
}

function because(reason: string | undefined): string {
  return reason === undefined ? "" : ` (${reason})`;
}

function decideUnserved(facts: RouteFacts, view: ClusterView): Route {
  const departed = view.departed(facts);
  if (departed !== undefined) {
    const release = departed.release === undefined ? "" : ` (${departed.release})`;
    const name = serverName(departed.serverId, departed.calledAt);
    const reason = `${described(facts)} was last served by ${name}${release}, which departed at ${departed.departedAt}`;
    return unavailable("departed", reason, { peerId: departed.serverId, retryAfterSeconds: LATER_SECONDS });
  }
  if (facts.subresource !== "" && view.local.has(parentOf(facts))) return SUBRESOURCE_UNKNOWN;
  if (view.peers.length === 0) return ALONE;
  const message = `GVR ${described(facts)} is not served by anything in this cluster`;
  const reason = `neither ${view.self.id} nor ${names(view.peers)} serves ${described(facts)}`;
  return { kind: "unknown", rule: "served-by-nobody", reason, message };
}

/** A method that maps to no verb matches any verb: a server that serves the resource rejects it. */
function serves(set: ServedSet, facts: RouteFacts): boolean {
  return facts.verb === "" ? set.has(facts) : set.hasVerb(facts, facts.verb);
}

function isServing(facts: RouteFacts): (peer: PeerView) => boolean {
  return (peer) => peer.document !== undefined && serves(peer.document.served, facts);
}

function isSupporting(facts: RouteFacts, view: ClusterView, peer: PeerView): boolean {
  return facts.needs === undefined || view.supports(peer, facts, facts.needs);
}

/**
 * The reachable peers in tiers, by how well their release matches the client. Among newer releases the nearest comes
 * first. Draining peers come last.
 */
function tiers(facts: RouteFacts, peers: readonly PeerView[]): PeerView[][] {
  const { compatibilityVersion: wanted } = facts;
  const usable = peers.filter((peer) => peer.isReachable && peer.address !== undefined);
  const byDistance = Map.groupBy(usable, ({ release, isDraining }) => {
    const distance = wanted === undefined ? 0 : versionDistance(release, wanted);
    return isDraining ? LEAVING + distance : distance;
  });
  return [...byDistance].sort(([left], [right]) => left - right).map(([, tier]) => tier);
}

/** A distance greater than that of any release, for older and unknown releases. */
const OLDER = 10_000;
const LEAVING = 2 * OLDER;

/** 0 for the wanted release itself, the number of minor versions by which the release is newer, or OLDER. */
function versionDistance(release: string | undefined, wanted: string): number {
  const distance = release === undefined ? NaN : minorOf(release) - minorOf(wanted);
  return distance >= 0 ? distance : OLDER;
}

/** Whether the text has the form of a Kubernetes release: "1.36". */
export function isMinorVersion(text: string): boolean {
  return /^1\.(0|[1-9][0-9]{0,3})$/.test(text);
}

/** The minor version; NaN if the text is not a release, so that no comparison holds. */
function minorOf(release: string): number {
  return isMinorVersion(release) ? Number(release.slice(2)) : NaN;
}

function parentOf({ group, version, resource }: ResourceQuestion): ResourceQuestion {
  return { group, version, resource, subresource: "" };
}

/** A text such as "apps/v1, deployments/scale". */
function described({ group, version, resource, subresource }: ResourceQuestion): string {
  const below = subresource === "" ? "" : `/${subresource}`;
  return `${formatGroupVersion({ group, version })}, ${resource}${below}`;
}

const NAMES_MAX = 3;

function names(peers: readonly PeerView[]): string {
  return someOf(
    peers.map(({ id, calledAt }) => serverName(id, calledAt)),
    NAMES_MAX,
  );
}

function local(rule: RouteRule): LocalRoute {
  return Object.freeze({ kind: "local", rule, reason: RULES[rule] });
}

function unavailable(
  rule: RouteRule,
  reason: string,
  options: { readonly peerId?: string; readonly retryAfterSeconds?: number; readonly isUnresolved?: boolean } = {},
): UnavailableRoute {
  const { peerId, retryAfterSeconds = SOON_SECONDS, isUnresolved = false } = options;
  return { kind: "unavailable", rule, reason, retryAfterSeconds, peerId, isUnresolved };
}
