/**
 * Decodes the OpenAPI documents of other servers. A wrong type or an exceeded limit throws an error that names the
 * problem, so that the whole document is rejected.
 */
import type { GroupVersion } from "../../../meta/group-version.ts";
import { isJsonObject, type JsonObject } from "../../../meta/json.ts";
import { measureJson } from "../../../objects/json/json-text.ts";
import { digest } from "./documents.ts";
import { PEER_DOCUMENT_DEPTH_MAX, PEER_INDEX_PATHS_MAX } from "./openapi-limits.ts";

export interface OpenApiIndex {
  /** The hash of the document of each group version, keyed by path. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Equal for two servers that have the same documents. */
  readonly digest: string;
}

const NAME = "[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?";
const GROUP_VERSION_PATH = new RegExp(`^(?:api|apis/(${NAME}))/(${NAME})$`);
const GROUP_PATH = new RegExp(`^apis/(${NAME})$`);
/** The OpenAPI 3 documents that are not about a group. */
const ROOT_PATHS: ReadonlySet<string> = new Set([
  ".well-known/openid-configuration",
  "api",
  "apis",
  "openid/v1/jwks",
  "version",
]);
const HASH = /^[0-9A-Za-z]{1,128}$/;

export function parseGroupVersionPath(path: string): GroupVersion | undefined {
  const match = GROUP_VERSION_PATH.exec(path);
  return match === null ? undefined : { group: match[1] ?? "", version: match[2] ?? "" };
}

/** The group in the path of the document about the versions of a group. */
export function parseGroupPath(path: string): string | undefined {
  return GROUP_PATH.exec(path)?.[1];
}

function isDiscoveryPath(path: string): boolean {
  return ROOT_PATHS.has(path) || GROUP_PATH.test(path);
}

export function formatGroupVersionPath({ group, version }: GroupVersion): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

export function createIndex(hashes: ReadonlyMap<string, string>): OpenApiIndex {
  const lines = Array.from(hashes, ([path, hash]) => `${path} ${hash}`);
  return { hashes, digest: digest(lines.sort().join("\n")) };
}

/** Skips paths that no Evenkeel server has a document for, such as the "logs" of kube-apiserver. */
export function decodeIndex(body: Buffer): OpenApiIndex {
  const { paths } = decodeObject(body);
  if (!isJsonObject(paths)) throw new Error("The index has no paths.");
  const hashes = new Map<string, string>();
  for (const [path, entry] of Object.entries(paths)) {
    if (parseGroupVersionPath(path) === undefined && !isDiscoveryPath(path)) continue;
    const url = isJsonObject(entry) ? entry["serverRelativeURL"] : undefined;
    const hash = typeof url === "string" ? url.slice(url.lastIndexOf("?hash=") + "?hash=".length) : "";
    if (!HASH.test(hash)) throw new Error(`The index has no hash for ${path}.`);
    hashes.set(path, hash);
    if (hashes.size > PEER_INDEX_PATHS_MAX) throw new Error(`The index has more than ${PEER_INDEX_PATHS_MAX} paths.`);
  }
  return createIndex(hashes);
}

/** Checks the document and returns its hash: that of the ETag or, if the ETag is not a hash, that of the bytes. */
export function checkV3Document(body: Buffer, etag: string | undefined): string {
  const { openapi, paths } = decodeObject(body);
  if (typeof openapi !== "string" || !isJsonObject(paths))
    throw new Error("The response is not an OpenAPI 3 document.");
  const tag = /^"([^"]*)"$/.exec(etag ?? "")?.[1] ?? "";
  return HASH.test(tag) ? tag : digest(body);
}

export interface V2Document extends JsonObject {
  readonly paths: { readonly [path: string]: JsonObject };
  readonly definitions: { readonly [name: string]: JsonObject };
}

export function decodeV2Document(body: Buffer): V2Document {
  const document = decodeObject(body);
  const { swagger, paths, definitions } = document;
  if (typeof swagger !== "string" || !holdsObjects(paths) || !holdsObjects(definitions))
    throw new Error("The response is not an OpenAPI 2 document.");
  return { ...document, paths, definitions };
}

function decodeObject(body: Buffer): JsonObject {
  if (measureJson(body).depth > PEER_DOCUMENT_DEPTH_MAX) throw new Error("The document is nested too deeply.");
  const value: unknown = JSON.parse(body.toString("utf8"));
  if (!isJsonObject(value)) throw new Error("The document is not an object.");
  return value;
}

function holdsObjects(value: unknown): value is { readonly [key: string]: JsonObject } {
  return isJsonObject(value) && Object.values(value).every(isJsonObject);
}
