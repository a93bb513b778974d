/**
 * Deletes all objects of a namespace that some server serves. Pods are deleted first, and nothing else while a pod is
 * left, because the objects on which pods rely (network policies, secrets) must outlast them. If deleting the pods
 * fails with an error, the other objects are deleted nevertheless. Events are deleted last, because other deletions
 * create events.
 */
import { formatGroupResource } from "../../../meta/group-version.ts";
import type { ClusterResource } from "../cluster-resources.ts";
import { describeFailure } from "./failures.ts";
import { emptyResource, type EmptyingTools, type Remains } from "./empty-resource.ts";

export interface Content {
  readonly remaining: readonly RemainingResource[];
  /** Number of objects that have each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Estimated time until the remaining objects are gone; 0 if unknown. */
  readonly estimateSeconds: number;
  /** Messages about objects that could not be deleted. */
  readonly failures: readonly string[];
}

export interface RemainingResource {
  readonly group: string;
  readonly resource: string;
  readonly count: number;
}

interface DeletingContent {
  readonly namespace: string;
  readonly resources: readonly ClusterResource[];
  readonly signal: AbortSignal;
}

/** As kubernetes: the expected time until a finalizer is removed. */
const FINALIZER_ESTIMATE_SECONDS = 15;
/**
 * Number of resources that are emptied at the same time: enough that a slow resource does not delay the others, and few
 * enough not to slow down clients.
 */
const RESOURCES_AT_ONCE = 8;

export async function deleteContent(tools: EmptyingTools, deleting: DeletingContent): Promise<Content> {
  const { resources, signal } = deleting;
  const deletable = resources.filter(({ namespaced, verbs }) => namespaced && verbs.has("delete"));
  const tally = new Tally(deleting.namespace);
  for (const stage of [deletable.filter(isPods), deletable.filter(isOrdinary), deletable.filter(isEvents)]) {
    await eachOf(stage, async (resource) => {
      try {
        tally.add(resource, await emptyResource(tools, { ...deleting, resource }));
      } catch (thrown) {
        signal.throwIfAborted();
        tally.addFailure(resource, thrown);
      }
    });
    if (stage.some(isPods) && tally.hasRemains) break;
  }
  return tally.content();
}

class Tally {
  readonly #namespace: string;
  readonly #remaining: RemainingResource[] = [];
  readonly #finalizers = new Map<string, number>();
  readonly #failures: string[] = [];
  #estimateSeconds = 0;

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  get hasRemains(): boolean {
    return this.#remaining.length > 0;
  }

  add({ group, resource, versions }: ClusterResource, { count, finalizers, graceSeconds }: Remains): void {
    if (count === 0) return;
    this.#remaining.push({ group, resource, count });
    for (const [finalizer, held] of finalizers)
      this.#finalizers.set(finalizer, (this.#finalizers.get(finalizer) ?? 0) + held);
    const estimate = graceSeconds > 0 ? graceSeconds : finalizers.size > 0 ? FINALIZER_ESTIMATE_SECONDS : 0;
    this.#estimateSeconds = Math.max(this.#estimateSeconds, estimate);
    if (estimate > 0) return;
    this.#failures.push(
      `unexpected items still remain in namespace: ${this.#namespace} for gvr: ${group}/${versions[0]}, Resource=${resource}`,
    );
  }

  addFailure(resource: ClusterResource, thrown: unknown): void {
    this.#failures.push(`${formatGroupResource(resource)}: ${describeFailure(thrown)}`);
  }

  content(): Content {
    return {
      remaining: this.#remaining,
      finalizers: this.#finalizers,
      estimateSeconds: this.#estimateSeconds,
      failures: this.#failures,
    };
  }
}

function isPods({ group, resource }: ClusterResource): boolean {
  return group === "" && resource === "pods";
}

function isEvents({ group, resource }: ClusterResource): boolean {
  return resource === "events" && (group === "" || group === "events.k8s.io");
}

function isOrdinary(resource: ClusterResource): boolean {
  return !isPods(resource) && !isEvents(resource);
}

async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const worker = async (): Promise<void> => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(RESOURCES_AT_ONCE, items.length) }, worker));
}
