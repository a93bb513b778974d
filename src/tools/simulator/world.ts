/**
 * The deterministic environment of a simulation: one event queue ordered by virtual time, and randomness from a seed.
 * It runs the same server code as production.
 */
import type { Cancel, Clock } from "../../base/clock.ts";
import { SILENT_LOG } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import type { Env } from "../../server/env.ts";
import type { Kv } from "../../storage/kv.ts";
import type { StoreBackup } from "../../storage/kv-memory/store.ts";
import { EventQueue } from "./event-queue.ts";
import { createMemoryStore, type MemoryStore } from "../../storage/kv-memory/kv.ts";

/** Start of virtual time; a real date, so that timestamps look realistic. */
const EPOCH_MS = Date.UTC(2030, 0, 1);

/** Maximum number of steps that simulated code may take before it settles; a starting server takes some thousand. */
const STEPS_MAX = 1_000_000;

export class World {
  readonly clock: Clock;
  /** The clock for simulated code: each use is a step, and it throws after too many steps without settling. */
  readonly countingClock: Clock;
  readonly env: Env;
  readonly #seed: number;
  readonly #store: MemoryStore;
  #now = 0;
  #steps = 0;
  readonly #onStandstill: () => void;
  readonly #queue = new EventQueue();

  constructor(options: {
    readonly seed: number;
    /** Called when simulated code never waits, so that time cannot advance. The callback must end that code. */
    readonly onStandstill?: () => void;
  }) {
    this.#seed = options.seed;
    this.#onStandstill = options.onStandstill ?? (() => {});
    this.clock = {
      now: () => EPOCH_MS + this.#now,
      monotonic: () => this.#now,
      after: (delayMs, callback) => this.#schedule(delayMs, callback),
    };
    this.countingClock = {
      now: () => this.#step().now(),
      monotonic: () => this.#step().monotonic(),
      after: (delayMs, callback) => this.#step().after(delayMs, callback),
    };
    this.#store = createMemoryStore({ clock: this.clock });
    this.env = {
      clock: this.clock,
      random: this.randomFor("env"),
      log: SILENT_LOG,
      openKv: () => Promise.resolve(this.openKv()),
      openUpstream: () => {
        throw new Error("this world has no network");
      },
      onFatal: (because) => {
        throw new Error(`the server ends because ${because}`);
      },
      processUsage: () => ({ residentBytes: 0, cpuSeconds: 0 }),
    };
  }

  /** Opens a new handle on the store that all servers of this world share. */
  openKv(): Kv {
    return this.#store.open();
  }

  /** Copies the content of the store, for `restoreStore`. */
  backUpStore(): StoreBackup {
    return this.#store.backUp();
  }

  /** Restores the store from a backup while the servers run: revisions go back, and a new history begins. */
  restoreStore(backup: StoreBackup): void {
    this.#store.restore(backup);
  }

  /** A separate generator for each name, so that a draw for one name does not affect another. */
  randomFor(name: string): Random {
    return createSeededRandom(hash(`${this.#seed} ${name}`));
  }

  /** Runs all pending work that needs no time, then advances the clock event by event. */
  async advance(byMs: number): Promise<void> {
    const until = this.#now + byMs;
    await this.#settle();
    for (;;) {
      const next = this.#queue.peek();
      if (next === undefined || next.at > until) break;
      this.#queue.take();
      this.#now = Math.max(this.#now, next.at);
      next.callback?.();
      await this.#settle();
    }
    this.#now = until;
  }

  /** Advances the clock only until the promise settles. */
  async run<T>(promise: Promise<T>, withinMs = 600_000): Promise<T> {
    let isSettled = false;
    const watched = promise.finally(() => {
      isSettled = true;
    });
    watched.catch(() => {});
    const until = this.#now + withinMs;
    await this.#settle();
    while (!isSettled) {
      const next = this.#queue.peek();
      if (next === undefined || next.at > until)
        throw new Error(`no event is left within ${withinMs} ms, and the promise is still pending`);
      await this.advance(next.at - this.#now);
    }
    return watched;
  }

  #step(): Clock {
    if (++this.#steps === STEPS_MAX) this.#onStandstill();
    this.#checkSteps();
    return this.clock;
  }

  async #settle(): Promise<void> {
    await settle();
    this.#checkSteps();
    this.#steps = 0;
  }

  #checkSteps(): void {
    if (this.#steps >= STEPS_MAX)
      throw new Error(`virtual time does not advance: ${STEPS_MAX} steps at ${this.#now} ms without settling`);
  }

  #schedule(delayMs: number, callback: () => void): Cancel {
    return this.#queue.add(this.#now + Math.max(0, delayMs), callback);
  }
}

/** Waits one turn of the event loop, within which promises, generators and streams without I/O settle. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return value >>> 0;
}

/** Mulberry32, a small and fast generator that is good enough to explore with. */
export function createSeededRandom(seed: number): Random {
  let state = seed >>> 0;
  const float = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return { float, bytes: (length) => Uint8Array.from({ length }, () => Math.floor(float() * 256)) };
}
