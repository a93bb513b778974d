/**
 * Makes controllers back off from objects that another client overwrites again and again. Without it, two programs with
 * different opinions about an object write it hundreds of times per second, for example two publishers of different CA
 * bundles.
 *
 * An object is contested if a controller is about to repeat its last write of the object, and another client changed or
 * deleted the object since. The first repetition is sent at once, because people edit objects too. Each further one
 * waits, from 1 s to 5 min, unless the object stayed as written for a minute.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Counter, MetricFamily, MetricsRegistry } from "../../base/metrics.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import { lastManager, type ObjectWrite } from "./object-write.ts";
import type { ReportedWait } from "./reported-waits.ts";

/** Thrown instead of sending a write that must wait. */
export class WriteBackOff extends Error {
  override readonly name = "WriteBackOff";
  readonly afterMs: number;

  constructor(message: string, afterMs: number) {
    super(message);
    this.afterMs = afterMs;
  }
}

/** Reads the object at the path; undefined if it does not exist or cannot be read. */
export type ReadContested = (path: string) => Promise<JsonObject | undefined>;

interface LastWrite {
  readonly content: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly atMs: number;
  /** How often this content was written again because of other clients. */
  readonly repeats: number;
  /** When the current contest began; undefined before the first wait. */
  contestedSince: number | undefined;
  /** When this server noticed that another client had overwritten the write, and the name of the client. */
  overwritten: { readonly atMs: number; readonly by: string } | undefined;
  /** The namespace of an object that was found deleted. */
  namespaceUid: string | undefined;
}

interface ContestedWritesOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

const BACK_OFF_MS_MIN = 1_000;
const BACK_OFF_MS_MAX = 300_000;
/** An object that stayed as written for this long is no longer contested. */
const STAYED_MS = 60_000;
/** Number of objects whose last write is remembered. */
const REMEMBERED_MAX = 20_000;

/** The minimum time between two equal writes of an object that was overwritten. */
export function backOffMs(repeats: number): number {
  return repeats === 0 ? 0 : Math.min(BACK_OFF_MS_MIN * 2 ** (repeats - 1), BACK_OFF_MS_MAX);
}

export class ContestedWrites {
  readonly #options: ContestedWritesOptions;
  /** By key; the least recently written object first. */
  readonly #last = new Map<string, LastWrite>();
  readonly #waiting = new Map<string, { readonly wait: ReportedWait; readonly untilMs: number }>();
  readonly #overwritten: MetricFamily<Counter>;

  constructor(options: ContestedWritesOptions) {
    const { metrics } = options;
    this.#options = options;
    this.#overwritten = metrics.counter({
      name: "evenkeel_controller_writes_overwritten_total",
      help: "Writes of controllers that another client overwrote, and that the controller wants to repeat, by resource.",
      labels: ["resource"],
    });
    metrics.gaugeOf(
      { name: "evenkeel_controller_contested_objects", help: "Objects from whose writes the controllers back off." },
      () => this.waits().length,
    );
  }

  /** Called before a write. Throws a WriteBackOff if the write must wait. */
  async permit(write: ObjectWrite, read: ReadContested): Promise<void> {
    const { clock, log } = this.#options;
    const last = this.#last.get(write.key);
    if (last?.content !== write.content) return;
    last.overwritten ??= await this.#overwriting(write, last, read);
    if (last.overwritten === undefined || stayed(last)) return;
    const waitMs = last.atMs + backOffMs(last.repeats) - clock.monotonic();
    if (waitMs <= 0) return;
    const { by } = last.overwritten;
    const object = `${write.resource} ${write.namespace === "" ? "" : `${write.namespace}/`}${write.name}`;
    if (last.contestedSince === undefined) {
      last.contestedSince = clock.now();
      log.warn("another client overwrites an object again and again: writes back off", { object, fieldManager: by });
    }
    this.#waiting.set(write.key, {
      untilMs: clock.monotonic() + waitMs,
      wait: {
        kind: "object",
        name: object,
        since: timestampAt(last.contestedSince),
        because: `${by} overwrites it again and again; controllers write it at most every ${backOffMs(last.repeats) / 1000} s`,
      },
    });
    throw new WriteBackOff(`${by} overwrites ${object}`, waitMs);
  }

  /** Called after a write that succeeded, with the object in the response. */
  succeeded(write: ObjectWrite, { metadata }: { readonly metadata: JsonObject }): void {
    const before = this.#last.get(write.key);
    const isRepeat = before?.content === write.content && before.overwritten !== undefined && !stayed(before);
    this.#waiting.delete(write.key);
    this.#last.delete(write.key);
    this.#last.set(write.key, {
      content: write.content,
      uid: stringAt(metadata, "uid"),
      resourceVersion: stringAt(metadata, "resourceVersion"),
      atMs: this.#options.clock.monotonic(),
      repeats: isRepeat ? before.repeats + 1 : 0,
      contestedSince: isRepeat ? before.contestedSince : undefined,
      overwritten: undefined,
      namespaceUid: before?.namespaceUid,
    });
    const [oldest] = this.#last.keys();
    if (this.#last.size > REMEMBERED_MAX && oldest !== undefined) this.#last.delete(oldest);
  }

  /** The objects from whose writes the controllers back off now. */
  waits(): readonly ReportedWait[] {
    const nowMs = this.#options.clock.monotonic();
    for (const [key, { untilMs }] of this.#waiting) if (untilMs < nowMs) this.#waiting.delete(key);
    return [...this.#waiting.values()].map(({ wait }) => wait);
  }

  /** Whether another client has overwritten the last write; undefined if none has. */
  async #overwriting(write: ObjectWrite, last: LastWrite, read: ReadContested): Promise<LastWrite["overwritten"]> {
    const atMs = this.#options.clock.monotonic();
    const current = await read(write.path);
    const by = write.isCreate ? await deletedBy(write, last, { current, read }) : changedBy(last, current);
    if (by === undefined) return undefined;
    this.#overwritten.with(write.resource).inc();
    return { atMs, by };
  }
}

function stayed({ atMs, overwritten }: LastWrite): boolean {
  return overwritten !== undefined && overwritten.atMs - atMs >= STAYED_MS;
}

/**
 * The client that changed the object. Undefined if the object is new, or unchanged: then the cache of the controller is
 * outdated.
 */
function changedBy(last: LastWrite, current: JsonObject | undefined): string | undefined {
  if (current === undefined) return undefined;
  const metadata = objectAt(current, "metadata");
  const isSame =
    stringAt(metadata, "uid") === last.uid && stringAt(metadata, "resourceVersion") !== last.resourceVersion;
  return isSame ? lastManager(current) : undefined;
}

/**
 * Names the client that deletes the object, which is unknown. Undefined if its namespace was deleted and created again:
 * the object of the new namespace is another object.
 */
async function deletedBy(
  { namespace }: ObjectWrite,
  last: LastWrite,
  { current, read }: { readonly current: JsonObject | undefined; readonly read: ReadContested },
): Promise<string | undefined> {
  if (current !== undefined) return undefined;
  if (namespace === "") return A_DELETING_CLIENT;
  const before = last.namespaceUid;
  const metadata = objectAt((await read(`/api/v1/namespaces/${namespace}`)) ?? {}, "metadata");
  last.namespaceUid = stringAt(metadata, "uid");
  return before === undefined || before === last.namespaceUid ? A_DELETING_CLIENT : undefined;
}

const A_DELETING_CLIENT = "an unknown client that deletes it";
