/**
 * The interface of the documents that /openapi serves. It is implemented for the built-in resources of this server, of
 * the whole cluster, and of the newest server of the cluster. Custom and aggregated resources are added to any of them.
 */
import { createHash } from "node:crypto";
import type { OpenApiIndex } from "./decode-peer-response.ts";

export const INDEX_TARGET = "/openapi/v3";
export const V2_TARGET = "/openapi/v2";

export interface EncodedOpenApi {
  readonly bytes: Buffer;
  readonly hash: string;
}

export type FoundOpenApi =
  | { readonly kind: "document"; readonly document: EncodedOpenApi }
  /** A document of this path exists, but not with the requested hash. */
  | { readonly kind: "moved"; readonly hash: string }
  /** A server that has or may have the document is unavailable. */
  | { readonly kind: "unavailable"; readonly message: string }
  | { readonly kind: "unknown" };

export interface OpenApiDocuments {
  /** The index of all OpenAPI 3 documents. */
  index(): Promise<OpenApiIndex>;
  /**
   * Finds the OpenAPI 3 document of "api/v1" or "apis/GROUP/VERSION" with this hash. If the document with this hash is
   * unavailable, returns the document of another server, which has another hash.
   */
  find(path: string, hash: string | undefined): Promise<FoundOpenApi>;
  v2(): Promise<EncodedOpenApi>;
  v2Protobuf(): Promise<EncodedOpenApi>;
}

/** Encodes the paths in the given order. */
export function encodeIndex(hashes: Iterable<readonly [path: string, hash: string]>): EncodedOpenApi {
  const paths = Array.from(hashes, ([path, hash]) => [path, { serverRelativeURL: documentUrl(path, hash) }] as const);
  return withHash(Buffer.from(JSON.stringify({ paths: Object.fromEntries(paths) })));
}

export function documentUrl(path: string, hash: string): string {
  return `${INDEX_TARGET}/${path}?hash=${hash}`;
}

export function withHash(bytes: Buffer): EncodedOpenApi {
  return { bytes, hash: digest(bytes) };
}

export function digest(bytes: Buffer | string): string {
  return createHash("sha512").update(bytes).digest("hex").toUpperCase();
}
