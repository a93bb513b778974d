/**
 * Watches one resource for the graph. Objects are added to the graph as they arrive, and are not kept. While a list is
 * incomplete, only the metadata that identifies its objects is kept. States:
 *
 * - starting: nothing is known → following, failing
 * - following: the graph is current → failing
 * - failing: the graph may be outdated → following
 */
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import type { Client } from "../../../client/client.ts";
import type {
  KubernetesList,
  KubernetesObject,
  ListOptions,
  WatchEvent,
  WatchOptions,
} from "../../../client/objects.ts";
import { Reflector, type ListerWatcher } from "../../../client/reflector.ts";
import type { ResourceClient } from "../../../client/resource-client.ts";
import { formatGroupResource } from "../../../meta/group-version.ts";
import { serviceUnavailable } from "../../../meta/status-error.ts";
import type { GraphResource, OwnerGraph } from "./graph.ts";
import { RESTART_MS_MIN, WATCH_WORKS_MS } from "./collector-limits.ts";
import { toSeenObject } from "./seen-object.ts";
import type { ServedResources } from "./served-resources.ts";
import { watchFailure, type Moment } from "./unwatched-resources.ts";

interface MonitorOptions {
  readonly resource: GraphResource;
  readonly graph: OwnerGraph;
  /** The client that requests only metadata. */
  readonly metadata: Client;
  readonly served: ServedResources;
  readonly clock: Clock;
  readonly random: Random;
  readonly onFailing: () => void;
  readonly onFollowing: () => void;
}

export class Monitor {
  readonly resource: GraphResource;
  readonly #options: MonitorOptions;
  readonly #source: ListerWatcher<KubernetesObject>;
  #state: "starting" | "following" | "failing" = "starting";
  #hasSynced = false;
  #watchOpenedAtMs: number | undefined;
  #restart: AbortController | undefined;
  #startedAtMs = 0;
  /** When a list succeeded, or a watch delivered an event, after the last failure. */
  #followingSinceMs = Infinity;
  #unwatchedSince: Moment;
  #failure: string | undefined;

  constructor(options: MonitorOptions) {
    this.resource = options.resource;
    this.#options = options;
    this.#unwatchedSince = this.#now();
    this.#source = {
      list: (list) => this.#list(list),
      listAll: (list) => this.#listAll(list),
      watch: (watch) => this.#watch(watch),
    };
  }

  /** Whether the graph has contained all objects of the resource at least once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** Whether the first attempt to read the resource has succeeded or failed. */
  get hasBegun(): boolean {
    return this.#state !== "starting";
  }

  /** Whether the graph contains all objects of the resource, as far as is known. */
  get isFollowing(): boolean {
    if (!this.#hasSynced) return false;
    if (this.#state === "following") return true;
    // While no event arrives, a watch counts as working only after it has stayed open for some time.
    const openedAtMs = this.#watchOpenedAtMs;
    return openedAtMs !== undefined && this.#options.clock.monotonic() - openedAtMs >= WATCH_WORKS_MS;
  }

  /** Why a list or watch failed last; undefined if none has failed. */
  get failure(): string | undefined {
    return this.#failure;
  }

  /** Since when the resource is not watched; undefined while it is watched. */
  get unwatchedSince(): Moment | undefined {
    return this.#isWatched() ? undefined : this.#unwatchedSince;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, graph } = this.#options;
    while (!signal.aborted) {
      const restart = new AbortController();
      const onAbort = (): void => restart.abort();
      signal.addEventListener("abort", onAbort, { once: true });
      this.#restart = restart;
      this.#startedAtMs = clock.monotonic();
      const reflector = new Reflector<KubernetesObject>({
        source: this.#source,
        select: {},
        clock,
        random,
        onError: (thrown) => this.#failing(thrown),
        sink: {
          replace: (objects) => {
            graph.retain(this.resource, new Set(objects.values().map(uidOf)));
            this.#hasSynced = true;
            this.#following();
          },
          apply: (_key, event) => {
            if (event.type === "DELETED") graph.remove(uidOf(event.object));
            return Promise.resolve();
          },
        },
      });
      await reflector.run(restart.signal);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Called when the served resources have changed. A failed watch is then retried at once. */
  retry(): void {
    const isEarly = this.#options.clock.monotonic() - this.#startedAtMs < RESTART_MS_MIN;
    if (!isEarly && this.#state === "failing" && this.#watchOpenedAtMs === undefined) this.#restart?.abort();
  }

  #failing(thrown: unknown): void {
    if (this.#isWatched()) this.#unwatchedSince = this.#now();
    this.#failure = watchFailure(thrown);
    this.#followingSinceMs = Infinity;
    this.#watchOpenedAtMs = undefined;
    this.#state = "failing";
    this.#options.onFailing();
  }

  #following(): void {
    if (this.#state === "following" || !this.#hasSynced) return;
    this.#state = "following";
    this.#followingSinceMs = this.#options.clock.monotonic();
    this.#options.onFollowing();
  }

  /**
   * Whether lists and watches have worked for some time. If a server accepts lists and rejects watches, the graph is
   * current for a moment after each list, but the resource is not watched.
   */
  #isWatched(): boolean {
    if (!this.isFollowing) return false;
    if (this.#failure === undefined) return true;
    const sinceMs = Math.min(this.#followingSinceMs, this.#watchOpenedAtMs ?? Infinity);
    return this.#options.clock.monotonic() - sinceMs >= WATCH_WORKS_MS;
  }

  #now(): Moment {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
  }

  /**
   * The client for the version to use now. A change of version does not matter, because resourceVersions are the same
   * in all versions.
   */
  #client(): ResourceClient {
    const { served, metadata } = this.#options;
    const type = served.typeOf(this.resource);
    if (type === undefined)
      throw serviceUnavailable(`no server serves ${formatGroupResource(this.resource)} at present`, 1);
    return metadata.resource(type);
  }

  async #list(options: ListOptions = {}): Promise<KubernetesList<KubernetesObject>> {
    const list = await this.#client().list(options);
    return { ...list, items: list.items.map((item) => this.#observe(item)) };
  }

  async #listAll(options: ListOptions = {}): Promise<KubernetesList<KubernetesObject>> {
    const items: KubernetesObject[] = [];
    let metadata = {};
    for await (const page of this.#client().pages(options)) {
      for (const item of page.items) items.push(this.#observe(item));
      ({ metadata } = page);
    }
    return { metadata, items };
  }

  async *#watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent<KubernetesObject>, void, undefined> {
    const client = this.#client();
    const isResumed = options.sendInitialEvents !== true;
    if (isResumed) this.#watchOpenedAtMs = this.#options.clock.monotonic();
    try {
      for await (const event of client.watch(options)) {
        if (isResumed) this.#following();
        if (event.type === "BOOKMARK") yield event;
        else if (event.type === "DELETED") yield { type: event.type, object: slim(event.object) };
        else yield { type: event.type, object: this.#observe(event.object) };
      }
    } finally {
      this.#watchOpenedAtMs = undefined;
    }
  }

  #observe(object: KubernetesObject): KubernetesObject {
    const seen = toSeenObject(object);
    if (seen !== undefined) this.#options.graph.observe(this.resource, seen);
    return slim(object);
  }
}

function slim({ metadata = {} }: KubernetesObject): KubernetesObject {
  const { name, namespace, uid, resourceVersion } = metadata;
  return {
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}

function uidOf({ metadata = {} }: KubernetesObject): string {
  return metadata.uid ?? "";
}
