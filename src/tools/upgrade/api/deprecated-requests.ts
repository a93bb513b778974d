/** The requests to deprecated APIs that an API server has quantity since it was started, from its metrics. */

export interface DeprecatedRequest {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** For example "1.38"; "" if no release is known to remove it. */
  readonly removedRelease: string;
}

const METRIC = "apiserver_requested_deprecated_apis{";
const REQUESTS_MAX = 1_000;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

export function deprecatedRequests(metrics: string): readonly DeprecatedRequest[] {
  const found: DeprecatedRequest[] = [];
  // Splits no lines of other metrics, which are nearly all of up to 100 MB.
  for (let at = metrics.indexOf(METRIC); at >= 0 && found.length < REQUESTS_MAX; at = metrics.indexOf(METRIC, at + 1)) {
    if (at > 0 && metrics[at - 1] !== "\n") continue;
    const lineEnd = metrics.indexOf("\n", at);
    const line = metrics.slice(at + METRIC.length, lineEnd < 0 ? metrics.length : lineEnd);
    const labels = new Map([...line.matchAll(LABEL)].map(([, name = "", value = ""]) => [name, value]));
    const valueOf = (name: string): string => labels.get(name) ?? "";
    found.push({
      group: valueOf("group"),
      version: valueOf("version"),
      resource: valueOf("resource"),
      subresource: valueOf("subresource"),
      removedRelease: valueOf("removed_release"),
    });
  }
  return found;
}
