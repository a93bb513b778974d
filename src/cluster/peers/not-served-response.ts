/**
 * Recognizes the 404 with which a kube-apiserver responds to a path that it does not serve. It must not be mistaken for
 * the 404 of an absent object.
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
