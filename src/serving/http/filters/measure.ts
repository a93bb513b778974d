/** The filter that counts requests and measures their duration. */
import type { Clock } from "../../../base/clock.ts";
import type { Counter, Histogram, MetricsRegistry } from "../../../base/metrics.ts";
import type { PassingFilter } from "../chain.ts";
import type { RequestInfo } from "../request-info.ts";
import type { WithInfo } from "./request-info.ts";
import { StatusError } from "../../../meta/status-error.ts";

const LABELS: readonly string[] = [
  "verb",
  "dry_run",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
];
const DURATION_BUCKETS: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

interface MeasureOptions {
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  /**
   * True for resources that are served. Other requests are counted without their resource name, because a client may
   * send any name.
   */
  readonly isKnown: (info: RequestInfo) => boolean;
}

/** Counts requests and measures their duration, under kube-apiserver's metric names. */
export function measure(options: MeasureOptions): PassingFilter<WithInfo> {
  const total = options.metrics.counter({
    name: "apiserver_request_total",
    help: "Responses, by verb, resource and HTTP code.",
    labels: [...LABELS, "code"],
  });
  const durations = options.metrics.histogram({
    name: "apiserver_request_duration_seconds",
    help: "Response latency in seconds, by verb and resource.",
    labels: LABELS,
    buckets: DURATION_BUCKETS,
  });
  const known = new Map<string, Series>();
  const seriesOf = (request: WithInfo): Series => {
    // Only series of known resources are cached, so `isKnown` is called once for each of them.
    const key = keyOf(request);
    const found = known.get(key);
    if (found !== undefined) return found;
    const isKnown = options.isKnown(request.info);
    const values = labelValues(request, isKnown);
    const duration = request.info.verb === "watch" ? undefined : durations.with(...values);
    const made: Series = { values, duration, byCode: new Map() };
    if (isKnown && known.size < SERIES_KEPT_MAX) known.set(key, made);
    return made;
  };
  return (next) => async (request) => {
    const started = options.clock.monotonic();
    let code = 500;
    try {
      const response = await next(request);
      code = response.status;
      return response;
    } catch (thrown) {
      code = StatusError.from(thrown).code;
      throw thrown;
    } finally {
      const { values, duration, byCode } = seriesOf(request);
      duration?.observe((options.clock.monotonic() - started) / 1000);
      let counter = byCode.get(code);
      if (counter === undefined) byCode.set(code, (counter = total.with(...values, String(code))));
      counter.inc();
    }
  };
}

/** The metrics of all requests with the same labels. They are cached, because finding them costs more than counting. */
interface Series {
  readonly values: readonly string[];
  /** Undefined for watches, whose duration the client chooses. */
  readonly duration: Histogram | undefined;
  readonly byCode: Map<number, Counter>;
}

const SERIES_KEPT_MAX = 5_000;

/** A key of everything that determines the labels of a known resource. */
function keyOf({ info, query }: WithInfo): string {
  const { verb, group, version, resource, subresource, name, namespace } = info;
  const scope = name !== "" ? 2 : namespace !== "" ? 1 : 0;
  return `${verb} ${group} ${version} ${resource} ${subresource} ${scope} ${query.get("dryRun") ?? ""}`;
}

const VERBS: ReadonlySet<string> = new Set([
  "get",
  "list",
  "watch",
  "create",
  "update",
  "patch",
  "delete",
  "deletecollection",
]);

/**
 * The subresources that are used as label values. Other names come from clients, and their number would be unbounded.
 */
const SUBRESOURCES: ReadonlySet<string> = new Set([
  ...[
    "",
    "status",
    "scale",
    "finalize",
    "binding",
    "bindings",
    "eviction",
    "ephemeralcontainers",
    "resize",
    "token",
    "approval",
  ],
  ...["proxy", "exec", "attach", "portforward", "log"],
]);

function labelValues({ info, query }: WithInfo, isKnown: boolean): string[] {
  const verb = VERBS.has(info.verb) ? reported(info.verb) : "other";
  if (!info.isResourceRequest || !isKnown) return [verb, "", "", "", "", "", "", "apiserver"];
  const scope = info.name !== "" ? "resource" : info.namespace !== "" ? "namespace" : "cluster";
  const dryRun = query.get("dryRun") === "All" ? "All" : "";
  const subresource = SUBRESOURCES.has(info.subresource) ? info.subresource : "other";
  return [verb, dryRun, info.group, info.version, info.resource, subresource, scope, "apiserver"];
}

function reported(verb: string): string {
  if (verb === "create") return "POST";
  if (verb === "update") return "PUT";
  return verb.toUpperCase();
}
