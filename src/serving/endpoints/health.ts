/**
 * Serves /healthz, /livez and /readyz, which run all checks, one named check, or all checks except the excluded ones.
 */
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { WithInfo } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import { pageNotFound, textResponse } from "../http/respond.ts";

type HealthEndpoint = "healthz" | "livez" | "readyz";

export interface HealthCheck {
  readonly name: string;
  /**
   * Returns undefined if the check passes, otherwise the reason. The reason is logged; clients receive it only from the
   * path of a single check, such as /readyz/NAME.
   */
  readonly check: () => string | undefined;
  readonly endpoints: readonly HealthEndpoint[];
}

/** Collects the checks of all parts of a server, in the order in which the parts add them. */
export class HealthChecks {
  readonly #sources: (() => readonly HealthCheck[])[] = [];

  add(source: () => readonly HealthCheck[]): void {
    this.#sources.push(source);
  }

  readonly all = (): HealthCheck[] => this.#sources.flatMap((source) => source());

  isReady(): boolean {
    return this.all().every(({ endpoints, check }) => !endpoints.includes("readyz") || check() === undefined);
  }
}

const ENDPOINTS: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];

export function healthHandler(
  checks: () => readonly HealthCheck[],
  onFailure: (failed: Readonly<Record<string, string>>) => void,
): (request: WithInfo) => ApiResponse {
  return ({ info, query }) => {
    const [endpoint, ...rest] = info.segments as [HealthEndpoint, ...string[]];
    const candidates = checks().filter((check) => check.endpoints.includes(endpoint));
    if (rest.length > 0) {
      const check = candidates.find((candidate) => candidate.name === rest.join("/"));
      if (check === undefined) return pageNotFound();
      const failure = check.check();
      if (failure === undefined) return textResponse(200, "ok");
      onFailure({ [check.name]: failure });
      return textResponse(500, `internal server error: ${failure}\n`);
    }
    return report(endpoint, candidates, {
      excluded: excludedNames(query.all("exclude")),
      isVerbose: query.has("verbose"),
      onFailure,
    });
  };
}

function report(
  endpoint: HealthEndpoint,
  checks: readonly HealthCheck[],
  how: {
    excluded: ReadonlySet<string>;
    isVerbose: boolean;
    onFailure: (failed: Readonly<Record<string, string>>) => void;
  },
): ApiResponse {
  const lines: string[] = [];
  const failed: Record<string, string> = {};
  const unmatched = new Set(how.excluded);
  for (const { name, check } of checks) {
    if (unmatched.delete(name)) {
      lines.push(`[+]${name} excluded: ok`);
      continue;
    }
    const failure = check();
    if (failure === undefined) lines.push(`[+]${name} ok`);
    else {
      failed[name] = failure;
      lines.push(`[-]${name} failed: reason withheld`);
    }
  }
  if (unmatched.size > 0)
    lines.push(
      `warn: some health checks cannot be excluded: no matches for ${[...unmatched].map((name) => JSON.stringify(name)).join(",")}`,
    );
  if (Object.keys(failed).length > 0) {
    how.onFailure(failed);
    return textResponse(500, `${lines.join("\n")}\n${endpoint} check failed\n`);
  }
  return textResponse(200, how.isVerbose ? `${lines.join("\n")}\n${endpoint} check passed\n` : "ok");
}

function excludedNames(values: readonly string[]): ReadonlySet<string> {
  return new Set(values.flatMap((value) => value.split(",")).filter((name) => name !== ""));
}

/**
 * Returns the function that runs every check and records the results for /metrics/slis. It is called every few seconds,
 * so that the results do not depend on probes.
 */
export function measureHealth(checks: () => readonly HealthCheck[], metrics: MetricsRegistry): () => void {
  const labels = ["name", "type"];
  const state = metrics.gauge({
    name: "kubernetes_healthcheck",
    help: "Whether a health check passes (1) or not (0).",
    labels,
  });
  const total = metrics.counter({
    name: "kubernetes_healthchecks_total",
    help: "Results of health checks.",
    labels: [...labels, "status"],
  });
  return () => {
    for (const { name, check, endpoints } of checks()) {
      const isHealthy = check() === undefined;
      for (const endpoint of ENDPOINTS.filter((candidate) => endpoints.includes(candidate))) {
        state.with(name, endpoint).set(isHealthy ? 1 : 0);
        total.with(name, endpoint, isHealthy ? "success" : "error").inc();
      }
    }
  };
}
