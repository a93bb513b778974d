/** Runs a monitor for every collectable resource. It starts and stops monitors as the served resources change. */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import type { Counter } from "../../../base/metrics.ts";
import type { Random } from "../../../base/random.ts";
import { Wakeable } from "../../../base/wakeable.ts";
import { messageOf } from "../../../base/within.ts";
import type { Client } from "../../../client/client.ts";
import { formatGroupResource, type GroupResource } from "../../../meta/group-version.ts";
import type { ClusterResource, ClusterResources, Doubt } from "../cluster-resources.ts";
import type { GraphResource, OwnerGraph } from "./graph.ts";
import { COMPARE_MS, COMPARE_MS_MIN } from "./collector-limits.ts";
import { Monitor } from "./monitor.ts";
import { isDoubtAbout, type ServedResources } from "./served-resources.ts";

interface MonitorsOptions {
  readonly resources: ClusterResources;
  readonly served: ServedResources;
  readonly graph: OwnerGraph;
  readonly metadata: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly syncErrors: Counter;
  /**
   * Called when the served resources, or the state of a monitor, have changed, so that waiting objects may be examined
   * again.
   */
  readonly onChange: () => void;
}

/** As kubernetes: events are not collected, because they have no meaningful owners or dependents and are numerous. */
const IGNORED: ReadonlySet<string> = new Set(["events", "events.events.k8s.io"]);

interface Followed {
  readonly monitor: Monitor;
  readonly stop: AbortController;
  readonly running: Promise<void>;
  /** Whether no server serves the resource at present. */
  isVanished: boolean;
}

export class Monitors {
  readonly #options: MonitorsOptions;
  readonly #wakeable: Wakeable;
  readonly #followed = new Map<string, Followed>();
  /** The error that was logged last, for each failing resource. */
  readonly #failing = new Map<string, string>();
  #hasBegun = false;
  /** Whether the served resources have changed since the last comparison. */
  #isOutdated = false;

  constructor(options: MonitorsOptions) {
    this.#options = options;
    this.#wakeable = new Wakeable(options.clock);
  }

  /**
   * Whether each resource has responded or failed at least once. Objects that depend on a failed resource wait when
   * they are examined.
   */
  get hasSynced(): boolean {
    return this.#hasBegun && this.#followed.values().every(({ monitor }) => monitor.hasSynced || monitor.hasBegun);
  }

