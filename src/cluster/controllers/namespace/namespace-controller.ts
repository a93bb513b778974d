/**
 * Empties namespaces that are being deleted, and finalizes them when nothing is left. The conditions of a namespace
 * report what blocks its deletion and which server is the cause.
 *
 * A namespace is finalized only after an attempt in which every request succeeded, and only if the view of the cluster
 * was current, had no doubts about namespaced resources, and did not change during the attempt. The server that
 * finalizes the namespace checks the store as well. Doubts about resources whose objects that check counts do not block
 * the namespace if the check finds it empty.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import type { Counter, Histogram, MetricsRegistry } from "../../../base/metrics.ts";
import type { Random } from "../../../base/random.ts";
import { messageOf } from "../../../base/within.ts";
import type { Client } from "../../../client/client.ts";
import type { WriteOptions } from "../../../client/objects.ts";
import type { ResourceClient } from "../../../client/resource-client.ts";
import { formatGroupResource } from "../../../meta/group-version.ts";
import { isReason } from "../../../meta/status-error.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import type { ClusterResource, ClusterResources, Doubt } from "../cluster-resources.ts";
import type { ReconcileResult, KeySource } from "../../controller-runtime/controller.ts";
import { isAbsent } from "./failures.ts";
import { withNamespaceConditions, type NamespaceFindings } from "./conditions.ts";
import { deleteContent, type Content, type RemainingResource } from "./delete-content.ts";
import { DeletionMemory, type NamespaceDeletion } from "./deletion-memory.ts";
import { heldObjects } from "./held.ts";
import { fingerprint, namespaceSource, resourcesSource } from "./namespace-source.ts";
import {
  isNamespaceTerminating,
  NAMESPACE_FINALIZER,
  NAMESPACE_TYPE,
  PURGED_ANNOTATION,
  nameOf,
  type NamespaceCondition,
  type NamespaceObject,
} from "./objects.ts";

interface NamespaceControllerOptions {
  readonly client: Client;
  /** The client that requests only the metadata of objects. Default: `client`. */
  readonly metadata?: Client;
  readonly resources: ClusterResources;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  /**
   * When this server first saw the deletion of a namespace, by its monotonic clock, also before it became the leader.
   * Undefined if it has not seen it. Default: only the deletions that the leader has seen are known.
   */
  readonly deletionSeenAtMs?: (name: string, uid: string) => number | undefined;
  /**
   * Minimum time from when the deletion was first seen until the namespace is finalized. By then every server has seen
   * the deletion, and objects that were being created before are stored. Default 5 s, as kubernetes.
   */
  readonly settleMs?: number;
}

export interface NamespaceController {
  readonly name: "namespace-controller";
  readonly workers: number;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;
  sources(): readonly KeySource[];
}

const WORKERS = 4;
export const SETTLE_MS = 5_000;
/** Delay after a conflict, so that the change of the other client is read first. */
const CONFLICT_RETRY_MS = 100;
/** Interval of resyncs, in case a watch event was missed. */
const RESYNC_MS = 60_000;
const DELETION_BUCKETS: readonly number[] = [1, 2.5, 5, 7.5, 10, 15, 30, 60, 120, 300, 600, 1_800, 3_600];

export function createNamespaceController(options: NamespaceControllerOptions): NamespaceController {
  const deleter = new NamespaceDeleter(options);
  return {
    name: "namespace-controller",
    workers: WORKERS,
    reconcile: (key, signal) => deleter.reconcile(key, signal),
    sources: () => deleter.sources(),
  };
}

/** One attempt to delete one namespace. */
interface Attempt {
  readonly namespace: NamespaceObject;
  readonly deletion: NamespaceDeletion;
  readonly findings: NamespaceFindings;
  /** Whether served resources and doubts did not change during the attempt. */
  readonly isSteady: boolean;
  readonly signal: AbortSignal;
}

class NamespaceDeleter {
  readonly #options: NamespaceControllerOptions;
  readonly #namespaces: ResourceClient<NamespaceObject>;
  readonly #memory: DeletionMemory;
  readonly #finalized: Counter;
  readonly #seconds: Histogram;

