/**
 * Serves watches over WebSocket, which browsers use. This filter wraps the filters that count and end watches, so that
 * they treat a WebSocket watch like every other stream. If a peer serves the watch, the upgrade response of the peer
 * passes unchanged.
 */
import type { Clock } from "../../../base/clock.ts";
import type { PassingFilter } from "../chain.ts";
import { isWebSocketRequest } from "../web-socket.ts";
import { overWebSocket } from "../web-socket-response.ts";
import type { WithInfo } from "./request-info.ts";

export function webSocket(clock: Pick<Clock, "after">): PassingFilter<WithInfo> {
  return (next) => (request) =>
    request.info.verb === "watch" && isWebSocketRequest(request)
      ? next(request).then((response) => overWebSocket(request, response, clock))
      : next(request);
}
