/**
 * Remembers, during one term as leader, when each namespace was first seen being deleted, on this server or at least in
 * this term, and how many attempts were blocked. If it is lost with the term, only delays change.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";

export interface NamespaceDeletion {
  readonly uid: string;
  readonly seenAtMs: number;
  /** Number of consecutive attempts that the same obstacle blocked. */
  waits: number;
  /** The obstacle of the last attempt; "" if there was none. */
  failure: string;
}

interface DeletionMemoryOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** When this server first saw the deletion; undefined if it has not seen it. */
  readonly deletionSeenAtMs?: (name: string, uid: string) => number | undefined;
}

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 30_000;

export class DeletionMemory {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #seenAtMs: NonNullable<DeletionMemoryOptions["deletionSeenAtMs"]>;
  readonly #deletions = new Map<string, NamespaceDeletion>();

  constructor(options: DeletionMemoryOptions) {
    this.#seenAtMs = options.deletionSeenAtMs ?? (() => undefined);
    this.#clock = options.clock;
    this.#random = options.random;
  }

  get blocked(): number {
    return [...this.#deletions.values()].filter(({ failure }) => failure !== "").length;
  }

  /** A namespace with the same name and another uid is a different namespace with a record of its own. */
  of(name: string, uid: string): NamespaceDeletion {
    const known = this.#deletions.get(name);
    if (known?.uid === uid) return known;
    const seenAtMs = this.#seenAtMs(name, uid) ?? this.#clock.monotonic();
    const deletion: NamespaceDeletion = { uid, seenAtMs, waits: 0, failure: "" };
    this.#deletions.set(name, deletion);
    return deletion;
  }

  forget(name: string): void {
    this.#deletions.delete(name);
  }

  forgetAll(): void {
    this.#deletions.clear();
  }

  ageMs({ seenAtMs }: NamespaceDeletion): number {
    return this.#clock.monotonic() - seenAtMs;
  }

  /** The delay before the next attempt. It doubles while the obstacle stays the same. */
  waitMs(deletion: NamespaceDeletion, obstacle: string): number {
    deletion.waits = deletion.failure === obstacle ? deletion.waits + 1 : 0;
    deletion.failure = obstacle;
    const waitMs = Math.min(WAIT_MS_MIN * 2 ** Math.min(deletion.waits, 10), WAIT_MS_MAX);
    return Math.round(waitMs * (1 - this.#random.float() / 4));
  }
}
