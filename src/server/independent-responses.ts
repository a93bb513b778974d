/** Recognizes the responses that are correct although the server has not loaded everything that it serves. */
import { NOT_SERVED_HEADER, SERVED_BY_HEADER } from "../cluster/peers/hop.ts";
import type { WithInfo } from "../serving/http/filters/request-info.ts";
import type { ApiResponse } from "../serving/http/message.ts";

/**
 * True for responses that a server may return before it is ready, because they do not depend on what it has loaded: a
 * response that reports to a peer that this server does not serve the resource, and a response from behind the
 * subresource `proxy` (of a pod, for example) that this server received through a peer.
 */
export function isIndependentOfServed({ info }: WithInfo, { headers }: ApiResponse): boolean {
  if (headers[NOT_SERVED_HEADER] !== undefined) return true;
  return info.subresource === "proxy" && headers[SERVED_BY_HEADER] !== undefined;
}
