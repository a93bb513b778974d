/** A kube-apiserver that does not have a resource says so like any path nobody knows; it must not pass for an absent object. */
import { isJsonObject } from "../../meta/json.ts";
import type { UpstreamResponse } from "../../serving/http/upstream.ts";
import { answerHeader } from "../../serving/http/forwarded.ts";

const UNKNOWN_RESOURCE = "the server could not find the requested resource";

export function isNotServedAnswer(response: UpstreamResponse): boolean {
  const { status, body } = response;
  if (status !== 404) return false;
  const type = answerHeader(response, "content-type") ?? "";
  if (type.startsWith("text/plain")) return true;
  if (body.kind !== "bytes" || !type.startsWith("application/json")) return false;
  try {
    const value: unknown = JSON.parse(Buffer.concat(body.chunks).toString("utf8"));
    return isJsonObject(value) && value["message"] === UNKNOWN_RESOURCE;
  } catch {
    return false;
  }
}
