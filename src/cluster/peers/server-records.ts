/** The tables of all records that servers write directly to the store, and the decision which servers are live. */
import type { BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { DoubtBudget } from "./doubt-budget.ts";
import { endpointRecordKind, type EndpointTable } from "./endpoint-record.ts";
import type { LeaseCollector } from "./lease-collector.ts";
import { kubernetesPortKind, type KubernetesPortTable } from "./kubernetes-port.ts";
import { masterLeaseKind, type MasterLeaseTable } from "./master-leases.ts";
import type { MemberConfig } from "./peer-config.ts";
import { RecordTable } from "./record-table.ts";
import { isNotedAsDeparted } from "./departed-records.ts";
import { ServerObserver } from "./server-observer.ts";
import { startingRecordKind, type StartingTable } from "./starting-record.ts";

interface RecordParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
}

export interface ServerTables {
  readonly endpoints: EndpointTable;
  readonly starting: StartingTable;
  readonly masterLeases: MasterLeaseTable;
  readonly kubernetesPort: KubernetesPortTable;
  readonly tasks: readonly BackgroundTask[];
  /** Whether all records that existed at the start have been read. */
  isLoaded(): boolean;
  /** Whether the server has an endpoint record or a starting record. */
  hasRecord(id: string): boolean;
}

export function createServerTables({ env, config, store }: RecordParts): ServerTables {
  const { clock, log } = env;
  const endpoints = new RecordTable(endpointRecordKind(config.storageRoot), log);
  const starting = new RecordTable(startingRecordKind(config.storageRoot), log);
  const masterLeases = new RecordTable(masterLeaseKind(config.storageRoot), log);
  const kubernetesPort = new RecordTable(kubernetesPortKind(config.storageRoot), log);
  const tables = [endpoints, starting, masterLeases, kubernetesPort];
  return {
    endpoints,
    starting,
    masterLeases,
    kubernetesPort,
    tasks: tables.map((table) => table.follow(store.cache, clock)),
    isLoaded: () => tables.every((table) => table.isLoaded),
    hasRecord: (id) => endpoints.has(id) || starting.all().some((record) => record.id === id),
  };
}

/** Observes the tables and the identity leases. */
export function observeServers(
  parts: RecordParts,
  tables: ServerTables,
  leases: LeaseCollector,
): { readonly observer: ServerObserver; readonly tasks: readonly BackgroundTask[] } {
  const { env, config, store } = parts;
  const { endpoints, starting, masterLeases, kubernetesPort } = tables;
  const { clock, log } = env;
  const { serverId, timing, servers } = config.peers;
  const budget = new DoubtBudget({ storageRoot: config.storageRoot, store, clock, log });
  const observer = new ServerObserver({
    selfId: serverId,
    ownAddress: config.published?.address,
    clock,
    log,
    endpoints,
    starting,
    masterLeases,
    kubernetesPort,
    leases: () => leases.evidence(),
    named: servers,
    isLoaded: () => tables.isLoaded() && budget.isLoaded,
    mayDoubt: () => budget.mayDoubt(),
    hasDeparted: (lease) => isNotedAsDeparted(store.cache, config.storageRoot, lease),
    intervalMs: timing.leaseCollectIntervalMs,
    rewriteMs: timing.endpointRefreshMs,
  });
  for (const table of [endpoints, starting]) table.onChange(() => leases.reconsider());
  leases.onChange(() => observer.reconsider());
  budget.onChange(() => observer.reconsider());
  return { observer, tasks: [budget.task, observer.task] };
}
