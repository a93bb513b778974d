/** Limits the number of concurrent requests, for servers without priority and fairness. */
import type { MetricsRegistry } from "../../../base/metrics.ts";
import type { PassingFilter } from "../chain.ts";
import { tooManyRequestsText } from "../respond.ts";
import { isLongRunning, type WithInfo } from "./request-info.ts";

interface InFlightOptions<Req> {
  readonly readsMax: number;
  readonly writesMax: number;
  readonly metrics: MetricsRegistry;
  /**
   * True for requests that are never rejected: those of administrators and of the server itself. Default: no request.
   */
  readonly isExempt?: (request: Req) => boolean;
}

const READ_VERBS: ReadonlySet<string> = new Set(["get", "list", "watch"]);

/** Counts reads and writes separately, so that neither can starve the other. */
export function inFlight<In extends WithInfo>(options: InFlightOptions<In>): PassingFilter<In> {
  const counts = { readOnly: 0, mutating: 0 };
  const name = "apiserver_current_inflight_requests";
  const gauge = options.metrics.gauge({
    name,
    help: "Requests in flight, by kind.",
    labels: ["request_kind"],
  });
  const gauges = { readOnly: gauge.with("readOnly"), mutating: gauge.with("mutating") };
  return (next) => async (request) => {
    if (isLongRunning(request.info)) return next(request);
    const kind = READ_VERBS.has(request.info.verb) ? "readOnly" : "mutating";
    if (counts[kind] >= (kind === "readOnly" ? options.readsMax : options.writesMax)) {
      if (options.isExempt?.(request) === true) return next(request);
      return tooManyRequestsText({ "retry-after": "1" });
    }
    gauges[kind].set(++counts[kind]);
    try {
      return await next(request);
    } finally {
      gauges[kind].set(--counts[kind]);
    }
  };
}
