/**
 * Keeps a copy of one resource up to date: first by a list, then by watches, as many as needed. It has two states:
 *
 * - listing: it requests a streaming list. If that fails, it requests a LIST, except after a refused connection. After
 *   a list → following; after a failure → wait, then listing.
 * - following: after a watch ends, its connection breaks, or the server is overloaded (429, 503, 504), the next watch
 *   starts at the last resourceVersion seen. If that version has expired, or after any other error → wait, then
 *   listing.
 *
 * If the store begins another history (`epoch`), the current list or watch is aborted, and everything is listed again
 * without a resourceVersion.
 *
 * The resourceVersion is updated only after all changes up to it have been delivered, so that no change is lost when a
 * stream ends.
 */
import type { Clock } from "../base/clock.ts";
import { eitherSignal } from "../base/either-signal.ts";
import type { StoreEpoch } from "../base/store-epoch.ts";
import { randomInteger, type Random } from "../base/random.ts";
import { StatusError } from "../meta/status-error.ts";
import { Backoff } from "./backoff.ts";
import { Deadline } from "./deadline.ts";
import { STREAMING_LIST_SILENCE_MS, WATCH_GRACE_MS, WATCH_SECONDS_MIN, WATCH_SHORT_MS } from "./client-limits.ts";
import { isInitialEventsEnd, keyText, type KubernetesObject, type SelectOptions, type WatchEvent } from "./objects.ts";
import type { ResourceClient } from "./resource-client.ts";
import { isExpired, isVersionTooLarge } from "./status.ts";
import { isFailure, TransportError } from "./transport.ts";

export type ListerWatcher<T extends KubernetesObject> = Pick<ResourceClient<T>, "list" | "listAll" | "watch">;

/** The receiver of the objects and changes. */
interface ReflectorSink<T> {
  /**
   * Receives all existing objects, keyed by namespace and name. Objects that are not in the map were deleted. If
   * `isNewHistory` is true, an object may differ from the known one although both have the same resourceVersion.
   */
  replace(objects: ReadonlyMap<string, T>, isNewHistory: boolean): void;
  /** The reflector reads the next event after the promise has resolved. */
  apply(key: string, event: ChangeEvent<T>): Promise<void>;
}

export type ChangeEvent<T> = Exclude<WatchEvent<T>, { type: "BOOKMARK" }>;

interface ReflectorOptions<T extends KubernetesObject> {
  readonly source: ListerWatcher<T>;
  readonly select: SelectOptions;
  readonly clock: Clock;
  readonly random: Random;
  readonly sink: ReflectorSink<T>;
  /** Called for failures after which the reflector retries. */
  readonly onError: (thrown: unknown) => void;
  /** Known only to clients in the process of the server. Other clients notice by the 410 that ends their watches. */
  readonly epoch?: StoreEpoch | undefined;
}

interface OpenWatch<T> {
  readonly events: AsyncGenerator<WatchEvent<T>, void, undefined>;
  readonly deadline: Deadline;
  readonly lastsMs: number;
}

