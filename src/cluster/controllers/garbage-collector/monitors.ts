/** Runs a monitor for every collectable resource. It starts and stops monitors as the served resources change. */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import type { Counter } from "../../../base/metrics.ts";
import type { Random } from "../../../base/random.ts";
import { Wakeable } from "../../../base/wakeable.ts";
import type { Client } from "../../../client/client.ts";
import { formatGroupResource, type GroupResource } from "../../../meta/group-version.ts";
import type { ClusterResource, ClusterResources, Doubt } from "../cluster-resources.ts";
import type { GraphResource, OwnerGraph } from "./graph.ts";
import { COMPARE_MS, COMPARE_MS_MIN, UNWATCHED_CHECK_MS } from "./collector-limits.ts";
import { Monitor } from "./monitor.ts";
import { isDoubtAbout, type ServedResources } from "./served-resources.ts";
import { UnwatchedLog, type Moment, type UnwatchedResource } from "./unwatched-resources.ts";

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
  /** Since when no server serves the resource; undefined while a server serves it. */
  vanishedSince: Moment | undefined;
}

export class Monitors {
  readonly #options: MonitorsOptions;
  readonly #wakeable: Wakeable;
  readonly #followed = new Map<string, Followed>();
  /** Since when there is a doubt about a resource that is not watched. */
  readonly #doubtedSince = new Map<string, Moment>();
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
   * Resources of which the graph may lack objects, including resources whose watches fail again and again, and resources
   * that no server has served since this term began.
   */
  unwatched(): UnwatchedResource[] {
    const unwatched = new Map<string, UnwatchedResource>();
    for (const [key, followed] of this.#followed) {
      const { monitor, vanishedSince } = followed;
      const since = vanishedSince ?? monitor.unwatchedSince;
      if (since === undefined) continue;
      const isVanished = vanishedSince !== undefined;
      unwatched.set(key, { ...subjectOf(monitor.resource), since, because: reasonOf(followed), isVanished });
    }
    const doubted = new Set<string>();
    for (const doubt of this.#options.served.doubts()) {
      const { group, resource, server, because } = doubt;
      if (group === undefined || resource === undefined || !this.#isUnseen(doubt, "")) continue;
      const key = formatGroupResource({ group, resource });
      doubted.add(key);
      const since = this.#doubtedSince.get(key) ?? this.#now();
      this.#doubtedSince.set(key, since);
      unwatched.set(key, { group, resource, since, because: `${server} ${because}`, isVanished: false });
    }
    for (const key of this.#doubtedSince.keys()) if (!doubted.has(key)) this.#doubtedSince.delete(key);
    return [...unwatched.values()];
  }

  /** The watched resources that may have objects in this namespace ("" means anywhere). */
  followed(namespace: string): GraphResource[] {
    return [...this.#followed.values()]
      .filter(
        ({ monitor, vanishedSince }) =>
          vanishedSince === undefined && (namespace === "" || monitor.resource.namespaced),
      )
      .map(({ monitor }) => monitor.resource);
  }

  /** Why the graph may lack objects in this namespace ("" means anywhere); undefined if it is complete. */
  unseen(namespace: string): string | undefined {
    if (this.#isOutdated) return "the served resources have just changed";
    for (const followed of this.#followed.values()) {
      const { resource, isFollowing } = followed.monitor;
      if (namespace !== "" && !resource.namespaced) continue;
      // A resource that no server serves any more is unseen even if it was watched, because the last changes may have
      // been missed.
      if (isFollowing && followed.vanishedSince === undefined) continue;
      return `${formatGroupResource(resource)} cannot be watched: ${reasonOf(followed)}`;
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
    const logging = this.#logUnwatched(signal);
    try {
      while (!signal.aborted) {
        await this.#compare();
        await sleep(clock, COMPARE_MS_MIN, signal);
        await this.#wakeable.wait(this.#hasBegun ? COMPARE_MS : 1_000, signal);
      }
      await logging;
    } finally {
      unsubscribe();
      for (const { stop } of this.#followed.values()) stop.abort();
      await Promise.all(this.#followed.values().map(({ running }) => running));
    }
  }

  async #logUnwatched(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const lines = new UnwatchedLog(log);
    while (await sleep(clock, UNWATCHED_CHECK_MS, signal))
      lines.examine(this.unwatched(), (key) => this.#followed.has(key), clock.monotonic());
  }

  #now(): Moment {
    const { clock } = this.#options;
    return { monotonicMs: clock.monotonic(), wallMs: clock.now() };
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
      else followed.vanishedSince ??= this.#now();
    }
    if (wasOutdated) onChange();
    await this.#forgetVanished();
  }

  #follow(key: string, served: ClusterResource): void {
    const known = this.#followed.get(key);
    if (known !== undefined && isSameResource(known.monitor.resource, served)) {
      known.vanishedSince = undefined;
      return;
    }
    if (known !== undefined) this.#unfollow(key, known);
    const { group, resource, kind, namespaced } = served;
    const stop = new AbortController();
    const monitor = new Monitor({
      ...this.#options,
      resource: { group, resource, kind, namespaced },
      onFailing: () => this.#options.syncErrors.inc(),
      onFollowing: () => this.#options.onChange(),
    });
    this.#followed.set(key, { monitor, stop, running: monitor.run(stop.signal), vanishedSince: undefined });
  }

  /** Drops resources that no server serves, unless there is a doubt: such a resource may return with its objects. */
  async #forgetVanished(): Promise<void> {
    const { resources, log } = this.#options;
    const gone = (): [string, Followed][] =>
      [...this.#followed].filter(
        ([, { monitor, vanishedSince }]) => vanishedSince !== undefined && this.#isUnserved(monitor.resource),
      );
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
    this.#options.graph.forget(monitor.resource);
  }
}

function reasonOf({ monitor, vanishedSince }: Pick<Followed, "monitor" | "vanishedSince">): string {
  if (vanishedSince !== undefined) return "no server serves it at present";
  return monitor.failure ?? "it has not responded yet";
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
