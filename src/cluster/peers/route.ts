/**
 * Who answers a request: one pure decision from what is asked and what this server believes about its cluster. Every
 * answer of the proxy, `explain-route` and the console print what is returned here, never a second opinion.
 *
 * Two promises: 404 means that nobody serves it, so `unknown` is concluded only when every live server has said what it
 * serves and none that left a short while ago served it; and a request makes at most one hop.
 */
import { someOf } from "../../base/some-of.ts";
import { must } from "../../base/assert.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import type { ServedSet } from "./served-set.ts";
import type { CapabilityNeed, ClusterView, PeerView, ResourceQuestion } from "./view.ts";

export interface RouteFacts extends ResourceQuestion {
  readonly isResourceRequest: boolean;
  /** As RequestInfo says it; "" for a method that stands for no verb. */
  readonly verb: string;
  /** A verified peer sent it here. Whoever else claims so is not believed before this. */
  readonly isProxied: boolean;
  /** What the local server would refuse and another might not; undefined when it would not refuse. */
  readonly needs?: CapabilityNeed | undefined;
  /** The release the client was made for, such as "1.36": servers of it come first, then those of greater ones. */
  readonly compatibilityVersion?: string | undefined;
}

/** Each way to decide, by a name that stays, in one sentence. */
export const RULES = {
  "not-a-resource-request": "What is not about a resource is answered by the server that was asked.",
  "served-here": "The server that was asked serves the resource with this verb.",
  "peer-fits-client":
    "This server serves it, but a peer does too whose release fits the one that the client was made for better.",
  "nobody-fits-client-better":
    "This server serves it, and no peer that can be asked fits the release that the client was made for better.",
  "proxied-but-not-served-here": "A peer sent the request here, but it is not served here; the peer may try another.",
  "not-synced": "This server does not know yet what it serves or who its peers are.",
  "peer-supports-it": "This server serves the resource but would refuse the request, and a peer would not.",
  "peer-knows-fields": "The request names fields that this server does not know and a peer does.",
  "nobody-supports-it":
    "This server serves the resource but refuses the request, and no peer that can be asked differs.",
  "judged-locally": "Custom and aggregated resources live in the shared store: each server judges them by itself.",
  "peer-flag-missing": "Another server may serve it, but a flag without which no peer can be asked is not set.",
  "served-by-peer": "It is not served here, and a peer that can be reached serves it.",
  "peer-unreachable": "Only a peer that cannot be reached serves it.",
  "peer-not-described": "A live server has not said yet what it serves now.",
  "verb-not-served": "Nobody serves this verb; whoever serves the resource says so.",
  departed: "A server that served it has left a short while ago, and no live one serves it.",
  "subresource-unknown": "The resource is served here, and nobody serves this subresource.",
  alone: "It is not served here, and there is no other server.",
  "served-by-nobody": "Every live server has said what it serves, and none serves it.",
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
  /** Best tier first, none empty; within a tier all are equal, and the caller draws lots. */
  readonly candidates: readonly (readonly PeerView[])[];
  /** This server serves it as well: it answers when no candidate could be asked. */
  readonly fallback?: "local";
}

interface UnavailableRoute extends Decided {
  readonly kind: "unavailable";
  readonly retryAfterSeconds: number;
  /** The server it is about, if it is about one. */
  readonly peerId: string | undefined;
}

interface UnknownRoute extends Decided {
  readonly kind: "unknown";
  /** For the 404. */
  readonly message: string;
}

const NOT_A_RESOURCE = local("not-a-resource-request");
const SERVED_HERE = local("served-here");
const NOBODY_FITS_BETTER = local("nobody-fits-client-better");
const NOBODY_SUPPORTS_IT = local("nobody-supports-it");
const JUDGED_LOCALLY = local("judged-locally");
const VERB_NOT_SERVED = local("verb-not-served");
const SUBRESOURCE_UNKNOWN = local("subresource-unknown");
const ALONE = local("alone");

/** Passes by itself within moments: a sync, a probe, a document. */
const SOON_SECONDS = 1;
/** Needs somebody to start a server again. */
const LATER_SECONDS = 10;
/** Needs somebody to change how a server is started. */
const MUCH_LATER_SECONDS = 30;