  constructor(options: NamespaceControllerOptions) {
    const { client, metrics } = options;
    const memory = new DeletionMemory(options);
    this.#options = options;
    this.#namespaces = client.resource<NamespaceObject>(NAMESPACE_TYPE);
    this.#memory = memory;
    this.#finalized = metrics
      .counter({
        name: "evenkeel_namespaces_finalized_total",
        help: "Namespaces finalized because nothing was left in them.",
      })
      .with();
    this.#seconds = metrics
      .histogram({
        name: "evenkeel_namespace_deletion_seconds",
        help: "Time from when a namespace was first seen being deleted until it was finalized.",
        buckets: DELETION_BUCKETS,
      })
      .with();
    metrics.gaugeOf(
      {
        name: "evenkeel_namespaces_blocked",
        help: "Namespaces whose deletion is blocked; their conditions report the reason.",
      },
      () => memory.blocked,
    );
  }

  sources(): readonly KeySource[] {
    const { client, resources, log } = this.#options;
    this.#memory.forgetAll();
    const informer = client.informer<NamespaceObject>(NAMESPACE_TYPE, {
      resyncMs: RESYNC_MS,
      onError: (thrown) => log.warn("namespace watch failed", { error: messageOf(thrown) }),
    });
    return [namespaceSource(informer), resourcesSource(resources, informer)];
  }

  async reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    try {
      const namespace = await this.#namespaces.get({ name }, { signal });
      if (isNamespaceTerminating(namespace)) return await this.#delete(namespace, signal);
    } catch (thrown) {
      if (isReason(thrown, "Conflict")) return { requeueAfterMs: CONFLICT_RETRY_MS };
      if (!isAbsent(thrown)) throw thrown;
    }
    this.#memory.forget(name);
    return undefined;
  }

  async #delete(found: NamespaceObject, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const deletion = this.#memory.of(nameOf(found), found.metadata?.uid ?? "");
    const look = await this.#attempt({ namespace: await this.#terminating(found, signal), deletion, signal });
    const isOurs = (look.namespace.spec?.finalizers ?? []).includes(NAMESPACE_FINALIZER);
    const settlingMs = (this.#options.settleMs ?? SETTLE_MS) - this.#memory.ageMs(deletion);
    const mayGo = isOurs && settlingMs <= 0;
    const obstacle = obstacleOf(look);
    if (obstacle !== "") {
      const certain = withoutCountable(look);
      if (mayGo && obstacleOf(certain) === "" && (await this.#isEmpty(certain))) return this.#finalize(certain);
      await this.#report(look);
      return this.#wait(look, obstacle);
    }
    if (mayGo) return this.#finalize(look);
    await this.#report(look);
    // If our finalizer is already removed, another finalizer keeps the namespace, and nothing is left to do here.
    if (isOurs) return { requeueAfterMs: settlingMs };
    deletion.failure = "";
    return undefined;
  }

  async #terminating(namespace: NamespaceObject, signal: AbortSignal): Promise<NamespaceObject> {
    if (namespace.status?.phase === "Terminating") return namespace;
    const status = { ...namespace.status, phase: "Terminating" };
    return this.#namespaces.replaceStatus({ ...namespace, status }, { signal });
  }

  async #attempt(at: Pick<Attempt, "namespace" | "deletion" | "signal">): Promise<Attempt> {
    const { client, metadata = client, resources, clock } = this.#options;
    const { namespace, signal } = at;
    const isViewCurrent = await resources.catchUp();
    const before = fingerprint(resources);
    const doubts = resources.doubts().filter(({ namespaced }) => namespaced !== false);
    const content = await deleteContent(
      { client: metadata, clock },
      { namespace: nameOf(namespace), resources: requestable(resources.served(), doubts), signal },
    );
    const purged = namespace.metadata?.annotations?.[PURGED_ANNOTATION];
    return { ...at, findings: { isViewCurrent, doubts, content, purged }, isSteady: fingerprint(resources) === before };
  }

  /** Returns the new conditions if they differ from those of the namespace; otherwise undefined. */
  #changedConditions({ namespace, findings }: Attempt): readonly NamespaceCondition[] | undefined {
    const before = namespace.status?.conditions ?? [];
    const conditions = withNamespaceConditions(before, findings, timestampAt(this.#options.clock.now()));
    return conditions === before ? undefined : conditions;
  }

  async #report(look: Attempt): Promise<NamespaceObject> {
    const { namespace, signal } = look;
    const conditions = this.#changedConditions(look);
    if (conditions === undefined) return namespace;
    return this.#namespaces.replaceStatus({ ...namespace, status: { ...namespace.status, conditions } }, { signal });
  }

  #wait({ namespace, deletion, findings }: Attempt, obstacle: string): ReconcileResult {
    const { estimateSeconds } = findings.content;
    if (deletion.failure !== obstacle)
      this.#options.log.info("namespace finalization blocked", { namespace: nameOf(namespace), because: obstacle });
    const waitMs = this.#memory.waitMs(deletion, obstacle);
    // As kubernetes: retry after half of the estimated time.
    const expectedMs = estimateSeconds === 0 ? Infinity : (Math.floor(estimateSeconds / 2) + 1) * 1_000;
    return { requeueAfterMs: Math.min(waitMs, expectedMs) };
  }

  async #finalize(look: Attempt): Promise<ReconcileResult | undefined> {
    const { namespace, deletion, signal } = look;
    const name = nameOf(namespace);
    try {
      // Conditions without problems are written only if finalizing would succeed (checked by a dry run): the store may
      // still hold objects that no attempt has found.
      if (this.#changedConditions(look) !== undefined)
        await this.#finalizeNamespace(namespace, { signal, dryRun: "All" });
      await this.#finalizeNamespace(await this.#report(look), { signal });
    } catch (thrown) {
      const held = heldObjects(thrown);
      if (held === undefined) throw thrown;
      return this.#explainHeld(look, held);
    }
    this.#finalized.inc();
    this.#seconds.observe(this.#memory.ageMs(deletion) / 1_000);
    this.#memory.forget(name);
    this.#options.log.info("namespace finalized", { namespace: name });
    return undefined;
  }

  /** Whether the store holds no object of the namespace: a dry run of finalizing is rejected if it does. */
  async #isEmpty({ namespace, signal }: Attempt): Promise<boolean> {
    try {
      await this.#finalizeNamespace(namespace, { signal, dryRun: "All" });
      return true;
    } catch (thrown) {
      if (heldObjects(thrown) === undefined) throw thrown;
      return false;
    }
  }

  async #finalizeNamespace(namespace: NamespaceObject, options: WriteOptions): Promise<void> {
    const finalizers = (namespace.spec?.finalizers ?? []).filter((finalizer) => finalizer !== NAMESPACE_FINALIZER);
    const finalized = { ...namespace, spec: { ...namespace.spec, finalizers } };
    await this.#namespaces.replace(finalized, { ...options, subresource: "finalize" });
  }

  /** Reports objects in the store that no attempt has found. They were just created, or no server serves them. */
  async #explainHeld(look: Attempt, remaining: readonly RemainingResource[]): Promise<ReconcileResult> {
    const { resources } = this.#options;
    const served = new Set(resources.served().map(formatGroupResource));
    const unserved = remaining.map(formatGroupResource).filter((name) => !served.has(name));
    const wayOut = `run "evenkeel purge-namespace ${nameOf(look.namespace)}" to list and remove its objects`;
    const failures = unserved.map((name) =>
      resources.isOneServer
        ? `the server that runs this controller does not serve ${name}, and without the mixed version proxy it cannot call another`
        : `no server of this cluster serves ${name}: ${wayOut}`,
    );
    const content: Content = { ...look.findings.content, remaining, failures };
    const held: Attempt = { ...look, findings: { ...look.findings, content } };
    await this.#report(held);
    return this.#wait(held, obstacleOf(held));
  }
}

