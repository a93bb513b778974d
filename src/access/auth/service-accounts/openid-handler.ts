/** Serves the OpenID discovery documents of openid.ts. */
import type { WithInfo } from "../../../serving/http/filters/request-info.ts";
import { bytesBody, headerValue, type ApiResponse } from "../../../serving/http/message.ts";
import { methodNotAllowed, StatusError } from "../../../meta/status-error.ts";
import { JWKS_PATH, OPENID_CONFIGURATION_PATH, type OpenIdDocuments } from "./openid.ts";

const CACHE_CONTROL = "public, max-age=3600";

const CONTENT_TYPES: ReadonlyMap<string, string> = new Map([
  [OPENID_CONFIGURATION_PATH, "application/json"],
  [JWKS_PATH, "application/jwk-set+json"],
]);

/** The returned handler returns undefined for other paths, and for all paths if there are no documents. */
export function openIdHandler(
  documents: () => OpenIdDocuments | undefined,
): (request: WithInfo) => ApiResponse | undefined {
  return ({ info, method, headers }) => {
    const path = info.path.endsWith("/") ? info.path.slice(0, -1) : info.path;
    const contentType = CONTENT_TYPES.get(path);
    const known = contentType === undefined ? undefined : documents();
    if (contentType === undefined || known === undefined) return undefined;
    if (method !== "GET") throw methodNotAllowed();
    checkAccept(headerValue(headers, "accept") ?? "", contentType);
    return {
      status: 200,
      headers: { "content-type": contentType, "cache-control": CACHE_CONTROL },
      body: bytesBody(path === JWKS_PATH ? known.keySet : known.configuration),
    };
  };
}

/** As kubernetes for these paths: accepts only the full wildcard or exactly the content type. */
function checkAccept(accept: string, contentType: string): void {
  if (accept === "") return;
  const types = accept.split(",").map((range) => range.replace(/;.*$/s, "").trim());
  if (types.some((type) => type === "*/*" || type === contentType)) return;
  throw new StatusError("NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${contentType}`, {
    details: {},
  });
}
