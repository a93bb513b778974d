/**
 * Finds objects that were stored before the server started, in versions that its release cannot read. The server
 * reports them, and rejects writes of their resource until the objects are deleted, or rewritten by a server that can
 * read them.
 */
import type { MetricsRegistry } from "../../base/metrics.ts";
import { sleep } from "../../base/clock.ts";
import { storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { StoredResourceVersions } from "../storageversion/encodings.ts";
import { waitUntil, type BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { AgreedEncodings } from "../storageversion/create-storage-versions.ts";
import { someOf } from "../../base/some-of.ts";

const LOOK_AGAIN_MS = 1_000;
const NAMES_MAX = 5;

interface UnreadableOptions {
  readonly env: BaseEnv;
  readonly config: { readonly storageRoot: string };
  readonly cache: WatchCache;
  readonly metrics: MetricsRegistry;
  readonly agreed: Pick<AgreedEncodings, "encodings" | "resources">;
  /** The release that cannot read them, such as "release 1.35". */
  readonly reader: string;
}

export function followUnreadable(options: UnreadableOptions): BackgroundTask {
  const { env, cache, metrics, agreed, reader } = options;
  const gauge = metrics.gauge({
    name: "evenkeel_storage_version_unreadable_objects",
    help: "Stored objects in versions that this server's release cannot read.",
    labels: ["resource"],
  });
  const look = (resource: StoredResourceVersions): boolean => {
    const found = unreadable(options, resource);
    if (found.length > 0 || agreed.encodings.isUnreadable(resource.name)) gauge.with(resource.name).set(found.length);
    agreed.encodings.setUnreadable(resource.name, found.length === 0 ? undefined : because(found, reader));
    return found.length > 0;
  };
  return {
    name: "unreadable-objects",
    mayReturn: true,
    async run(signal) {
      await waitUntil(env.clock, () => cache.state === "following", signal);
      if (signal.aborted) return;
      let suspects = agreed.resources.filter(look);
      for (const { name } of suspects) env.log.warn("stored objects are unreadable to this server", { resource: name });
      while (suspects.length > 0 && (await sleep(env.clock, LOOK_AGAIN_MS, signal))) suspects = suspects.filter(look);
    },
  };
}

interface Found {
  readonly name: string;
  readonly apiVersion: string;
}

function unreadable({ cache, config }: UnreadableOptions, resource: StoredResourceVersions): Found[] {
  const { group } = resource;
  const place = storagePlaceOf(group, resource.resource)?.prefix ?? `${group}/${resource.resource}`;
  const prefix = `${config.storageRoot}${place}/`;
  const readable = new Set(resource.decodable);
  return cache
    .range(prefix, prefixEnd(prefix))
    .filter(({ corrupt, apiVersion }) => corrupt === undefined && !readable.has(apiVersion))
    .map(({ key, apiVersion }) => ({ name: key.slice(prefix.length), apiVersion }));
}

function because(found: readonly Found[], reader: string): string {
  const versions = [...new Set(found.map(({ apiVersion }) => apiVersion))].join(", ");
  const names = found.map(({ name }) => name);
  return `${reader} cannot read ${versions}, in which ${someOf(names, NAMES_MAX)} are stored`;
}