/**
 * Ignores doubts about resources whose stored objects can be counted: such a resource blocks a namespace only if the
 * store holds objects of it in the namespace, which finalizing checks.
 */
function withoutCountable(look: Attempt): Attempt {
  const doubts = look.findings.doubts.filter(({ isCountable }) => isCountable !== true);
  return { ...look, findings: { ...look.findings, doubts } };
}

/** The resources without those that only unreachable servers serve, because requests for these would fail. */
function requestable(served: readonly ClusterResource[], doubts: readonly Doubt[]): readonly ClusterResource[] {
  const unreachable = new Set(
    doubts.flatMap(({ group, resource, isCountable }) =>
      isCountable === true && group !== undefined && resource !== undefined
        ? [formatGroupResource({ group, resource })]
        : [],
    ),
  );
  return served.filter((resource) => !unreachable.has(formatGroupResource(resource)));
}

/** A short text that says why the namespace must stay; "" if it may be finalized. */
function obstacleOf({ findings, isSteady }: Attempt): string {
  const { isViewCurrent, doubts, content } = findings;
  const { remaining, failures } = content;
  if (!isViewCurrent) return "the live servers are currently unknown";
  const [doubt] = doubts;
  if (doubt !== undefined) return `${doubt.server} ${doubt.because}`;
  const [failure] = failures.toSorted();
  if (failure !== undefined) return failure;
  if (remaining.length > 0) return remaining.map((one) => `${one.count} ${formatGroupResource(one)}`).join(", ");
  return isSteady ? "" : "the served resources have changed meanwhile";
}
