/**
 * Finds stored objects in versions that the release of this server cannot read, from its start on, whichever program
 * has written them. The server reports them, and rejects writes of their resource until the objects are deleted, or
 * rewritten by a server that can read them.
 *
 * Each change of the store is examined once, when the watch cache receives it. All objects are examined only when the
 * watch cache has loaded.
 */
import type { MetricsRegistry } from "../../base/metrics.ts";
import { storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { StoredResourceVersions } from "../storageversion/encodings.ts";
import { repeat, waitUntil, type BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { AgreedEncodings } from "../storageversion/create-storage-versions.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";
import { UnreadableVersions } from "./unreadable-versions.ts";

/** Interval of log lines. Writes are rejected and accepted at once. */
const REPORT_INTERVAL_MS = 1_000;

interface UnreadableOptions {
  readonly env: BaseEnv;
  readonly config: { readonly storageRoot: string };
  readonly cache: WatchCache;
  readonly metrics: MetricsRegistry;
  readonly agreed: Pick<AgreedEncodings, "encodings" | "resources">;
  /** The release that cannot read them, such as "release 1.35". */
  readonly reader: string;
}

interface Followed {
  readonly name: string;
  readonly versions: UnreadableVersions;
  readonly task: BackgroundTask;
}

export function followUnreadable(options: UnreadableOptions): BackgroundTask {
  const { env, cache, agreed } = options;
  const followed = agreed.resources.map((resource) => followVersions(options, resource));
  const report = createReport(options, followed);
  return {
    name: "unreadable-objects",
    mayReturn: true,
    async run(signal) {
      // One wait for all resources, because each of them would poll.
      await waitUntil(env.clock, () => cache.state !== "loading", signal);
      await Promise.all([
        ...followed.map(({ task }) => task.run(signal)),
        repeat(env.clock, REPORT_INTERVAL_MS, report, signal),
      ]);
    },
  };
}

function followVersions(options: UnreadableOptions, resource: StoredResourceVersions): Followed {
  const { env, config, cache, agreed, reader } = options;
  const { name, group, decodable } = resource;
  const place = storagePlaceOf(group, resource.resource)?.prefix ?? `${group}/${resource.resource}`;
  const prefix = `${config.storageRoot}${place}/`;
  const reject = (because: string | undefined): void => agreed.encodings.setUnreadable(name, because);
  const versions = new UnreadableVersions({ prefix, decodable, reader, reject });
  return { name, versions, task: watchPrefix({ cache, clock: env.clock, prefix, table: versions }) };
}

/** Registers the metric, and returns the function that logs changes. */
function createReport({ env, metrics }: UnreadableOptions, followed: readonly Followed[]): () => void {
  const reported = new Map<string, boolean>();
  metrics.gaugesOf(
    {
      name: "evenkeel_storage_version_unreadable_objects",
      help: "Stored objects in versions that this server's release cannot read.",
      labels: ["resource"],
    },
    () =>
      followed
        .filter(({ name, versions }) => versions.count > 0 || reported.has(name))
        .map(({ name, versions }) => ({ labelValues: [name], value: versions.count })),
  );
  return () => {
    for (const { name: resource, versions } of followed) {
      versions.refreshReason();
      const isUnreadable = versions.count > 0;
      if (isUnreadable === (reported.get(resource) ?? false)) continue;
      reported.set(resource, isUnreadable);
      if (isUnreadable) env.log.warn("stored objects are unreadable to this server", { resource });
      else env.log.info("stored objects are readable to this server again", { resource });
    }
  };
}
