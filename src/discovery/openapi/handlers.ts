/** /openapi/v2 and /openapi/v3: documents are made when first asked for, then kept. */
import { createHash } from "node:crypto";
import type { Catalogue, CatalogueGroup } from "../../catalogue/catalogue.ts";
import type { WithInfo } from "../../http/filters/request-info.ts";
import { bytesBody, headerValue, NO_BODY, type ApiResponse, type ResponseHeaders } from "../../http/message.ts";
import { parseAccept } from "../../http/negotiate.ts";
import { jsonBytes, pageNotFound } from "../../http/respond.ts";
import { notAcceptable } from "../../meta/status-error.ts";
import { apiResourceList } from "../document.ts";
import { openApiV2Document } from "./v2.ts";
import { encodeOpenApiV2 } from "./v2-protobuf.ts";
import { openApiV3Document } from "./v3.ts";

interface Encoded {
  readonly bytes: Buffer;
  readonly hash: string;
}

const V2_PROTOBUF_ACCEPT = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const V2_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
const YEAR_SECONDS = 365 * 24 * 3600;

export interface OpenApiOptions {
  readonly catalogue: Catalogue;
  /** Wall-clock time in ms, for Expires. */
  readonly now: () => number;
}

/** Part of every hash: raised when documents come to look different for the same catalogue. */
const FORMAT = 1;

export function openApiHandler(options: OpenApiOptions): (request: WithInfo) => ApiResponse {
  const { catalogue } = options;
  const made = new Map<string, Encoded>();
  const once = (key: string, make: () => Encoded): Encoded => {
    let known = made.get(key);
    if (known === undefined) made.set(key, (known = make()));
    return known;
  };
  const documents = new Map(
    catalogue.groups.flatMap((group) =>
      group.versions.map((version) => [pathOf(group, version), documentOf(catalogue, group, version)] as const),
    ),
  );
  return (request) => {
    const [, version, ...rest] = request.info.segments;
    if (version === "v2" && rest.length === 0) return v2Response(request, catalogue, once);
    if (version !== "v3") return pageNotFound();
    if (rest.length === 0)
      return cacheable(
        request,
        once("v3", () => indexOf(documents)),
        {},
      );
    const path = rest.join("/");
    const document = documents.get(path);
    if (document === undefined) return pageNotFound();
    return v3Response(request, {
      path,
      hash: document.hash,
      document: () => once(path, document.encode),
      now: options.now,
    });
  };
}

interface LazyDocument {
  /** Known without making the document: of everything that decides what it says. */
  readonly hash: string;
  readonly encode: () => Encoded;
}

function documentOf(catalogue: Catalogue, group: CatalogueGroup, version: string): LazyDocument {
  // Shared models name the kinds of all groups they serve.
  const served = catalogue.groups.map(({ name, versions }) => [name, versions]);
  const hash = digest(
    Buffer.from(JSON.stringify([FORMAT, catalogue.release, served, apiResourceList(group, version)])),
  );
  return {
    hash,
    encode: () => ({ bytes: Buffer.from(JSON.stringify(openApiV3Document(catalogue, group, version))), hash }),
  };
}

function indexOf(documents: ReadonlyMap<string, LazyDocument>): Encoded {
  const paths = [...documents].map(([path, { hash }]): [string, object] => [
    path,
    { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` },
  ]);
  return withHash(Buffer.from(JSON.stringify({ paths: Object.fromEntries(paths) })));
}

function pathOf(group: CatalogueGroup, version: string): string {
  return group.name === "" ? `api/${version}` : `apis/${group.name}/${version}`;
}

/** A document under its own hash never changes; under another it has moved. */
function v3Response(
  request: WithInfo,
  what: { path: string; hash: string; document: () => Encoded; now: () => number },
): ApiResponse {
  const asked = request.query.get("hash");
  if (asked === undefined) return cacheable(request, what.document(), {});
  if (asked !== what.hash)
    return { status: 301, headers: { location: `/openapi/v3/${what.path}?hash=${what.hash}` }, body: NO_BODY };
  const expires = new Date(what.now() + YEAR_SECONDS * 1000).toUTCString();
  return cacheable(request, what.document(), { "cache-control": "public, immutable", expires });
}

function v2Response(
  request: WithInfo,
  catalogue: Catalogue,
  once: (key: string, make: () => Encoded) => Encoded,
): ApiResponse {
  const accept = headerValue(request.headers, "accept");
  for (const { type } of parseAccept(accept === undefined || accept === "" ? "*/*" : accept)) {
    if (type === V2_PROTOBUF_ACCEPT || type === V2_PROTOBUF_TYPE) {
      const document = once("v2 protobuf", () => withHash(encodeOpenApiV2(openApiV2Document(catalogue))));
      return cacheable(request, document, { "content-type": V2_PROTOBUF_TYPE });
    }
    if (type === "application/json" || type === "application/*" || type === "*/*") {
      return cacheable(
        request,
        once("v2", () => withHash(Buffer.from(JSON.stringify(openApiV2Document(catalogue))))),
        {},
      );
    }
  }
  throw notAcceptable(["application/json", V2_PROTOBUF_ACCEPT]);
}

function cacheable(request: WithInfo, document: Encoded, headers: ResponseHeaders): ApiResponse {
  const etag = `"${document.hash}"`;
  const all: ResponseHeaders = { etag, vary: "Accept", ...headers };
  if (headerValue(request.headers, "if-none-match") === etag) return { status: 304, headers: all, body: NO_BODY };
  if (headers["content-type"] !== undefined) return { status: 200, headers: all, body: bytesBody(document.bytes) };
  return jsonBytes(200, [document.bytes], all);
}

function withHash(bytes: Buffer): Encoded {
  return { bytes, hash: digest(bytes) };
}

function digest(bytes: Buffer): string {
  return createHash("sha512").update(bytes).digest("hex").toUpperCase();
}
