/** Discovery over HTTP: documents are encoded once, then only compared with what the client already has. */
import { createHash } from "node:crypto";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import { headerValue, NO_BODY, type ApiResponse } from "../http/message.ts";
import { acceptsJson, OFFERED, parseAccept, type MediaType } from "../http/negotiate.ts";
import { jsonBytes, pageNotFound } from "../http/respond.ts";
import { notAcceptable, unknownResource } from "../meta/status-error.ts";
import type { JsonObject } from "../meta/json.ts";
import { aggregatedGroups, apiGroup, apiGroupList, apiResourceList, apiVersions } from "./document.ts";

const AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

interface Encoded {
  readonly bytes: Buffer;
  readonly etag: string;
}

export interface DiscoveryOptions {
  readonly catalogue: Catalogue;
  /** host:port that clients reach this server at. */
  readonly serverAddress: () => string;
}

/** Answers everything at and directly below /api and /apis; undefined for paths that are not discovery's. */
export function discoveryHandler(options: DiscoveryOptions): (request: WithInfo) => ApiResponse | undefined {
  const { catalogue } = options;
  const encoded = new Map<string, Encoded>();
  const encode = (key: string, document: () => JsonObject): Encoded => {
    let known = encoded.get(key);
    if (known === undefined) encoded.set(key, (known = encodeDocument(document())));
    return known;
  };
  return (request) => {
    const { apiPrefix, segments } = request.info;
    if (apiPrefix !== "api" && apiPrefix !== "apis") return undefined;
    if (segments.length === 1) return rootResponse(request, apiPrefix, { options, encode });
    refuseOtherRepresentations(request);
    if (apiPrefix === "api") {
      const core = catalogue.groups.find((group) => group.name === "" && group.versions.includes(segments[1]!));
      if (core === undefined) throw unknownResource();
      return plain(encode(`api/${segments[1]!}`, () => apiResourceList(core, segments[1]!)));
    }
    const [, name = "", version] = segments;
    const group = catalogue.groups.find((candidate) => candidate.name === name && name !== "");
    if (group === undefined) return pageNotFound();
    if (version === undefined) return plain(encode(`apis/${name}`, () => apiGroup(group)));
    if (!group.versions.includes(version)) throw unknownResource();
    return plain(encode(`apis/${name}/${version}`, () => apiResourceList(group, version)));
  };
}

function rootResponse(
  request: WithInfo,
  prefix: "api" | "apis",
  made: { options: DiscoveryOptions; encode: (key: string, document: () => JsonObject) => Encoded },
): ApiResponse {
  const { catalogue, serverAddress } = made.options;
  switch (representation(headerValue(request.headers, "accept"))) {
    case "aggregated":
      return aggregated(request, made.encode(`aggregated ${prefix}`, () => aggregatedGroups(catalogue, prefix)));
    case "legacy":
      return plain(made.encode(prefix, () => (prefix === "api" ? apiVersions(catalogue, serverAddress()) : apiGroupList(catalogue))));
    case "none":
      throw notAcceptable(OFFERED);
  }
}

/** The first clause that can be met decides; a profile says who is asking and does not change the form. */
function representation(accept: string | undefined): "aggregated" | "legacy" | "none" {
  if (accept === undefined || accept === "") return "legacy";
  for (const clause of parseAccept(accept)) {
    if (isAggregated(clause)) return "aggregated";
    if (!clause.parameters.has("as") && ["application/json", "application/*", "*/*"].includes(clause.type)) return "legacy";
  }
  return "none";
}

function isAggregated({ type, parameters }: MediaType): boolean {
  const isOurs = parameters.get("g") === "apidiscovery.k8s.io" && parameters.get("v") === "v2";
  return type === "application/json" && isOurs && parameters.get("as") === "APIGroupDiscoveryList";
}

function refuseOtherRepresentations(request: WithInfo): void {
  if (!acceptsJson(headerValue(request.headers, "accept"))) throw notAcceptable(OFFERED);
}

function aggregated(request: WithInfo, document: Encoded): ApiResponse {
  const headers = { "content-type": AGGREGATED_TYPE, etag: document.etag, vary: "Accept", "cache-control": "public" };
  if (headerValue(request.headers, "if-none-match") === document.etag) return { status: 304, headers: { etag: document.etag, vary: "Accept", "cache-control": "public" }, body: NO_BODY };
  return jsonBytes(200, [document.bytes], headers);
}

function plain(document: Encoded): ApiResponse {
  return jsonBytes(200, [document.bytes]);
}

function encodeDocument(document: JsonObject): Encoded {
  const bytes = Buffer.from(`${JSON.stringify(document)}\n`);
  const digest = createHash("sha512").update(bytes).digest("hex").toUpperCase();
  return { bytes, etag: `"${digest}"` };
}
