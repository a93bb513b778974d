/** Discovery over HTTP: documents are encoded once, then only compared with what the client already has. */
import { createHash } from "node:crypto";
import type { Catalogue } from "../catalogue/catalogue.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import { bytesBody, headerValue, NO_BODY, type ApiResponse } from "../http/message.ts";
import { NAMED_TYPES, parseAccept, plainMedia, type MediaType } from "../http/negotiate.ts";
import { jsonBytes, pageNotFound } from "../http/respond.ts";
import { notAcceptable, unknownResource } from "../meta/status-error.ts";
import type { JsonObject } from "../meta/json.ts";
import { toYaml } from "../object/yaml.ts";
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
  const encoded = new Map<string, Encoded>();
  const encode: Encode = (key, document) => {
    let known = encoded.get(key);
    if (known === undefined) encoded.set(key, (known = encodeDocument(document())));
    return known;
  };
  return (request) => {
    const { apiPrefix, segments } = request.info;
    if (apiPrefix !== "api" && apiPrefix !== "apis") return undefined;
    const accept = headerValue(request.headers, "accept");
    if (segments.length === 1 && prefersAggregated(accept)) {
      return aggregated(
        request,
        encode(`aggregated ${apiPrefix}`, () => aggregatedGroups(options.catalogue, apiPrefix)),
      );
    }
    const document = plainDocument(options, segments, encode);
    if (document === undefined) return pageNotFound();
    const media = plainMedia(accept);
    if (media === undefined) throw notAcceptable(NAMED_TYPES);
    return media === "json" ? jsonBytes(200, [document.bytes]) : yamlDocument(document);
  };
}

type Encode = (key: string, document: () => JsonObject) => Encoded;

/** Undefined for a group nobody serves, which kube-apiserver does not know as an API at all. */
function plainDocument(
  { catalogue, serverAddress }: DiscoveryOptions,
  segments: readonly string[],
  encode: Encode,
): Encoded | undefined {
  const [prefix, first, second] = segments;
  const name = prefix === "api" ? "" : first;
  const version = prefix === "api" ? first : second;
  if (first === undefined) {
    return encode(segments.join("/"), () =>
      prefix === "api" ? apiVersions(catalogue, serverAddress()) : apiGroupList(catalogue),
    );
  }
  const group = catalogue.groups.find((candidate) => candidate.name === name && (name !== "" || prefix === "api"));
  if (group === undefined) {
    if (prefix === "api") throw unknownResource();
    return undefined;
  }
  if (version === undefined) return encode(segments.join("/"), () => apiGroup(group));
  if (!group.versions.includes(version)) throw unknownResource();
  return encode(segments.join("/"), () => apiResourceList(group, version));
}

/** The first clause that can be met decides; a profile says who is asking and does not change the form. */
function prefersAggregated(accept: string | undefined): boolean {
  if (accept === undefined || accept === "") return false;
  for (const clause of parseAccept(accept)) {
    if (isAggregated(clause)) return true;
    if (
      !clause.parameters.has("as") &&
      ["application/json", "application/yaml", "application/*", "*/*"].includes(clause.type)
    )
      return false;
  }
  return false;
}

function isAggregated({ type, parameters }: MediaType): boolean {
  const isOurs = parameters.get("g") === "apidiscovery.k8s.io" && parameters.get("v") === "v2";
  return type === "application/json" && isOurs && parameters.get("as") === "APIGroupDiscoveryList";
}

function aggregated(request: WithInfo, document: Encoded): ApiResponse {
  const headers = { "content-type": AGGREGATED_TYPE, etag: document.etag, vary: "Accept", "cache-control": "public" };
  if (headerValue(request.headers, "if-none-match") === document.etag)
    return { status: 304, headers: { etag: document.etag, vary: "Accept", "cache-control": "public" }, body: NO_BODY };
  return jsonBytes(200, [document.bytes], headers);
}

function yamlDocument(document: Encoded): ApiResponse {
  const text = toYaml(JSON.parse(document.bytes.toString("utf8")));
  return { status: 200, headers: { "content-type": "application/yaml" }, body: bytesBody(Buffer.from(text)) };
}

function encodeDocument(document: JsonObject): Encoded {
  const bytes = Buffer.from(`${JSON.stringify(document)}\n`);
  const digest = createHash("sha512").update(bytes).digest("hex").toUpperCase();
  return { bytes, etag: `"${digest}"` };
}
