/**
 * The garbage collector. It deletes objects whose owners are all gone, makes objects that are deleted in the foreground
 * wait for their dependents, and orphans dependents. It works as kubernetes' garbage collector, for all resources that
 * any server of a cluster of mixed releases serves.
 *
 * It deletes an object only if, for each owner, a server that serves the owner's resource has reported the owner
 * absent. If such a report is not available at present, only the objects that depend on it wait.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import type { MetricsRegistry } from "../../../base/metrics.ts";
import type { Random } from "../../../base/random.ts";
import type { Client } from "../../../client/client.ts";
import { formatGroupResource } from "../../../meta/group-version.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import type { ClusterResources } from "../cluster-resources.ts";
import type { ReconcileResult, KeySource } from "../../controller-runtime/controller.ts";
import type { ReportedWait } from "../../controller-runtime/reported-waits.ts";
import { attempt } from "./attempt.ts";
import type { AttemptContext } from "./attempt-context.ts";
import { OwnerGraph, type GraphSize } from "./graph.ts";
import { Holds } from "./holds.ts";
import { InvalidOwnerReports } from "./invalid-owner-reports.ts";
import { COMPLAINTS_MAX, UNWATCHED_LOG_MS, WORKERS } from "./collector-limits.ts";
import { LiveObjects } from "./live-objects.ts";
import { createGarbageCollectorMetrics, type GarbageCollectorMetrics } from "./metrics.ts";
import { LruSet } from "./lru-set.ts";
import { Monitors } from "./monitors.ts";
import { OwnerLookup } from "./owner-lookup.ts";
import { ServedResources } from "./served-resources.ts";
import type { UnwatchedResource } from "./unwatched-resources.ts";
import type { Wait } from "./wait.ts";

interface GarbageCollectorOptions {
  /** Writes events. */
  readonly client: Client;
  /** Reads and writes the collected objects; it requests only their metadata. */
  readonly metadata: Client;
  readonly resources: ClusterResources;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

export interface GarbageCollector {
  readonly name: "garbage-collector-controller";
  readonly workers: number;
  /** Keys are uids. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;
  /**
   * Called at the beginning of each term. It starts with an empty graph, because observations of an earlier term may be
   * outdated.
   */
  sources(): readonly KeySource[];
  graphSize(): GraphSize;
  /** The resources that have not been watched for so long that the log names them. */
  waits(): readonly ReportedWait[];
}

export function createGarbageCollector(options: GarbageCollectorOptions): GarbageCollector {
  const metrics = createGarbageCollectorMetrics(options.metrics, () => term?.unwatched() ?? []);
  let term: Term | undefined;
  return {
    name: "garbage-collector-controller",
    workers: WORKERS,
    reconcile: async (key, signal) => term?.reconcile(key, signal),
    sources: () => {
      const begun = new Term(options, metrics);
      term = begun;
      const onEnd = (): void => {
        // Drops the graph, because this server no longer leads.
        if (term === begun) term = undefined;
      };
      return [sourceOf(begun, onEnd)];
    },
    waits: () => {
      const loggedMs = options.clock.monotonic() - UNWATCHED_LOG_MS;
      return (term?.unwatched() ?? []).filter(({ since }) => since.monotonicMs <= loggedMs).map(toReportedWait);
    },
    graphSize: () => term?.graph.size ?? { objects: 0, unseenOwners: 0, references: 0 },
  };
}

function toReportedWait(unwatched: UnwatchedResource): ReportedWait {
  return {
    kind: "resource",
    name: formatGroupResource(unwatched),
    since: timestampAt(unwatched.since.wallMs),
    because: `the garbage collector cannot watch it: ${unwatched.because}`,
  };
}

function sourceOf(term: Term, onEnd: () => void): KeySource {
  return {
    get hasSynced() {
      return term.hasSynced;
    },
    run: (enqueue, signal) => term.run(enqueue, signal).finally(onEnd),
  };
}

/** One term of leadership. */
class Term {
  readonly graph: OwnerGraph;
  readonly #metrics: GarbageCollectorMetrics;
  readonly #holds: Holds;
  readonly #monitors: Monitors;
  readonly #context: AttemptContext;
  /** The uids of objects whose last attempt ended with a wait. */
  readonly #waiting = new Set<string>();
  readonly #complaints = new LruSet(COMPLAINTS_MAX);
  readonly #log: Log;
  #enqueue: (uid: string) => void = () => {};

  constructor(options: GarbageCollectorOptions, metrics: GarbageCollectorMetrics) {
    const { client, metadata, resources, clock, random, log } = options;
    const enqueue = (uid: string): void => this.#enqueue(uid);
    const graph = new OwnerGraph(enqueue);
    const served = new ServedResources(resources);
    const holds = new Holds({ clock, log });
    const objects = new LiveObjects({ metadata, served, holds });
    const monitors = new Monitors({
      resources,
      served,
      graph,
      metadata,
      clock,
      random,
      log,
      syncErrors: metrics.syncErrors,
      onChange: () => this.#lookAgain(),
    });
    this.graph = graph;
    this.#log = log;
    this.#metrics = metrics;
    this.#holds = holds;
    this.#monitors = monitors;
    this.#context = {
      graph,
      objects,
      enqueue,
      owners: new OwnerLookup({ resources, served, objects, holds, graph }),
      reports: new InvalidOwnerReports({ client, served, clock, random, log }),
      unseen: (namespace) => monitors.unseen(namespace),
      followed: (namespace) => monitors.followed(namespace),
      deleted: metrics.deleted,
      orphaned: metrics.orphaned,
    };
  }

  get hasSynced(): boolean {
    return this.#monitors.hasSynced;
  }

  unwatched(): UnwatchedResource[] {
    return this.#monitors.unwatched();
  }

  async run(enqueue: (key: string) => void, signal: AbortSignal): Promise<void> {
    this.#enqueue = enqueue;
    await this.#monitors.run(signal);
  }

  async reconcile(uid: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    this.#waiting.delete(uid);
    const waiting = await attempt(this.#context, uid, signal);
    if (waiting === undefined) return undefined;
    this.#metrics.attemptsWaiting.with(waiting.reason).inc();
    this.#waiting.add(uid);
    this.#complain(waiting);
    return { requeueAfterMs: waiting.afterMs };
  }

  /** Logs a wait that no other part logs, once for each subject. */
  #complain({ reason, because }: Wait): void {
    if ((reason !== "dependents-unknown" && reason !== "refused") || this.#complaints.has(because)) return;
    this.#complaints.add(because);
    this.#log.warn("objects wait to be collected", { reason, why: because });
  }

  #lookAgain(): void {
    this.#holds.clear();
    for (const uid of this.#waiting) this.#enqueue(uid);
    this.#waiting.clear();
  }
}
