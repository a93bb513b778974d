/**
 * One run of one machine: its clocks, its randomness and its state. A restart creates a new host.
 *
 *   running ⇄ paused or suspended → dead
 *
 * Every event of the server passes through `run`: a timer that fires, a response of the store, a request. Paused
 * behaves like SIGSTOP: clocks advance, and pending events run in order when the host is resumed. Suspended behaves
 * like a laptop whose lid is closed: the monotonic clock of the operating system and all timers stand still, too. Dead
 * behaves like SIGKILL: no further event runs, and nothing is cleaned up.
 */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import { throughSuspend } from "../../base/through-suspend.ts";

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
const ROUNDING_MS = 0.001;

export class Host {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  #state: "running" | "paused" | "suspended" | "dead" = "running";
  readonly #worldClock: Clock;
  /** Time of the world at which the current suspend began. */
  #suspendedAtMs: number | undefined;
  /** Duration of the earlier suspends. */
  #suspendedMs = 0;
  #held: (() => void)[] = [];
  readonly #onDeath = new Set<() => void>();

  constructor({ name, clock, random, offsetMs = 0, drift = 0 }: HostOptions) {
    this.name = name;
    this.random = random;
    const pace = 1 + drift;
    this.#worldClock = clock;
    const now = (): number => Math.round(clock.now() + offsetMs + clock.monotonic() * drift);
    this.clock = {
      now,
      monotonic: throughSuspend({
        wall: now,
        monotonic: () => this.#awakeMs() * pace,
        sinceBoot: () => clock.monotonic() * pace,
      }),
      after: (delayMs, callback) => this.#after(delayMs / pace, callback),
    };
  }

  get state(): "running" | "paused" | "suspended" | "dead" {
    return this.#state;
  }

  /** Runs the work at once, when the host is resumed, or never if it is dead. */
  run(work: () => void): void {
    if (this.#state === "running") work();
    else if (this.#state !== "dead") this.#held.push(work);
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

  suspend(): void {
    if (this.#state !== "running") return;
    this.#state = "suspended";
    this.#suspendedAtMs = this.#worldClock.monotonic();
  }

  resume(): void {
    if (this.#state !== "paused" && this.#state !== "suspended") return;
    this.#suspendedMs = this.#worldClock.monotonic() - this.#awakeMs();
    this.#suspendedAtMs = undefined;
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

  /** Time of the world, without the time during which the host was suspended. */
  #awakeMs(): number {
    return (this.#suspendedAtMs ?? this.#worldClock.monotonic()) - this.#suspendedMs;
  }

  #after(delayMs: number, callback: () => void): () => void {
    let isCancelled = false;
    const dueAtMs = this.#awakeMs() + Math.max(delayMs, TIMER_MS_MIN);
    let cancel = (): void => {};
    const fire = (): void => {
      if (isCancelled) return;
      // The host was suspended meanwhile, so the timer is not due yet.
      const leftMs = dueAtMs - this.#awakeMs();
      if (leftMs > ROUNDING_MS) wait(leftMs);
      else callback();
    };
    const wait = (ms: number): void => {
      cancel = this.#worldClock.after(ms, () => this.run(fire));
    };
    wait(Math.max(delayMs, TIMER_MS_MIN));
    return () => {
      isCancelled = true;
      cancel();
    };
  }
}
