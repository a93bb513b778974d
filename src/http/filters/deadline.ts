import type { Clock } from "../../base/clock.ts";
import { badRequest, StatusError } from "../../meta/status-error.ts";
import type { PassingFilter } from "../chain.ts";
import { isLongRunning, type WithInfo } from "./request-info.ts";

export interface DeadlineOptions {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
}

/** Answers in time, whatever happens behind it; `?timeout=` may only shorten. Watches have no deadline. */
export function deadline(options: DeadlineOptions): PassingFilter<WithInfo> {
  return (next) => async (request) => {
    if (isLongRunning(request.info)) return next(request);
    const timeoutMs = Math.min(options.requestTimeoutMs, askedTimeoutMs(request) ?? Infinity);
    return new Promise((resolve, reject) => {
      const cancel = options.clock.after(timeoutMs, () =>
        reject(
          new StatusError("Timeout", "Timeout: request did not complete within the allotted timeout", {
            details: { retryAfterSeconds: 1 },
          }),
        ),
      );
      next(request).then(resolve, reject).finally(cancel);
    });
  };
}

/** Longer than any duration worth saying; the pattern below is not linear. */
const TIMEOUT_LENGTH_MAX = 64;

/** Go's durations as far as clients send them: "32s", "1m30s", "500ms". */
function askedTimeoutMs(request: WithInfo): number | undefined {
  const text = request.query.get("timeout");
  if (text === undefined || text === "" || text === "0") return undefined;
  const parts = text.length > TIMEOUT_LENGTH_MAX ? [] : [...text.matchAll(/([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)/g)];
  if (parts.map(([part]) => part).join("") !== text)
    throw badRequest(`invalid timeout specified in the request URL: ${JSON.stringify(text)}`);
  const milliseconds = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
  const total = parts.reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * milliseconds[unit as keyof typeof milliseconds],
    0,
  );
  return total === 0 ? undefined : total;
}
