/**
 * Fetches the discovery document of a peer: in a format that every release supports, with If-None-Match, and within
 * size limits.
 */
import { decodeGroups, decodeResourceList } from "../../serving/discovery/decode.ts";
import type { DiscoveryGroup, DiscoveryVersion } from "../../serving/discovery/groups.ts";
import { SERVER_ID_HEADER, SERVER_RUN_HEADER } from "../../serving/discovery/handlers.ts";
import type { WholeResponse } from "../../serving/http/own-request.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { isJsonObject } from "../../meta/json.ts";
import type { RequestPeer } from "./request-peer.ts";

export interface PeerDocument {
  readonly groups: readonly DiscoveryGroup[];
  /**
   * Equal for equal documents. It consists of the ETags of /api and /apis or, if one of them has no ETag, of the groups
   * themselves.
   */
  readonly etag: string;
  readonly etags: Readonly<Record<string, string | undefined>>;
}

/**
 * The peer sent a response that is not its discovery document. The message contains no text of the response, so that it
 * can be shown to users.
 */
export class PeerResponseError extends Error {
  override readonly name = "PeerResponseError";
}

interface FetchOptions {
  readonly ask: RequestPeer;
  readonly address: UpstreamAddress;
  /** The server ID that is expected at the address. */
  readonly peerId: string;
  /**
   * The run that the record of the peer shows. In a store that was restored from a backup, this may be an earlier run,
   * with other resources; undefined if the peer publishes none.
   */
  readonly run: string | undefined;
  readonly known: PeerDocument | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const PATHS = ["/api", "/apis"] as const;
const DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/**
 * The formats of the discovery document in order of preference: the document of the peer alone (profile=nopeer), v2,
 * v2beta1 for releases without v2, and the unaggregated format for releases without either.
 */
const ACCEPT = [
  `${AGGREGATED};profile=nopeer`,
  AGGREGATED,
  "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  "application/json",
].join(",");

/** Returns the known document itself if the peer confirms that it is unchanged. */
export async function fetchPeerDocument(options: FetchOptions): Promise<PeerDocument> {
  const { known } = options;
  const responses = await Promise.all(
    PATHS.map(async (path) => ({ path, answer: await askPath(options, path, known?.etags[path]) })),
  );
  if (known !== undefined && responses.every(({ answer }) => answer.status === 304)) return known;
  const parts = await Promise.all(
    responses.map(async ({ path, answer }) => {
      const whole = answer.status === 304 ? await askPath(options, path, undefined) : answer;
      return { path, ...(await describedBy(options, path, whole)) };
    }),
  );
  const etags = Object.fromEntries(parts.map(({ path, etag }) => [path, etag]));
  const groups = parts.flatMap((part) => part.groups);
  const isNamed = parts.every(({ etag }) => etag !== undefined);
  const etag = isNamed ? parts.map((part) => part.etag).join(" ") : JSON.stringify(groups);
  return { groups, etag, etags };
}

async function askPath(options: FetchOptions, target: string, etag: string | undefined): Promise<WholeResponse> {
  const { ask, address, peerId, run, timeoutMs, signal } = options;
  const condition = etag === undefined ? [] : ["If-None-Match", etag];
  const headers = ["Accept", ACCEPT, ...condition];
  const response = await ask({ address, target, headers, timeoutMs, bytesMax: DOCUMENT_BYTES_MAX, signal });
  // As kube-apiserver: a server without the core group has no /api.
  const isFine = response.status === 200 || response.status === 304 || (response.status === 404 && target === "/api");
  if (!isFine) throw new PeerResponseError(statusInWords(response.status));
  const answeredBy = response.header(SERVER_ID_HEADER) ?? peerId;
  if (answeredBy !== peerId) throw new PeerResponseError(`its address leads to ${serverIn(answeredBy)}`);
  if (run !== undefined && (response.header(SERVER_RUN_HEADER) ?? run) !== run)
    throw new PeerResponseError("it has restarted since it wrote its endpoint record");
  return response;
}

/** With 401 and 403 the peer rejects the front-proxy credentials of this server, or the user for which they stand. */
function statusInWords(status: number): string {
  return status === 401 || status === 403 ? `HTTP ${status}: not accepted as a peer` : `HTTP ${status}`;
}

const SERVER_ID = /^[A-Za-z0-9][\w.:-]{0,252}$/;

function serverIn(header: string): string {
  return SERVER_ID.test(header) ? header : "another server";
}

interface Described {
  readonly groups: DiscoveryGroup[];
  /**
   * The ETag of a complete document. Undefined for the legacy list of groups, which does not change when a resource is
   * added or removed.
   */
  readonly etag: string | undefined;
}

async function describedBy(options: FetchOptions, path: string, answer: WholeResponse): Promise<Described> {
  if (answer.status === 404) return { groups: [], etag: undefined };
  const document: unknown = JSON.parse(answer.body.toString("utf8"));
  if (!isJsonObject(document)) throw new Error("the peer's discovery document is not an object");
  if (document["kind"] === "APIGroupDiscoveryList")
    return { groups: decodeGroups(document), etag: answer.header("etag") };
  return { groups: await legacyGroups(options, path, document), etag: undefined };
}

/** Fetches each group version from a peer that is too old for aggregated discovery. */
async function legacyGroups(options: FetchOptions, path: string, document: object): Promise<DiscoveryGroup[]> {
  const groups = path === "/api" ? [{ name: "", versions: coreVersions(document) }] : namedGroups(document);
  const described: DiscoveryGroup[] = [];
  let bytesLeft = DOCUMENT_BYTES_MAX;
  for (const { name, versions } of groups) {
    const lists: DiscoveryVersion[] = [];
    for (const version of versions) {
      const target = name === "" ? `/api/${version}` : `/apis/${name}/${version}`;
      const response = await askPath(options, target, undefined);
      bytesLeft -= response.body.length;
      if (bytesLeft < 0) throw new Error(`the peer's discovery documents exceed ${DOCUMENT_BYTES_MAX} bytes`);
      lists.push(decodeResourceList(JSON.parse(response.body.toString("utf8")), { group: name, version }));
    }
    described.push({ name, versions: lists });
  }
  return described;
}

const LEGACY_GROUPS_MAX = 500;
const LEGACY_VERSIONS_MAX = 20;
const LEGACY_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

function coreVersions(document: object): string[] {
  return names((document as { versions?: unknown }).versions, LEGACY_VERSIONS_MAX);
}

function namedGroups(document: object): { name: string; versions: string[] }[] {
  const { groups } = document as { groups?: unknown };
  if (!Array.isArray(groups) || groups.length > LEGACY_GROUPS_MAX) throw notDiscovery();
  return groups.map((group: unknown) => {
    if (!isJsonObject(group) || !Array.isArray(group["versions"])) throw notDiscovery();
    const versions = group["versions"].map((entry: unknown) => (isJsonObject(entry) ? entry["version"] : undefined));
    return { name: checkedName(group["name"]), versions: names(versions, LEGACY_VERSIONS_MAX) };
  });
}

/** Validates names of groups and versions, because they become parts of the paths that this server requests. */
function names(values: unknown, countMax: number): string[] {
  if (!Array.isArray(values) || values.length > countMax) throw notDiscovery();
  return values.map(checkedName);
}

function checkedName(value: unknown): string {
  if (typeof value !== "string" || !LEGACY_NAME.test(value)) throw notDiscovery();
  return value;
}

function notDiscovery(): Error {
  return new Error("the peer's response is not a discovery document");
}