export class Reflector<T extends KubernetesObject> {
  readonly #options: ReflectorOptions<T>;
  #backoff: Backoff;
  #version = "";
  /** The server does not have the resourceVersion any more, or not yet, so the next list names none. */
  #isVersionUnavailable = false;
  /** The epochs in which the last complete list and the current list began; -1 before the first one. */
  #listedIn = -1;
  #listingIn = -1;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#backoff = new Backoff(options);
  }

  get resourceVersion(): string {
    return this.#version;
  }

  /** The epoch of the store in which the last complete list began; -1 before the first list. */
  get epoch(): number {
    return this.#listedIn;
  }

  /** Runs until the signal aborts, and retries after every failure. */
  async run(signal: AbortSignal): Promise<void> {
    const unregister = this.#options.epoch?.register(this);
    while (!signal.aborted) await this.#listAndFollow(signal);
    unregister?.();
  }

  /**
   * Lists, then watches until a failure, after which it waits. Returns at once if the store begins another history. This
   * is no failure of the server, so the next wait is the shortest again.
   */
  async #listAndFollow(signal: AbortSignal): Promise<void> {
    const { epoch, onError } = this.#options;
    const changed = new AbortController();
    const either = eitherSignal(signal, changed.signal);
    const forget = epoch?.onChange(() => changed.abort());
    this.#listingIn = this.#currentEpoch;
    try {
      await this.#follow(await this.#list(either), either);
    } catch (thrown) {
      if (!either.aborted) onError(thrown);
    }
    if (!either.aborted) await this.#backoff.wait(either);
    forget?.();
    if (changed.signal.aborted) this.#backoff = new Backoff(this.#options);
    // Removes the listeners of `either`.
    else changed.abort();
  }

  get #currentEpoch(): number {
    return this.#options.epoch?.current ?? 0;
  }

  /** Returns the watch that continues a streaming list; undefined after a LIST. */
  async #list(signal: AbortSignal): Promise<OpenWatch<T> | undefined> {
    for (;;) {
      const version = this.#startVersion();
      try {
        return await this.#streamingList(version, signal);
      } catch (thrown) {
        // The connection was refused, so a LIST would fail as well.
        if (signal.aborted || isFailure(thrown, "refused")) throw thrown;
        this.#options.onError(thrown);
        const isUnavailable = isExpired(thrown) || isVersionTooLarge(thrown);
        if (isUnavailable) this.#isVersionUnavailable = true;
        if (!isUnavailable || version === "") break;
      }
    }
    await this.#plainList(signal);
    return undefined;
  }

  async #streamingList(version: string, signal: AbortSignal): Promise<OpenWatch<T>> {
    const watch = this.#watch(version, "initial events", signal);
    const objects = new Map<string, T>();
    try {
      for (;;) {
        watch.deadline.set(STREAMING_LIST_SILENCE_MS);
        const { done, value: event } = await watch.events.next();
        if (done === true) throw new TransportError("malformed", "the streaming list ended before it was complete");
        if (isInitialEventsEnd(event)) {
          watch.deadline.set(watch.lastsMs);
          this.#replace(objects, versionOf(event.object));
          return watch;
        }
        if (event.type === "DELETED") objects.delete(keyOf(event.object));
        else if (event.type !== "BOOKMARK") objects.set(keyOf(event.object), event.object);
      }
    } catch (thrown) {
      await close(watch);
      throw explained(watch, thrown);
    }
  }

  async #plainList(signal: AbortSignal): Promise<void> {
    const version = this.#startVersion();
    try {
      await this.#listAt(version, signal);
    } catch (thrown) {
      if (version === "" || !(isExpired(thrown) || isVersionTooLarge(thrown))) throw thrown;
      this.#isVersionUnavailable = true;
      await this.#listAt("", signal);
    }
  }

  /**
   * As client-go: without a version it lists in pages, which servers read from the store; with a version all at once,
   * which servers read from the watch cache.
   */
  async #listAt(version: string, signal: AbortSignal): Promise<void> {
    const { source, select } = this.#options;
    const list =
      version === ""
        ? await source.listAll({ ...select, signal })
        : await source.list({ ...select, signal, resourceVersion: version });
    const objects = new Map(list.items.map((item) => [keyOf(item), item]));
    this.#replace(objects, list.metadata.resourceVersion ?? "");
  }

  /** Returns when the signal aborts; throws if a new list is needed. */
  async #follow(opened: OpenWatch<T> | undefined, signal: AbortSignal): Promise<void> {
    let watch = opened;
    while (!signal.aborted) {
      watch ??= this.#watch(this.#version, "changes", signal);
      try {
        if (await this.#consume(watch)) continue;
      } catch (thrown) {
        if (signal.aborted) return;
        if (isExpired(thrown) || isVersionTooLarge(thrown)) this.#isVersionUnavailable = true;
        if (!isResumable(thrown)) throw thrown;
        this.#options.onError(explained(watch, thrown));
      } finally {
        await close(watch);
        watch = undefined;
      }
      if (!(await this.#backoff.wait(signal))) return;
    }
  }

  /** Resolves to true if the watch made progress before it ended. */
  async #consume(watch: OpenWatch<T>): Promise<boolean> {
    const { clock, sink } = this.#options;
    const startedAt = clock.monotonic();
    const startVersion = this.#version;
    watch.deadline.set(watch.lastsMs);
    for await (const event of watch.events) {
      if (event.type !== "BOOKMARK") await sink.apply(keyOf(event.object), event);
      this.#version = versionOf(event.object) || this.#version;
    }
    return this.#version !== startVersion || clock.monotonic() - startedAt >= WATCH_SHORT_MS;
  }

  #watch(version: string, begins: "initial events" | "changes", signal: AbortSignal): OpenWatch<T> {
    const { clock, random, source, select } = this.#options;
    const timeoutSeconds = WATCH_SECONDS_MIN + randomInteger(random, WATCH_SECONDS_MIN);
    const deadline = new Deadline(clock, signal);
    const events = source.watch({
      ...select,
      resourceVersion: version,
      allowWatchBookmarks: true,
      timeoutSeconds,
      signal: deadline.signal,
      ...(begins === "changes" ? {} : { sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }),
    });
    return { events, deadline, lastsMs: timeoutSeconds * 1000 + WATCH_GRACE_MS };
  }

  #replace(objects: ReadonlyMap<string, T>, version: string): void {
    const isNewHistory = this.#listedIn >= 0 && this.#listedIn !== this.#listingIn;
    this.#options.sink.replace(objects, isNewHistory);
    this.#listedIn = this.#listingIn;
    this.#version = version;
    this.#isVersionUnavailable = false;
  }

  #startVersion(): string {
    const isOfThisHistory = this.#listedIn === this.#currentEpoch;
    return this.#isVersionUnavailable || !isOfThisHistory ? "" : this.#version;
  }
}

/**
 * Unreachable and overloaded servers recover, and can then still serve a watch from this version. Any other error would
 * occur again.
 */
function isResumable(thrown: unknown): boolean {
  if (thrown instanceof TransportError) return thrown.failure !== "malformed";
  if (!(thrown instanceof StatusError) || isVersionTooLarge(thrown)) return false;
  return ["TooManyRequests", "ServiceUnavailable", "Timeout"].includes(thrown.reason);
}

function explained<T>(watch: OpenWatch<T>, thrown: unknown): unknown {
  return watch.deadline.isExpired
    ? new TransportError("timeout", "the watch exceeded its deadline", { cause: thrown })
    : thrown;
}

async function close<T>(watch: OpenWatch<T>): Promise<void> {
  watch.deadline[Symbol.dispose]();
  await watch.events.return();
}

function keyOf(object: KubernetesObject): string {
  return keyText(object.metadata ?? {});
}

function versionOf(object: KubernetesObject): string {
  return object.metadata?.resourceVersion ?? "";
}
