import type { Random } from "../../../base/random.ts";
import type { PassingFilter } from "../chain.ts";
import { asLastAnswer } from "../last-answer.ts";
import type { ApiRequest } from "../message.ts";

/**
 * Clients keep an HTTP/2 connection for as long as it lasts, all of them to the server that was there first. Now and then
 * one is asked to connect anew, and a load balancer may send it elsewhere; what it has open goes on. The chance is from 0 to 1.
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
    return asLastAnswer(await next(request));
  };
}
