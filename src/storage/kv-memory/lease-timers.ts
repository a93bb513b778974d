/**
 * The timers of the leases of a store. The store deletes the keys of a lease in its `expire` callback. A lease is
 * removed here before `expire` is called, so that a late keep-alive fails.
 */
import type { Cancel, Clock } from "../../base/clock.ts";
import type { LeaseId } from "../kv.ts";

/** Node's timers fire at once for delays of 2^31 ms and more, so a longer lease uses several timers in a row. */
const DELAY_MS_MAX = 2 ** 30;

interface Timer {
  readonly ttlMs: number;
  deadlineMs: number;
  cancel: Cancel;
}

export class LeaseTimers {
  readonly #clock: Clock;
  readonly #expire: (lease: LeaseId) => void;
  readonly #timers = new Map<LeaseId, Timer>();

  constructor(options: { clock: Clock; expire: (lease: LeaseId) => void }) {
    this.#clock = options.clock;
    this.#expire = options.expire;
  }

  has(lease: LeaseId): boolean {
    return this.#timers.has(lease);
  }

  start(lease: LeaseId, ttlSeconds: number): void {
    const ttlMs = ttlSeconds * 1000;
    const timer: Timer = { ttlMs, deadlineMs: this.#clock.monotonic() + ttlMs, cancel: () => {} };
    this.#timers.set(lease, timer);
    this.#arm(lease, timer);
  }

  /** All leases that have not expired, with their TTL. */
  running(): { readonly lease: LeaseId; readonly ttlSeconds: number }[] {
    return [...this.#timers].map(([lease, { ttlMs }]) => ({ lease, ttlSeconds: ttlMs / 1000 }));
  }

  /** Restarts the lease's TTL; false if the lease does not exist. */
  keepAlive(lease: LeaseId): boolean {
    const timer = this.#timers.get(lease);
    if (timer === undefined) return false;
    timer.cancel();
    timer.deadlineMs = this.#clock.monotonic() + timer.ttlMs;
    this.#arm(lease, timer);
    return true;
  }

  /** Removes the lease without expiring it; false if the lease does not exist. */
  stop(lease: LeaseId): boolean {
    this.#timers.get(lease)?.cancel();
    return this.#timers.delete(lease);
  }

  stopAll(): void {
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
  }

  #arm(lease: LeaseId, timer: Timer): void {
    const remainingMs = timer.deadlineMs - this.#clock.monotonic();
    timer.cancel = this.#clock.after(Math.max(0, Math.min(remainingMs, DELAY_MS_MAX)), () => {
      if (remainingMs > DELAY_MS_MAX) return this.#arm(lease, timer);
      this.#timers.delete(lease);
      this.#expire(lease);
    });
  }
}
