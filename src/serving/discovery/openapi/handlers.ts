/**
 * Serves /openapi/v2 and /openapi/v3. Clients see the built-in resources of the whole cluster or of its newest server,
 * and the custom and aggregated resources as this server reads them from the store. Peers see only the built-in
 * resources of this server.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { WithInfo } from "../../http/filters/request-info.ts";
import { bytesBody, headerValue, NO_BODY, type ApiResponse, type ResponseHeaders } from "../../http/message.ts";
import { parseAccept } from "../../http/negotiate.ts";
import { jsonBytes, pageNotFound, UNCACHED } from "../../http/respond.ts";
import { notAcceptable, serviceUnavailable } from "../../../meta/status-error.ts";
import type { CustomOpenApi } from "./custom.ts";
import { withCustomDocuments } from "./custom-documents.ts";
import type { OpenApiIndex } from "./decode-peer-response.ts";
import { documentUrl, encodeIndex, type EncodedOpenApi, type OpenApiDocuments } from "./documents.ts";
import { createLocalDocuments } from "./local.ts";
import { createMergedDocuments } from "./merged.ts";
import { createModelCatalog } from "./model-catalog.ts";
import { createNewestDocuments } from "./newest.ts";
import type { OpenApiPeers } from "./peers.ts";
import type { RunInNextTurn } from "./v2-encode.ts";

const V2_PROTOBUF_ACCEPT = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const V2_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const INDEX_TYPE = "text/plain; charset=utf-8";
const YEAR_SECONDS = 365 * 24 * 3600;
const RETRY_AFTER_SECONDS = 1;
/** Clients and peers see different indexes. */
const INDEXES_KEPT_MAX = 4;

export interface OpenApiOptions {
  readonly catalog: Catalog;
  /** The custom resources, which are served in addition to the catalog. */
  readonly custom?: CustomOpenApi;
  readonly clock: Clock;
  readonly log: Log;
  /** The ID of this server, which is part of its rank among the peers. */
  readonly serverId: string;
  readonly binaryVersion?: string;
  /** Selects the servers whose documents clients see: all of them, or the newest. Default: merged. */
  readonly mode?: "merged" | "newest";
  /** Undefined if this server shows its own documents to every client. */
  readonly peers: OpenApiPeers | undefined;
  /** Runs the callback in the next turn of the event loop. Without it, documents are built in one turn. */
  readonly nextTurn?: RunInNextTurn | undefined;
  /** Adds the documents of aggregated API servers to those that clients see. */
  readonly extend?: (base: OpenApiDocuments) => OpenApiDocuments;
}

type OpenApiRequest = WithInfo & { readonly isVerifiedPeer: boolean };

export function openApiHandler(options: OpenApiOptions): (request: OpenApiRequest) => Promise<ApiResponse> {
  const { catalog, custom, clock, log, serverId, binaryVersion, peers, mode = "merged", nextTurn } = options;
  const local = createLocalDocuments(catalog, nextTurn);
  const self = { serverId, release: catalog.release.name, binaryVersion };
  const create = mode === "merged" ? createMergedDocuments : createNewestDocuments;
  const { extend = (base): OpenApiDocuments => base } = options;
  const builtIn = peers === undefined ? local : create({ self, local, peers, clock, log, nextTurn });
  const models = peers === undefined ? (): Catalog => catalog : createModelCatalog({ self, mode, peers });
  const ofCluster = extend(
    custom === undefined ? builtIn : withCustomDocuments(builtIn, { custom, catalog: models, nextTurn }),
  );
  const encodedIndex = createIndexEncoder();
  return async (request) => {
    const documents = request.isVerifiedPeer ? local : ofCluster;
    const [, version, ...rest] = request.info.segments;
    if (version === "v2" && rest.length === 0) return v2Response(request, documents);
    if (version !== "v3") return pageNotFound();
    // As kubernetes: the content type of the index is the one that its file server guesses.
    if (rest.length === 0)
      return cacheable(request, encodedIndex(await documents.index()), { "content-type": INDEX_TYPE });
    return v3Response(request, { documents, path: rest.join("/"), clock });
  };
}

/** Encodes an index once for clients, and once for peers, until its content changes. */
function createIndexEncoder(): (index: OpenApiIndex) => EncodedOpenApi {
  const encoded = new Map<string, EncodedOpenApi>();
  return (index) => {
    const known = encoded.get(index.digest);
    if (known !== undefined) return known;
    if (encoded.size >= INDEXES_KEPT_MAX) encoded.clear();
    const fresh = encodeIndex(index.hashes);
    encoded.set(index.digest, fresh);
    return fresh;
  };
}

/**
 * A response under the document's own hash may be cached forever, because the document of a hash never changes. A
 * request with an unknown hash is redirected.
 */
async function v3Response(
  request: WithInfo,
  { documents, path, clock }: { documents: OpenApiDocuments; path: string; clock: Clock },
): Promise<ApiResponse> {
  const asked = request.query.get("hash");
  const found = await documents.find(path, asked);
  switch (found.kind) {
    case "unknown":
      return { status: 404, headers: { "cache-control": UNCACHED }, body: NO_BODY };
    case "unavailable":
      throw serviceUnavailable(found.message, RETRY_AFTER_SECONDS);
    case "moved":
      return { status: 301, headers: { location: documentUrl(path, found.hash) }, body: NO_BODY };
    case "document": {
      if (asked !== found.document.hash) return cacheable(request, found.document, {});
      const expires = new Date(clock.now() + YEAR_SECONDS * 1000).toUTCString();
      return cacheable(request, found.document, { "cache-control": "public, immutable", expires });
    }
  }
}

async function v2Response(request: WithInfo, documents: OpenApiDocuments): Promise<ApiResponse> {
  const accept = headerValue(request.headers, "accept");
  for (const { type } of parseAccept(accept === undefined || accept === "" ? "*/*" : accept)) {
    if (type === V2_PROTOBUF_ACCEPT || type === V2_PROTOBUF_TYPE)
      return cacheable(request, await documents.v2Protobuf(), { "content-type": V2_PROTOBUF_TYPE });
    if (type === "application/json" || type === "application/*" || type === "*/*")
      return cacheable(request, await documents.v2(), {});
  }
  throw notAcceptable(["application/json", V2_PROTOBUF_ACCEPT]);
}

function cacheable(request: WithInfo, document: EncodedOpenApi, headers: ResponseHeaders): ApiResponse {
  const etag = `"${document.hash}"`;
  const all: ResponseHeaders = { etag, vary: "Accept", "cache-control": UNCACHED, ...headers };
  if (headerValue(request.headers, "if-none-match") === etag) return { status: 304, headers: all, body: NO_BODY };
  if (headers["content-type"] !== undefined) return { status: 200, headers: all, body: bytesBody(document.bytes) };
  return jsonBytes(200, [document.bytes], all);
}
