/**
 * Carries messages between hosts, separately for each direction. A message arrives after a delay, and not before a
 * block of its direction has ended. As with TCP, no message is lost, and messages of one stream stay in order.
 */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";

interface DelayRange {
  readonly minMs: number;
  readonly maxMs: number;
}

/** A sequence of messages that stay in order. */
export interface Stream {
  lastAtMs: number;
}

export class Links {
  readonly #clock: Clock;
  readonly #random: Random;
  /** Messages that wait for a blocked direction, in order, by "from>to". */
  readonly #blocked = new Map<string, (() => void)[]>();
  delay: DelayRange = { minMs: 1, maxMs: 5 };

  constructor(options: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = options.clock;
    this.#random = options.random;
  }

  isBlocked(from: string, to: string): boolean {
    return this.#blocked.has(`${from}>${to}`);
  }

  block(from: string, to: string): void {
    if (!this.isBlocked(from, to)) this.#blocked.set(`${from}>${to}`, []);
  }

  unblock(from: string, to: string): void {
    const held = this.#blocked.get(`${from}>${to}`);
    this.#blocked.delete(`${from}>${to}`);
    for (const deliver of held ?? []) deliver();
  }

  unblockAll(): void {
    const held = [...this.#blocked.values()].flat();
    this.#blocked.clear();
    for (const deliver of held) deliver();
  }

  carry(from: string, to: string, deliver: () => void, stream?: Stream): void {
    const now = this.#clock.monotonic();
    const { minMs, maxMs } = this.delay;
    const at = Math.max(stream?.lastAtMs ?? 0, now + minMs + this.#random.float() * (maxMs - minMs));
    if (stream !== undefined) stream.lastAtMs = at;
    this.#clock.after(at - now, () => {
      const held = this.#blocked.get(`${from}>${to}`);
      if (held === undefined) deliver();
      else held.push(deliver);
    });
  }
}