export function decideRoute(facts: RouteFacts, view: ClusterView): Route {
  if (!facts.isResourceRequest) return NOT_A_RESOURCE;
  // Nearly every request ends here, so nothing is allocated up to this point.
  const isServedHere = serves(view.local, facts);
  if (isServedHere && (facts.needs === undefined || facts.isProxied))
    return facts.compatibilityVersion === undefined || facts.isProxied
      ? SERVED_HERE
      : decideByVersion(facts, view, facts.compatibilityVersion);
  if (facts.isProxied) return decideProxied(facts, view);
  if (!view.isSynced) return unavailable("not-synced", `${view.self.id} does not know its peers yet`);
  if (isServedHere) return decideNeed(facts, view);
  if (view.isJudgedLocally(facts.group, facts.version, facts.resource)) return JUDGED_LOCALLY;
  if (view.missingFlag !== undefined && view.peers.length > 0) return decideWithoutPeers(facts, view, view.missingFlag);
  return decideAmongPeers(facts, view);
}

/**
 * What is served here goes elsewhere only for a better fit: to a peer of the client's own release; to one of a greater
 * release only if this server's is neither. Nothing is refused for want of one.
 */
function decideByVersion(facts: RouteFacts, view: ClusterView, wanted: string): Route {
  const { id, release } = view.self;
  if (release === wanted) return SERVED_HERE;
  const isUsable = view.isSynced && view.missingFlag === undefined;
  if (!isUsable || view.isJudgedLocally(facts.group, facts.version, facts.resource)) return NOBODY_FITS_BETTER;
  const farthest = versionDistance(release, wanted) === OLDER ? OLDER : 1;
  const isBetter = (peer: PeerView): boolean =>
    peer.isDescribed && !peer.isDraining && versionDistance(peer.release, wanted) < farthest;
  const candidates = tiers(facts, view.peers.filter(isServing(facts)).filter(isBetter));
  if (candidates.length === 0) return NOBODY_FITS_BETTER;
  const reason = `the client was made for ${wanted}, which ${names(candidates.flat())} fits better than ${id} (${release})`;
  return { kind: "peer", rule: "peer-fits-client", reason, candidates, fallback: "local" };
}

/**
 * Nobody is asked a second time. A verb that nobody serves is refused by whoever serves the resource, which is why a
 * peer may have sent it here.
 */
function decideProxied(facts: RouteFacts, view: ClusterView): Route {
  const isElsewhere = (peer: PeerView): boolean => !peer.isDescribed || isServing(facts)(peer);
  if (view.isSynced && view.local.has(facts) && !view.peers.some(isElsewhere)) return VERB_NOT_SERVED;
  return unavailable("proxied-but-not-served-here", `${view.self.id} does not serve ${described(facts)}`);
}

function decideNeed(facts: RouteFacts, view: ClusterView): Route {
  const isUsable = view.missingFlag === undefined && !view.isJudgedLocally(facts.group, facts.version, facts.resource);
  if (facts.needs?.kind === "fields") return decideFields(facts, view);
  if (!isUsable) return NOBODY_SUPPORTS_IT;
  const able = view.peers.filter(isServing(facts)).filter((peer) => isSupporting(facts, view, peer));
  const candidates = tiers(facts, able);
  if (candidates.length === 0) return NOBODY_SUPPORTS_IT;
  const reason = `${view.self.id} would refuse what ${names(candidates.flat())} would not`;
  return { kind: "peer", rule: "peer-supports-it", reason, candidates };
}

/** What is dropped is lost, so a peer that knows the fields is waited for, also before it has said what it serves. */
function decideFields(facts: RouteFacts, view: ClusterView): Route {
  const isOut = view.isJudgedLocally(facts.group, facts.version, facts.resource);
  const knowing = view.peers.filter(
    (peer) => isSupporting(facts, view, peer) && (peer.document === undefined || isServing(facts)(peer)),
  );
  const [first] = knowing;
  if (isOut || first === undefined) return NOBODY_SUPPORTS_IT;
  const what = `${view.self.id} does not know all fields that the request names, and ${names(knowing)} does`;
  if (view.missingFlag !== undefined) {
    const reason = `${what} but cannot be asked: ${view.missingFlag} is not set`;
    return unavailable("peer-flag-missing", reason, { retryAfterSeconds: MUCH_LATER_SECONDS, peerId: first.id });
  }
  const candidates = tiers(facts, knowing.filter(isServing(facts)));
  if (candidates.length > 0) return { kind: "peer", rule: "peer-knows-fields", reason: what, candidates };
  return unavailable("peer-unreachable", `${what} but cannot be reached`, { peerId: first.id });
}

