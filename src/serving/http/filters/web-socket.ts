/**
 * Watches of clients that speak WebSocket, as browsers do. Outside of what counts watches and ends them, for which they are
 * streams like all others. One that another server has opened is handed through as it is.
 */
import type { Clock } from "../../../base/clock.ts";
import type { PassingFilter } from "../chain.ts";
import { isWebSocketRequest } from "../web-socket.ts";
import { overWebSocket } from "../web-socket-answer.ts";
import type { WithInfo } from "./request-info.ts";

export function webSocket(clock: Pick<Clock, "after">): PassingFilter<WithInfo> {
  return (next) => (request) =>
    request.info.verb === "watch" && isWebSocketRequest(request)
      ? next(request).then((answer) => overWebSocket(request, answer, clock))
      : next(request);
}
