/**
 * Composes the agreement on encodings: it publishes the entries of this server, and determines the version in which
 * this server may write each resource at the moment.
 */
import { must } from "../../base/assert.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { Catalog, CatalogResource } from "../../objects/catalog/catalog.ts";
import type { Client } from "../../client/client.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import type { Encoding } from "../../serving/registry/resource.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { decodeStatus } from "./decode-status.ts";
import { Encodings, type StoredResourceVersions } from "./encodings.ts";
import type { Members } from "./members.ts";
import { STORAGE_VERSION_TYPE } from "./objects.ts";
import { Publisher } from "./publisher.ts";
import type { WriteGateState } from "./write-gate.ts";
import { whenOrAborted, type BackgroundTask } from "../../base/background.ts";
import type { Clock } from "../../base/clock.ts";
import type { BaseEnv } from "../../base/env.ts";
import { watchPrefix } from "../../storage/watch-cache/watch-prefix.ts";
import type { StartupHook } from "../../base/startup-hook.ts";
import { storedResourceVersions } from "./stored-resource-versions.ts";

/** The part that other parts of the server need before the agreement begins. */
export interface AgreedEncodings {
  readonly encodings: Encodings;
  readonly resources: readonly StoredResourceVersions[];
  /** The key prefix of StorageVersion objects. */
  readonly keyPrefix: string;
  readonly encodingOf: (resource: CatalogResource) => Encoding | undefined;
}

export interface StorageVersions {
  /** Adds a custom resource that is stored here from now on, or changes its versions. */
  put(resource: StoredResourceVersions): void;
  /** Removes a custom resource that is no longer stored here, by the name of its object. */
  remove(name: string): void;
  readonly members: Members;
  readonly gate: WriteGateState;
  readonly hook: StartupHook;
  readonly tasks: readonly BackgroundTask[];
  /** Publishes all entries again before the server writes: after a lapse of its lease, peers may have dropped them. */
  beforeUnfence(signal: AbortSignal): Promise<void>;
}

interface AgreedEncodingsParts {
  readonly clock: Clock;
  readonly serverId: string;
  readonly storageRoot: string;
  readonly catalog: Catalog;
}

export function agreedEncodings({ clock, serverId, storageRoot, catalog }: AgreedEncodingsParts): AgreedEncodings {
  const resources = storedResourceVersions(catalog);
  const { group, resource } = STORAGE_VERSION_TYPE;
  const keyPrefix = `${storageRoot}${must(catalog.resource(group, resource), "every release has storage versions").storagePrefix}/`;
  const encodings = new Encodings({ clock, serverId, resources, keyPrefix });
  const names = new Map(
    resources.flatMap(({ name, aliases }) => aliases.map((alias) => [formatGroupResource(alias), name])),
  );
  return {
    encodings,
    resources,
    keyPrefix,
    encodingOf(of) {
      const name = names.get(formatGroupResource(of));
      return name === undefined ? undefined : encodings.of(name);
    },
  };
}

/** The parts that a server of any component needs to take part in the agreement. */
interface AgreementParts {
  readonly env: BaseEnv;
  readonly metrics: MetricsRegistry;
  readonly cache: WatchCache;
  readonly client: Client;
  readonly serverId: string;
  readonly agreed: Pick<AgreedEncodings, "encodings" | "resources" | "keyPrefix">;
  readonly members: (isComplete: () => boolean) => Members;
  /** Why this server must not publish its entries now; undefined if it may. */
  readonly withheldBecause: () => string | undefined;
  /** Calls `open` when a published resource may be written. If absent, that is at once. */
  readonly whenPublished?: (name: string, open: () => void) => void;
  readonly tasks?: readonly BackgroundTask[];
}

export function createAgreement(parts: AgreementParts): StorageVersions {
  const { env, metrics, client, serverId, agreed, withheldBecause, whenPublished = (_, open) => open() } = parts;
  const { clock, random, log } = env;
  const { encodings, resources, keyPrefix } = agreed;
  const members = parts.members(() => publisher.isComplete);
  const publisher = new Publisher({
    client,
    members,
    clock,
    random,
    log,
    metrics,
    serverId,
    resources,
    withheldBecause,
    onPublished: (name) => whenPublished(name, () => encodings.published(name)),
  });
  parts.cache.epoch.onChange(() => {
    publisher.forgetRevisions();
    encodings.unpublishAll();
  });
  const turn = Promise.withResolvers<void>();
  let isFirst = true;
  return {
    put(resource) {
      encodings.put(resource);
      publisher.put(resource);
    },
    remove(name) {
      encodings.remove(name);
      publisher.remove(name);
    },
    members,
    gate: {
      get isOpen() {
        return encodings.isOpen;
      },
      closedBecause(group, resource) {
        const name = encodings.unpublishedName(group, resource);
        return name === undefined ? undefined : { lastError: publisher.lastError(name) };
      },
    },
    hook: {
      name: "built-in-resources-storage-version-updater",
      async run(signal) {
        turn.resolve();
        await publisher.publishAll(signal);
      },
    },
    tasks: [
      followObjects(parts, encodings, keyPrefix),
      {
        name: "storage-version-updater",
        async run(signal) {
          if (await whenOrAborted(turn.promise, signal)) await publisher.run(signal);
        },
      },
      ...(parts.tasks ?? []),
    ],
    async beforeUnfence(signal) {
      // At the start nothing has to be invalidated: each resource opens as soon as it is published.
      if (isFirst) isFirst = false;
      else {
        encodings.unpublishAll();
        await publisher.publishAll(signal);
      }
    },
  };
}

/** Watches the stored objects directly, because writes are guarded by the revision of the stored object. */
function followObjects(
  { env, cache }: Pick<AgreementParts, "env" | "cache">,
  encodings: Encodings,
  prefix: string,
): BackgroundTask {
  const nameOf = (key: string): string => key.slice(prefix.length);
  const observe = (entry: Entry): void =>
    encodings.observe(
      nameOf(entry.key),
      entry.modRevision,
      entry.corrupt === undefined ? decodeStatus(parseEntry(entry)) : undefined,
    );
  return watchPrefix({
    cache,
    clock: env.clock,
    prefix,
    table: {
      reset(entries) {
        encodings.keepOnly(new Set(entries.map(({ key }) => nameOf(key))));
        entries.forEach(observe);
      },
      put: observe,
      remove: (key) => encodings.forget(nameOf(key)),
    },
  });
}
