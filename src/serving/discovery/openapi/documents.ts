/** The documents behind /openapi: of this server alone, of the whole cluster, or of its newest server. */
import { createHash } from "node:crypto";

export const INDEX_TARGET = "/openapi/v3";
export const V2_TARGET = "/openapi/v2";

export interface EncodedOpenApi {
  readonly bytes: Buffer;
  readonly hash: string;
}

export type FoundOpenApi =
  | { readonly kind: "document"; readonly document: EncodedOpenApi }
  /** There is a document, but not with the requested hash. */
  | { readonly kind: "moved"; readonly hash: string }
  /** A server that has or may have the document is unavailable now. */
  | { readonly kind: "unavailable"; readonly message: string }
  | { readonly kind: "unknown" };

export interface OpenApiDocuments {
  /** The index of all OpenAPI 3 documents. */
  index(): Promise<EncodedOpenApi>;
  /**
   * The OpenAPI 3 document of "api/v1" or "apis/GROUP/VERSION", if possible the one with this hash. Returns one with
   * another hash if that one is not available now.
   */
  find(path: string, hash: string | undefined): Promise<FoundOpenApi>;
  v2(): Promise<EncodedOpenApi>;
  v2Protobuf(): Promise<EncodedOpenApi>;
}

/** In the order given. */
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