  /**
   * Resources of which the graph may lack objects, including resources that no server has served since this term began.
   */
  waiting(): GroupResource[] {
    const waiting = new Map<string, GroupResource>();
    for (const [key, { monitor, isVanished }] of this.#followed)
      if (isVanished || !monitor.isFollowing) waiting.set(key, monitor.resource);
    for (const doubt of this.#options.served.doubts()) {
      const { group, resource } = doubt;
      if (group === undefined || resource === undefined || !this.#isUnseen(doubt, "")) continue;
      waiting.set(formatGroupResource({ group, resource }), { group, resource });
    }
    return [...waiting.values()];
  }

  /** The watched resources that may have objects in this namespace ("" means anywhere). */
  followed(namespace: string): GraphResource[] {
    return [...this.#followed.values()]
      .filter(({ monitor, isVanished }) => !isVanished && (namespace === "" || monitor.resource.namespaced))
      .map(({ monitor }) => monitor.resource);
  }

  /** Why the graph may lack objects in this namespace ("" means anywhere); undefined if it is complete. */
  unseen(namespace: string): string | undefined {
    if (this.#isOutdated) return "the served resources have just changed";
    for (const { monitor, isVanished } of this.#followed.values()) {
      const { resource, isFollowing } = monitor;
      if (namespace !== "" && !resource.namespaced) continue;
      // A resource that no server serves any more is unseen even if it was watched, because the last changes may have
      // been missed.
      if (isFollowing && !isVanished) continue;
      const key = formatGroupResource(resource);
      const because = isVanished ? "no server serves it at present" : "it has not responded yet";
      return `${key} cannot be watched: ${this.#failing.get(key) ?? because}`;
    }
    const doubt = this.#options.served.doubts().find((candidate) => this.#isUnseen(candidate, namespace));
    return doubt && `${doubtSubject(doubt)} may exist: ${doubt.server} ${doubt.because}`;
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { resources, onChange, clock } = this.#options;
    const unsubscribe = resources.onChange(() => {
      this.#isOutdated = true;
      this.#wakeable.wake();
      onChange();
    });
    try {
      while (!signal.aborted) {
        await this.#compare();
        await sleep(clock, COMPARE_MS_MIN, signal);
        await this.#wakeable.wait(this.#hasBegun ? COMPARE_MS : 1_000, signal);
      }
    } finally {
      unsubscribe();
      for (const { stop } of this.#followed.values()) stop.abort();
      await Promise.all(this.#followed.values().map(({ running }) => running));
    }
  }

  #isUnseen(doubt: Doubt, namespace: string): boolean {
    if (namespace !== "" && doubt.namespaced === false) return false;
    const { group, resource } = doubt;
    if (group === undefined || resource === undefined) return true;
    const key = formatGroupResource({ group, resource });
    return !IGNORED.has(key) && !this.#followed.has(key);
  }

  async #compare(): Promise<void> {
    const { served, onChange } = this.#options;
    const wasOutdated = this.#isOutdated;
    this.#isOutdated = false;
    const wanted = new Map(
      served
        .all()
        .filter(isCollectable)
        .map((resource) => [formatGroupResource(resource), resource]),
    );
    if (wanted.size === 0) return;
    for (const [key, resource] of wanted) this.#follow(key, resource);
    this.#hasBegun = true;
    for (const [key, followed] of this.#followed) {
      if (wanted.has(key)) followed.monitor.retry();
      else followed.isVanished = true;
    }
    if (wasOutdated) onChange();
    await this.#forgetVanished();
  }

  #follow(key: string, served: ClusterResource): void {
    const known = this.#followed.get(key);
    if (known !== undefined && isSameResource(known.monitor.resource, served)) {
      known.isVanished = false;
      return;
    }
    if (known !== undefined) this.#unfollow(key, known);
    const { group, resource, kind, namespaced } = served;
    const stop = new AbortController();
    const monitor = new Monitor({
      ...this.#options,
      resource: { group, resource, kind, namespaced },
      onFailing: (failing, thrown) => this.#onFailing(failing, thrown),
      onFollowing: (following) => this.#onFollowing(following),
    });
    this.#followed.set(key, { monitor, stop, running: monitor.run(stop.signal), isVanished: false });
  }

  /** Drops resources that no server serves, unless there is a doubt: such a resource may return with its objects. */
  async #forgetVanished(): Promise<void> {
    const { resources, log } = this.#options;
    const gone = (): [string, Followed][] =>
      [...this.#followed].filter(([, { monitor, isVanished }]) => isVanished && this.#isUnserved(monitor.resource));
    if (gone().length === 0 || !(await resources.catchUp())) return;
    for (const [key, followed] of gone()) {
      const { resource } = followed.monitor;
      log.info("stopped collecting a resource that no server serves", { ...subjectOf(resource) });
      this.#unfollow(key, followed);
    }
  }

  /** Whether no server serves the resource, and no server may serve it either: for example, its CRD was deleted. */
  #isUnserved(resource: GroupResource): boolean {
    const { served } = this.#options;
    const now = served.get(resource);
    const isServed = now !== undefined && isCollectable(now);
    return !isServed && !served.doubts().some((doubt) => isDoubtAbout(doubt, resource));
  }

  #unfollow(key: string, { monitor, stop }: Followed): void {
    stop.abort();
    this.#followed.delete(key);
    this.#failing.delete(key);
    this.#options.graph.forget(monitor.resource);
  }

  #onFailing({ resource }: Monitor, thrown: unknown): void {
    const { log, syncErrors } = this.#options;
    syncErrors.inc();
    const key = formatGroupResource(resource);
    const error = messageOf(thrown);
    if (this.#failing.get(key) === error) return;
    this.#failing.set(key, error);
    // A watch of a resource whose CRD was deleted fails by design; the monitor is stopped soon.
    if (this.#isUnserved(resource)) return;
    log.warn("garbage collector cannot watch a resource", { ...subjectOf(resource), error });
  }

  #onFollowing({ resource }: Monitor): void {
    const { log, onChange } = this.#options;
    if (this.#failing.delete(formatGroupResource(resource)))
      log.info("garbage collector watches a resource again", { ...subjectOf(resource) });
    onChange();
  }
}

function isCollectable(resource: ClusterResource): boolean {
  const { verbs } = resource;
  const isFollowable = verbs.has("delete") && verbs.has("list") && verbs.has("watch");
  return isFollowable && !IGNORED.has(formatGroupResource(resource));
}

function isSameResource(left: GraphResource, right: ClusterResource): boolean {
  return left.kind === right.kind && left.namespaced === right.namespaced;
}

function subjectOf({ group, resource }: GroupResource): GroupResource {
  return { group, resource };
}

function doubtSubject({ group, resource }: Doubt): string {
  if (group === undefined) return "other resources";
  return resource === undefined
    ? `other resources of ${JSON.stringify(group)}`
    : formatGroupResource({ group, resource });
}
