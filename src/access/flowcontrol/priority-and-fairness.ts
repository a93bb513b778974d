/**
 * Creates the concurrency filter of a server: either priority and fairness with the stored FlowSchemas and priority
 * levels, or the two in-flight limits.
 */
import type { WithUser } from "../auth/user.ts";
import { SYSTEM_MASTERS } from "../auth/rbac/privileged-groups.ts";
import { createFlowControl } from "./flow-control.ts";
import type { ObjectStats } from "./work-estimate.ts";
import type { PassingFilter } from "../../serving/http/chain.ts";
import { requestedTimeoutMs } from "../../serving/http/filters/deadline.ts";
import { inFlight } from "../../serving/http/filters/in-flight.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { ObjectTable } from "../../meta/object-table.ts";
import { prefixEnd } from "../../storage/kv.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import { flowSchemaStatus, type FlowSchemaStatusParts } from "./flow-schema-status.ts";
import { watchObjects, type StoredObjectParts } from "../../serving/resources/stored-objects.ts";

export interface PriorityAndFairness {
  readonly filter: PassingFilter<WithUser>;
  readonly tasks: readonly BackgroundTask[];
}

/** The part of the environment through which long work waits for the next turn of the event loop. */
export interface EventLoopTurns {
  /** Absent in environments without an event loop. */
  readonly nextTurn?: (callback: () => void) => void;
}

export interface InFlightSettings {
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly requestTimeoutMs: number;
  readonly access: { readonly priorityAndFairness: boolean };
}

/** The watches on FlowSchemas and PriorityLevelConfigurations, and the client that writes their status. */
interface FlowObjects extends Pick<FlowSchemaStatusParts, "call" | "ready"> {
  readonly followed: StoredObjectParts;
}

/** If `objects` is absent, or priority and fairness is disabled, only the in-flight limits apply. */
export function createPriorityAndFairness(
  parts: {
    readonly env: BaseEnv & EventLoopTurns;
    readonly config: InFlightSettings;
    readonly metrics: MetricsRegistry;
  },
  objects?: FlowObjects,
): PriorityAndFairness {
  const { env, config, metrics } = parts;
  const { maxRequestsInflight: readsMax, maxMutatingRequestsInflight: writesMax, requestTimeoutMs } = config;
  if (objects === undefined || !config.access.priorityAndFairness)
    return {
      filter: inFlight<WithUser>({
        metrics,
        readsMax: limitOf(readsMax),
        writesMax: limitOf(writesMax),
        isExempt: isMaster,
      }),
      tasks: [],
    };
  const { clock, nextTurn } = env;
  const { followed, call, ready } = objects;
  const control = createFlowControl({
    clock,
    metrics,
    requestTimeoutMs,
    requestedTimeoutMs,
    serverSeats: readsMax + writesMax,
    ...(nextTurn === undefined ? {} : { nextTurn }),
    statsOf: objectStats(followed),
  });
  const status = flowSchemaStatus({ clock, call, ready });
  const follow = (resource: string, table: ObjectTable): BackgroundTask[] => {
    const task = watchObjects(followed, { group: "flowcontrol.apiserver.k8s.io", resource }, table);
    return task === undefined ? [] : [task];
  };
  return {
    filter: control.filter,
    tasks: [
      ...follow("flowschemas", control.flowSchemas),
      ...follow("prioritylevelconfigurations", control.priorityLevels),
      ...follow("flowschemas", status.schemas),
      ...follow("prioritylevelconfigurations", status.levels),
      status.task,
    ],
  };
}

/** As kubernetes: 0 disables an in-flight limit. */
function limitOf(max: number): number {
  return max === 0 ? Number.POSITIVE_INFINITY : max;
}

function isMaster({ user }: WithUser): boolean {
  return user.groups.includes(SYSTEM_MASTERS);
}

/** Average object sizes are cached for this long, because they change slowly and computing them takes time. */
const SIZES_MS = 60_000;

/**
 * The returned function returns undefined until the watch cache is synced, and for resources that are not stored in
 * this cluster.
 */
function objectStats({ clock, cache, resolve }: StoredObjectParts): (info: RequestInfo) => ObjectStats | undefined {
  const sizes = new Map<string, { readonly atMs: number; readonly averageBytes: number }>();
  const averageBytes = (prefix: string): number => {
    const known = sizes.get(prefix);
    const nowMs = clock.monotonic();
    if (known !== undefined && nowMs - known.atMs < SIZES_MS) return known.averageBytes;
    const entries = cache.range(prefix, prefixEnd(prefix));
    const total = entries.reduce((sum, { item }) => sum + item.length, 0);
    const average = entries.length === 0 ? 0 : total / entries.length;
    sizes.set(prefix, { atMs: nowMs, averageBytes: average });
    return average;
  };
  return ({ group, version, resource }) => {
    if (cache.state !== "following") return undefined;
    const prefix = resolve(group, version, resource)?.served?.stored.keyPrefix;
    return prefix === undefined ? undefined : { count: cache.count(prefix), averageBytes: averageBytes(prefix) };
  };
}
