/**
 * Recognizes the 404 that a kube-apiserver returns for a path that it does not serve. The proxy must distinguish it
 * from the 404 for an object that does not exist.
 */
import { isJsonObject } from "../../meta/json.ts";
import type { UpstreamResponse } from "../../serving/http/upstream.ts";
import { responseHeader } from "../../serving/http/forwarded.ts";

const UNKNOWN_RESOURCE = "the server could not find the requested resource";

export function isNotServedResponse(response: UpstreamResponse): boolean {
  const { status, body } = response;
  if (status !== 404) return false;
  const type = responseHeader(response, "content-type") ?? "";
  if (type.startsWith("text/plain")) return true;
  if (body.kind !== "bytes" || !type.startsWith("application/json")) return false;
  try {
    const value: unknown = JSON.parse(Buffer.concat(body.chunks).toString("utf8"));
    return isJsonObject(value) && value["message"] === UNKNOWN_RESOURCE;
  } catch {
    return false;
  }
}
