/**
 * One run of one machine: its clocks, its chance, and whether anything happens to it at all. A restart is another host.
 *
 *   running ⇄ paused → dead
 *
 * Everything that happens to the server on it passes through `run`: a timer that is due, an answer of the store, a
 * request. Paused is what SIGSTOP does: clocks go on, and what was due happens on resuming, in order. Dead is what
 * SIGKILL does: nothing happens any more, and nothing is tidied up.
 */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";

interface HostOptions {
  readonly name: string;
  /** The world's. */
  readonly clock: Clock;
  readonly random: Random;
  /** By how much the wall clock is wrong. */
  readonly offsetMs?: number;
  /** How much faster its clocks run than they should: 0.001 gains a second in 1,000. */
  readonly drift?: number;
}

/** As timers of Node: who waits for the rest of a moment waits for some time all the same. */
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

  /** Does it now, when the host runs again, or never. */
  run(work: () => void): void {
    if (this.#state === "running") work();
    else if (this.#state === "paused") this.#held.push(work);
  }

  /** A promise whose outcome is heard of only while the host runs. */
  hear<T>(ask: () => Promise<T>): Promise<T> {
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

  /** The returned function forgets the callback. */
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
