/**
 * Serves discovery over HTTP. By `mode`, clients see the resources of the whole cluster, of its newest server, or of
 * this server. Clients that send profile=nopeer see the resources of this server only, and peers see only the groups of
 * `forPeers`.
 */
import type { WithInfo } from "../http/filters/request-info.ts";
import { bytesBody, headerValue, NO_BODY, type ApiResponse } from "../http/message.ts";
import { NAMED_TYPES, plainMedia } from "../http/negotiate.ts";
import { jsonBytes, pageNotFound } from "../http/respond.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { methodNotAllowed, notAcceptable, serviceUnavailable, unknownResource } from "../../meta/status-error.ts";
import { toYaml } from "../../objects/yaml/yaml.ts";
import { createDiscoveryCache, type CacheOptions, type Documents, type EncodedDiscovery } from "./cache.ts";
import { aggregatedGroups, apiGroup, apiGroupList, apiVersions, resourceList } from "./document.ts";
import { createAggregatedChooser, isNoneMatch, type AggregatedChoice } from "./negotiate.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

export interface DiscoveryOptions extends CacheOptions {
  readonly gates: ReleaseGates;
  /**
   * False if clients get only the legacy forms. Peers always receive the aggregated form, from which they learn what
   * this server serves.
   */
  readonly servesAggregated: boolean;
  /**
   * "aggregated": only the aggregated form of /apis shows the resources of other servers, as in kubernetes. "all":
   * every form does.
   */
  readonly mergeScope: "all" | "aggregated";
  /**
   * True if a live server has not published its discovery document, or if the live servers are not known yet. A group
   * that no known document lists may then still be served.
   */
  readonly hasUndescribed: () => boolean;
  /** host:port at which clients reach this server. */
  readonly serverAddress: () => string;
}

/** A verified peer receives only the groups of `forPeers`, whatever form it asks for. */
export type DiscoveryRequest = WithInfo & { readonly isVerifiedPeer: boolean };

const RETRY_AFTER_SECONDS = 1;

/** Response headers that tell a peer which server sent the discovery document, and in which of its runs. */
export const SERVER_ID_HEADER = "x-evenkeel-server-id";
export const SERVER_RUN_HEADER = "x-evenkeel-server-run";

// The types and keys are constants, because concatenating them would be most of the cost of a cached response.
const AGGREGATED_TYPES = {
  v2: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
  v2beta1: "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
} as const;
const AGGREGATED_KEYS = {
  api: { v2: "api v2", v2beta1: "api v2beta1", peer: "api peer" },
  apis: { v2: "apis v2", v2beta1: "apis v2beta1", peer: "apis peer" },
} as const;

/** Serves /api, /apis and the paths of their groups and versions; returns undefined for other paths. */
export function discoveryHandler(options: DiscoveryOptions): (request: DiscoveryRequest) => ApiResponse | undefined {
  const { self, mode, mergeScope, metrics, serverAddress } = options;
  const cache = createDiscoveryCache(options);
  const chooseAggregated = createAggregatedChooser(options.gates);
  const noPeerRequests = metrics
    .counter({
      name: "aggregator_discovery_nopeer_requests_total",
      help: "Requests for the resources of this server alone.",
    })
    .with();
  const isOfCluster = ({ isVerifiedPeer }: DiscoveryRequest, isInScope: boolean): boolean =>
    mode !== "local" && isInScope && !isVerifiedPeer;
  const documentsFor = (request: DiscoveryRequest, isInScope: boolean): Documents => {
    if (request.isVerifiedPeer) return cache.forPeers();
    return isOfCluster(request, isInScope) ? cache.ofCluster() : cache.local();
  };

  const isNotBuiltIn = (group: string | undefined): boolean =>
    options.forPeers !== undefined && !options.forPeers.some(({ name }) => name === group);

  const aggregatedDocument = (request: DiscoveryRequest, prefix: ApiPrefix, choice: AggregatedChoice): ApiResponse => {
    if (choice.isNoPeer) noPeerRequests.inc();
    const isInScope = !choice.isNoPeer && (mergeScope === "all" || prefix === "apis");
    const response = aggregated(request, prefix, choice, documentsFor(request, isInScope));
    return request.isVerifiedPeer ? signed(response, self) : response;
  };
  const noDocument = (request: DiscoveryRequest, missing: MissingDocument): ApiResponse => {
    const { apiPrefix, segments } = request.info;
    if (isOfCluster(request, mergeScope === "all") && options.hasUndescribed())
      throw serviceUnavailable("a live server has not yet published what it serves", RETRY_AFTER_SECONDS);
    // As kubernetes: an unknown version of a group that is not built in returns the plain 404 page, not a Status.
    if (missing === "unknown-group" || (apiPrefix === "apis" && isNotBuiltIn(segments[1]))) return pageNotFound();
    throw unknownResource();
  };

  const aggregatedChoice = (
    { info, isVerifiedPeer }: DiscoveryRequest,
    accept: string | undefined,
  ): AggregatedChoice | undefined => {
    const isServed = info.segments.length === 1 && (options.servesAggregated || isVerifiedPeer);
    return isServed ? chooseAggregated(accept) : undefined;
  };

  return (request) => {
    const { apiPrefix, segments, verb } = request.info;
    if (apiPrefix !== "api" && apiPrefix !== "apis") return undefined;
    // As kubernetes: the method is checked only on paths with a route of their own (/api, and the group versions of
    // built-in groups).
    const isRoute = apiPrefix === "api" || (segments.length === 3 && !isNotBuiltIn(segments[1]));
    if (segments.length === 1 && isRoute && verb !== "get") throw methodNotAllowed();
    const accept = headerValue(request.headers, "accept");
    const choice = aggregatedChoice(request, accept);
    if (choice !== undefined) return aggregatedDocument(request, apiPrefix, choice);
    const document = plainDocument(documentsFor(request, mergeScope === "all"), segments, serverAddress);
    if (typeof document === "string") return noDocument(request, document);
    if (isRoute && verb !== "get") throw methodNotAllowed();
    const media = plainMedia(accept);
    if (media === undefined) throw notAcceptable(NAMED_TYPES);
    return media === "json" ? jsonBytes(200, [document.bytes]) : yamlDocument(document);
  };
}

