/** Creates the controllers of storage versions: the collector of the entries of departed servers, and migration. */
import type { BaseEnv } from "../../base/env.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { Client } from "../../client/client.ts";
import type { Catalog } from "../../objects/catalog/catalog.ts";
import { createCollector } from "./stale-entry-collector.ts";
import type { Members } from "./members.ts";
import { createMigrationMetrics } from "./migration/metrics.ts";
import { createEngine } from "./migration/migrate-resource.ts";
import { migrationType } from "./migration/migration-objects.ts";
import { createMigrator, type MigrationOptions } from "./migration/migrator.ts";
import { createStorageStates } from "./migration/storage-state.ts";
import { createSvmController } from "./migration/svm-controller.ts";

interface StorageVersionControllerParts {
  readonly env: BaseEnv;
  readonly metrics: MetricsRegistry;
  readonly client: Client;
  readonly catalog: Catalog;
  /** Undefined if the servers do not agree on encodings. */
  readonly members: Members | undefined;
  readonly isStoredOnlyIn: NonNullable<MigrationOptions["isStoredOnlyIn"]>;
}

interface StorageVersionControllers {
  readonly onEveryServer: readonly (ReturnType<typeof createCollector> | ReturnType<typeof createMigrator>)[];
  /** The controller of StorageVersionMigration objects, if their API is served. */
  readonly whereServed: readonly NonNullable<ReturnType<typeof createSvmController>>[];
}

export function createStorageVersionControllers(parts: StorageVersionControllerParts): StorageVersionControllers {
  const { env, metrics, client, catalog, members, isStoredOnlyIn } = parts;
  const { clock, random, log } = env;
  const migration: MigrationOptions = {
    client,
    clock,
    log,
    engine: createEngine({ client, clock, random }),
    states: createStorageStates({ client, clock, random }),
    metrics: createMigrationMetrics(metrics),
    isStoredOnlyIn,
  };
  const { group, resource } = migrationType("");
  const version = catalog.resource(group, resource)?.versions[0]?.version;
  const requested = createSvmController({ ...migration, version, servesStorageVersions: members !== undefined });
  return {
    onEveryServer:
      members === undefined
        ? []
        : [createCollector({ client, members, clock, log, metrics }), createMigrator(migration)],
    whereServed: requested === undefined ? [] : [requested],
  };
}
