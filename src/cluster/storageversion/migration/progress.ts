/** Counts the progress of a migration. */
import type { Clock } from "../../../base/clock.ts";
import { FAILURE_CHARACTERS_MAX, FAILURES_LISTED_MAX } from "./migration-limits.ts";

export interface ObjectFailure {
  /** The object as "namespace/name". */
  readonly object: string;
  readonly message: string;
}

/** The position at which a pass can be resumed: all objects before the page of the token have been processed. */
export interface Position {
  /** Empty for the beginning of the list. */
  readonly continueToken: string;
  readonly migrated: number;
  readonly failed: number;
  /** The first failures. */
  readonly failures: readonly ObjectFailure[];
}

export interface MigrationProgress {
  readonly migrated: number;
  readonly failed: number;
  /** At most 100 failures, each with a truncated message. */
  readonly failures: readonly ObjectFailure[];
  /** Undefined if the server does not report how many objects follow. */
  readonly total: number | undefined;
  readonly objectsPerSecond: number;
  readonly secondsLeft: number | undefined;
  readonly position: Position;
}

export const BEGINNING: Position = { continueToken: "", migrated: 0, failed: 0, failures: [] };

export class Tally {
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  /** Number of objects that an earlier run counted. Its duration is unknown, so they do not count for the estimate. */
  #inherited: number;
  #position: Position;
  #migrated: number;
  #failed: number;
  #failures: ObjectFailure[];
  #total: number | undefined;

  constructor(clock: Clock, position: Position) {
    this.#clock = clock;
    this.#startedAtMs = clock.monotonic();
    this.#position = position;
    this.#inherited = position.migrated + position.failed;
    this.#migrated = position.migrated;
    this.#failed = position.failed;
    this.#failures = [...position.failures];
  }

  startAnew(): void {
    this.#position = BEGINNING;
    this.#inherited = 0;
    this.#migrated = 0;
    this.#failed = 0;
    this.#failures = [];
    this.#total = undefined;
  }

  /** `following` is undefined if more objects follow and their number is unknown. */
  beginPage(items: number, following: number | undefined): void {
    this.#total = following === undefined ? undefined : this.#migrated + this.#failed + items + following;
  }

  /**
   * After the last page the token stays, because there is no next one: a resumed pass processes the last page again.
   */
  finishPage(continueToken: string): void {
    if (continueToken === "") return;
    this.#position = {
      continueToken,
      migrated: this.#migrated,
      failed: this.#failed,
      failures: [...this.#failures],
    };
  }

  count(): void {
    this.#migrated++;
  }

  countFailure(object: string, message: string): void {
    this.#failed++;
    if (this.#failures.length < FAILURES_LISTED_MAX)
      this.#failures.push({ object, message: message.slice(0, FAILURE_CHARACTERS_MAX) });
  }

  progress(): MigrationProgress {
    const done = this.#migrated + this.#failed;
    const seconds = (this.#clock.monotonic() - this.#startedAtMs) / 1000;
    const rate = seconds > 0 ? (done - this.#inherited) / seconds : 0;
    const left = this.#total === undefined ? undefined : Math.max(0, this.#total - done);
    return {
      migrated: this.#migrated,
      failed: this.#failed,
      failures: this.#failures.slice(),
      total: this.#total,
      objectsPerSecond: rate,
      secondsLeft: left === undefined || (rate === 0 && left > 0) ? undefined : left === 0 ? 0 : left / rate,
      position: this.#position,
    };
  }
}
