/** The filter that makes HTTP/2 clients reconnect from time to time, so that they spread over the servers. */
import type { Random } from "../../../base/random.ts";
import type { PassingFilter } from "../chain.ts";
import { asLastResponse } from "../last-response.ts";
import type { ApiRequest } from "../message.ts";

/**
 * Closes an HTTP/2 connection after a response with the given probability (0 to 1). Clients keep an HTTP/2 connection
 * as long as possible, so without this filter all of them would stay connected to the server that started first. A
 * client that reconnects may reach another server through a load balancer. Its open streams continue.
 */
export function goaway({
  chance,
  random,
}: {
  readonly chance: number;
  readonly random: Random;
}): PassingFilter<ApiRequest> {
  if (chance === 0) return (next) => next;
  return (next) => async (request) => {
    if (request.connection.protocol !== "h2" || random.float() >= chance) return next(request);
    return asLastResponse(await next(request));
  };
}
