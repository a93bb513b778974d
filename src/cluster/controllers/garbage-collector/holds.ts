/**
 * Remembers resources and kinds that recently could not be read. They are not requested again before their delay has
 * passed, however many objects wait for them.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import { COMPLAINTS_MAX } from "./collector-limits.ts";
import { wait, type Wait } from "./wait.ts";

interface HoldSubject {
  readonly group: string;
  /** The plural name if known, otherwise the kind. */
  readonly resource: string;
}

interface Hold {
  readonly wait: Wait;
  readonly untilMs: number;
}

export class Holds {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #holds = new Map<string, Hold>();
  /** The reason that was logged last, for each resource. */
  readonly #complaints = new Map<string, string>();

  constructor(options: { readonly clock: Clock; readonly log: Log }) {
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /** Returns the wait with its remaining time; undefined if the resource may be requested. */
  get(subject: HoldSubject): Wait | undefined {
    const hold = this.#holds.get(keyOf(subject));
    if (hold === undefined) return undefined;
    const afterMs = hold.untilMs - this.#clock.monotonic();
    return afterMs <= 0 ? undefined : wait(hold.wait.reason, afterMs, hold.wait.because);
  }

  hold(subject: HoldSubject, held: Wait): Wait {
    const key = keyOf(subject);
    // Limits the memory: the names come from owner references, which any client can write.
    if (this.#holds.size >= COMPLAINTS_MAX) this.#holds.clear();
    this.#holds.set(key, { wait: held, untilMs: this.#clock.monotonic() + held.afterMs });
    if (this.#complaints.get(key) === held.reason) return held;
    if (this.#complaints.size >= COMPLAINTS_MAX) this.#complaints.clear();
    this.#complaints.set(key, held.reason);
    this.#log.warn("garbage collection waits for a resource", { ...subject, reason: held.reason, why: held.because });
    return held;
  }

  /** Called when the resource has responded. */
  release(subject: HoldSubject): void {
    const key = keyOf(subject);
    this.#holds.delete(key);
    if (this.#complaints.delete(key)) this.#log.info("garbage collection continues with a resource", { ...subject });
  }

  /** Called when the served resources have changed, so that every resource may be requested again. */
  clear(): void {
    this.#holds.clear();
  }
}

function keyOf({ group, resource }: HoldSubject): string {
  return `${group}/${resource}`;
}
