/**
 * One run of one machine: its clocks, its randomness and its state. A restart creates a new host.
 *
 *   running ⇄ paused → dead
 *
 * Every event of the server passes through `run`: a timer that fires, a response of the store, a request. Paused
 * behaves like SIGSTOP: clocks advance, and pending events run in order when the host is resumed. Dead behaves like
 * SIGKILL: no further event runs, and nothing is cleaned up.
 */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";

interface HostOptions {
  readonly name: string;
  /** The clock of the world. */
  readonly clock: Clock;
  readonly random: Random;
  /** Error of the host's wall clock. */
  readonly offsetMs?: number;
  /** How much faster the host's clocks run: with 0.001 they gain a second in 1,000. */
  readonly drift?: number;
}

/** Minimum delay of a timer, as in Node: a delay of a fraction of a millisecond still takes time. */
const TIMER_MS_MIN = 1;

export class Host {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  #state: "running" | "paused" | "dead" = "running";
  #held: (() => void)[] = [];
  readonly #onDeath = new Set<() => void>();

  constructor({ name, clock, random, offsetMs = 0, drift = 0 }: HostOptions) {
    this.name = name;
    this.random = random;
    const pace = 1 + drift;
    this.clock = {
      now: () => Math.round(clock.now() + offsetMs + clock.monotonic() * drift),
      monotonic: () => clock.monotonic() * pace,
      after: (delayMs, callback) => this.#after(clock, delayMs / pace, callback),
    };
  }

  get state(): "running" | "paused" | "dead" {
    return this.#state;
  }

  /** Runs the work at once, when the host is resumed, or never if it is dead. */
  run(work: () => void): void {
    if (this.#state === "running") work();
    else if (this.#state === "paused") this.#held.push(work);
  }

  /** Calls `ask` and returns its promise, which settles only while the host is running. */
  settleWhileRunning<T>(ask: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const onFailure = (reason: Error): void => this.run(() => reject(reason));
      this.run(() => {
        ask().then((value) => this.run(() => resolve(value)), onFailure);
      });
    });
  }

  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    const held = this.#held;
    this.#held = [];
    for (const work of held) this.run(work);
  }

  kill(): void {
    if (this.#state === "dead") return;
    this.#state = "dead";
    this.#held = [];
    for (const callback of this.#onDeath) callback();
  }

  /** Registers a callback for the death of the host. Returns a function that removes it. */
  onDeath(callback: () => void): () => void {
    if (this.#state === "dead") callback();
    else this.#onDeath.add(callback);
    return () => this.#onDeath.delete(callback);
  }

  #after(clock: Clock, delayMs: number, callback: () => void): () => void {
    let isCancelled = false;
    const cancel = clock.after(Math.max(delayMs, TIMER_MS_MIN), () => this.run(() => isCancelled || callback()));
    return () => {
      isCancelled = true;
      cancel();
    };
  }
}