/** What is not served here cannot be known to be served by nobody; what is served here without the verb is 405. */
function decideWithoutPeers(facts: RouteFacts, view: ClusterView, missingFlag: string): Route {
  if (view.local.has(facts)) return VERB_NOT_SERVED;
  const reason = `${view.self.id} does not serve ${described(facts)} and cannot ask ${names(view.peers)}: ${missingFlag} is not set`;
  return unavailable("peer-flag-missing", reason, { retryAfterSeconds: MUCH_LATER_SECONDS });
}

function decideAmongPeers(facts: RouteFacts, view: ClusterView): Route {
  const serving = view.peers.filter(isServing(facts));
  if (serving.length > 0) return decideHolders("served-by-peer", serving, { facts, view });

  const undescribed = view.peers.find((peer) => !peer.isDescribed);
  if (undescribed !== undefined) {
    const reason = `${view.self.id} does not serve ${described(facts)}, and ${undescribed.id} has not said yet what it serves now`;
    return unavailable("peer-not-described", reason, { peerId: undescribed.id });
  }
  if (view.local.has(facts)) return VERB_NOT_SERVED;
  const holding = view.peers.filter((peer) => peer.document?.served.has(facts) === true);
  if (holding.length > 0) return decideHolders("verb-not-served", holding, { facts, view });
  return decideNobody(facts, view);
}

/** Peers that have it: those that can be reached, or 503 naming one that cannot. */
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
  const { id: peerId, address } = must(holders[0], "there are holders");
  const why = address === undefined ? "has not said where it can be reached" : "cannot be reached";
  return unavailable("peer-unreachable", `${described(facts)} is served by ${peerId}, which ${why}`, { peerId });
}

function decideNobody(facts: RouteFacts, view: ClusterView): Route {
  const departed = view.departed(facts);
  if (departed !== undefined) {
    const release = departed.release === undefined ? "" : ` (${departed.release})`;
    const reason = `${described(facts)} was last served by ${departed.serverId}${release}, which left at ${departed.departedAt}`;
    return unavailable("departed", reason, { peerId: departed.serverId, retryAfterSeconds: LATER_SECONDS });
  }
  if (facts.subresource !== "" && view.local.has(parentOf(facts))) return SUBRESOURCE_UNKNOWN;
  if (view.peers.length === 0) return ALONE;
  const message = `GVR ${described(facts)} is not served by anything in this cluster`;
  const reason = `neither ${view.self.id} nor ${names(view.peers)} serves ${described(facts)}`;
  return { kind: "unknown", rule: "served-by-nobody", reason, message };
}

/** A method that stands for no verb is refused by whoever serves the resource. */
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
 * Those that can be reached: by how well their release fits the client, and those that are leaving after all others.
 * Among greater releases the nearest comes first.
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

/** Farther than any release: older ones, and those that do not tell. */
const OLDER = 10_000;
const LEAVING = 2 * OLDER;

/** 0 for the release itself, else by how many minors a release is greater. */
function versionDistance(release: string | undefined, wanted: string): number {
  const distance = release === undefined ? NaN : minorOf(release) - minorOf(wanted);
  return distance >= 0 ? distance : OLDER;
}

/** Whether it may stand for a release of Kubernetes: "1.36". */
export function isMinorVersion(text: string): boolean {
  return /^1\.(0|[1-9][0-9]{0,3})$/.test(text);
}

/** Not a number for what is no release: then no comparison holds. */
function minorOf(release: string): number {
  return isMinorVersion(release) ? Number(release.slice(2)) : NaN;
}

function parentOf({ group, version, resource }: ResourceQuestion): ResourceQuestion {
  return { group, version, resource, subresource: "" };
}

/** "apps/v1, deployments/scale" */
function described({ group, version, resource, subresource }: ResourceQuestion): string {
  const below = subresource === "" ? "" : `/${subresource}`;
  return `${formatGroupVersion({ group, version })}, ${resource}${below}`;
}

const NAMES_MAX = 3;

function names(peers: readonly PeerView[]): string {
  return someOf(
    peers.map(({ id }) => id),
    NAMES_MAX,
  );
}

function local(rule: RouteRule): LocalRoute {
  return Object.freeze({ kind: "local", rule, reason: RULES[rule] });
}

function unavailable(
  rule: RouteRule,
  reason: string,
  options: { readonly peerId?: string; readonly retryAfterSeconds?: number } = {},
): UnavailableRoute {
  const { peerId, retryAfterSeconds = SOON_SECONDS } = options;
  return { kind: "unavailable", rule, reason, retryAfterSeconds, peerId };
}
