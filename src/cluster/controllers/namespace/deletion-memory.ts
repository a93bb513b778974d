/**
 * The memory of one term about namespaces being deleted: since when, and how many attempts were blocked. Losing it with
 * the term only lengthens a delay.
 */
import type { Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";

export interface NamespaceDeletion {
  readonly uid: string;
  readonly seenAtMs: number;
  /** Consecutive attempts that found the same obstacle. */
  waits: number;
  /** The obstacle of the last attempt; "" if there was none. */
  failure: string;
}

const WAIT_MS_MIN = 500;
const WAIT_MS_MAX = 30_000;

export class DeletionMemory {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #deletions = new Map<string, NamespaceDeletion>();

  constructor(options: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = options.clock;
    this.#random = options.random;
  }

  get blocked(): number {
    return [...this.#deletions.values()].filter(({ failure }) => failure !== "").length;
  }

  /** A namespace with the same name and another uid is a different one. */
  of(name: string, uid: string): NamespaceDeletion {
    const known = this.#deletions.get(name);
    if (known?.uid === uid) return known;
    const deletion: NamespaceDeletion = { uid, seenAtMs: this.#clock.monotonic(), waits: 0, failure: "" };
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

  /** Increases while the obstacle stays the same. */
  waitMs(deletion: NamespaceDeletion, obstacle: string): number {
    deletion.waits = deletion.failure === obstacle ? deletion.waits + 1 : 0;
    deletion.failure = obstacle;
    const waitMs = Math.min(WAIT_MS_MIN * 2 ** Math.min(deletion.waits, 10), WAIT_MS_MAX);
    return Math.round(waitMs * (1 - this.#random.float() / 4));
  }
}
