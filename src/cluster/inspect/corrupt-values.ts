/**
 * Reports stored values that cannot be decoded, whichever program has written them. Only requests for these objects and
 * lists that contain them fail, so without a report nobody notices the values before such a request.
 */
import type { MetricsRegistry } from "../../base/metrics.ts";
import { repeat, type BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import { someOf } from "../../base/some-of.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { createLocator } from "./resource-of-key.ts";
import { boundedKey } from "./survey.ts";

const REPORT_INTERVAL_MS = 1_000;
const NAMES_MAX = 5;
/** Maximum number of resources in the metric, because a key can name any resource. */
const RESOURCES_MAX = 100;

interface CorruptValuesOptions {
  readonly env: BaseEnv;
  readonly config: { readonly storageRoot: string };
  readonly cache: Pick<WatchCache, "corrupt">;
  readonly metrics: MetricsRegistry;
}

export function followCorruptValues({ env, config, cache, metrics }: CorruptValuesOptions): BackgroundTask {
  const { clock, log } = env;
  const resourceOf = createResourceOf(config.storageRoot);
  metrics.gaugesOf(
    {
      name: "evenkeel_storage_corrupt_objects",
      help: "Stored objects whose values this server cannot decode.",
      labels: ["resource"],
    },
    () => countByResource(cache.corrupt.keys(), resourceOf),
  );
  let reported: ReadonlySet<string> = new Set();
  const report = (): void => {
    if (cache.corrupt.size === 0 && reported.size === 0) return;
    const current = new Set(cache.corrupt.keys().filter((key) => resourceOf(key) !== undefined));
    const added = [...current].filter((key) => !reported.has(key));
    if (added.length > 0) log.warn("stored values cannot be decoded", { keys: someOf(added, NAMES_MAX) });
    if (current.size === 0 && reported.size > 0) log.info("all stored values can be decoded again");
    reported = current;
  };
  return { name: "corrupt-values", run: (signal) => repeat(clock, REPORT_INTERVAL_MS, report, signal) };
}

/** The returned function returns undefined for the private records of servers, which are not API objects. */
function createResourceOf(storageRoot: string): (key: string) => string | undefined {
  const locate = createLocator(storageRoot);
  return (key) => {
    const location = locate(key);
    if (location.kind === "private") return undefined;
    if (location.kind === "object") return formatGroupResource(location.place);
    const [group = "", resource] = location.prefix.split("/");
    return resource === undefined ? group : formatGroupResource({ group, resource });
  };
}

function countByResource(
  keys: Iterable<string>,
  resourceOf: (key: string) => string | undefined,
): { readonly labelValues: readonly string[]; readonly value: number }[] {
  const counts = new Map<string, number>();
  for (const key of keys) {
    const resource = resourceOf(key);
    if (resource === undefined) continue;
    const label = boundedKey(counts, resource, RESOURCES_MAX);
    counts.set(label, (counts.get(label) ?? 0) + 1);
  }
  return [...counts].map(([resource, value]) => ({ labelValues: [resource], value }));
}