type ApiPrefix = "api" | "apis";
type MissingDocument = "unknown-group" | "unknown-version";

/** Adds the ID and run of this server, so that a peer that expected another server or run rejects the document. */
function signed(answer: ApiResponse, { id, run }: CacheOptions["self"]): ApiResponse {
  const headers = { ...answer.headers, [SERVER_ID_HEADER]: id };
  return { ...answer, headers: run === undefined ? headers : { ...headers, [SERVER_RUN_HEADER]: run } };
}

function aggregated(
  request: DiscoveryRequest,
  prefix: ApiPrefix,
  { version }: AggregatedChoice,
  documents: Documents,
): ApiResponse {
  const form = request.isVerifiedPeer && version === "v2" ? "peer" : version;
  const { bytes, etag } = documents.encoded(AGGREGATED_KEYS[prefix][form], () =>
    aggregatedGroups(documents.groups, prefix, form),
  );
  const headers = { etag, vary: "Accept", "cache-control": "public" };
  if (!isNoneMatch(headerValue(request.headers, "if-none-match"), etag)) return { status: 304, headers, body: NO_BODY };
  return jsonBytes(200, [bytes], {
    "content-type": AGGREGATED_TYPES[version],
    etag,
    vary: "Accept",
    "cache-control": "public",
  });
}

function plainDocument(
  documents: Documents,
  segments: readonly string[],
  serverAddress: () => string,
): EncodedDiscovery | MissingDocument {
  const [prefix, first, second] = segments;
  const key = segments.join("/");
  if (first === undefined) {
    if (prefix === "apis") return documents.encoded(key, () => apiGroupList(documents.groups));
    const address = serverAddress();
    return documents.encoded(`${key} at ${address}`, () => apiVersions(documents.groups, address));
  }
  const name = prefix === "api" ? "" : first;
  const version = prefix === "api" ? first : second;
  const group = documents.group(name);
  if (group === undefined || (name === "" && prefix !== "api"))
    return prefix === "api" ? "unknown-version" : "unknown-group";
  if (version === undefined) return documents.encoded(key, () => apiGroup(group));
  const served = group.versions.find((candidate) => candidate.version === version);
  if (served === undefined) return "unknown-version";
  // A legacy list cannot be marked as stale, so the response is an error: clients then treat the resources as unknown,
  // not as absent.
  if (served.freshness === "Stale") {
    const groupVersion = formatGroupVersion({ group: name, version });
    throw serviceUnavailable(`no server that serves ${groupVersion} is reachable`, RETRY_AFTER_SECONDS);
  }
  return documents.encoded(key, () => resourceList(name, served));
}

function yamlDocument(document: EncodedDiscovery): ApiResponse {
  const text = toYaml(JSON.parse(document.bytes.toString("utf8")));
  return { status: 200, headers: { "content-type": "application/yaml" }, body: bytesBody(Buffer.from(text)) };
}
