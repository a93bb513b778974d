/**
 * Injects faults into one server while other servers of the same process keep running. Every event of the server passes
 * through `run`: an incoming request, a timer that fires, a response of the store.
 *
 *   running ⇄ paused → killed
 *
 * Paused behaves like SIGSTOP: the server does nothing, its clocks advance, and pending events run in order when it is
 * resumed. Killed behaves like SIGKILL: the server does nothing more, and nothing is cleaned up.
 */
import type { UpstreamAddress } from "../../../serving/http/upstream.ts";

/**
 * Maximum number of pending events of a paused server; further events are dropped. It is far more than watches produce,
 * because these have their own limit.
 */
const HELD_MAX = 1_000_000;

export class FaultSwitch {
  #state: "running" | "paused" | "killed" = "running";
  #pending: (() => void)[] = [];
  #isCatchingUp = false;
  #unreachable: ReadonlySet<string> = new Set();
  readonly #cutters = new Set<(address: UpstreamAddress) => void>();
  readonly #killers = new Set<() => void>();

  /** Runs the work at once, when the server is resumed, or never if it is killed. */
  run(work: () => void): void {
    if (this.#state === "running" && !this.#isCatchingUp) work();
    else if (this.#state !== "killed" && this.#pending.length < HELD_MAX) this.#pending.push(work);
  }

  /** Calls `ask` and returns its promise, which settles only while the server is running. */
  settleWhileRunning<T>(ask: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.run(() => {
        ask().then(
          (value) => this.run(() => resolve(value)),
          (thrown: unknown) => this.run(() => reject(thrown instanceof Error ? thrown : new Error(String(thrown)))),
        );
      });
    });
  }

  pause(): void {
    if (this.#state === "running") this.#state = "paused";
  }

  resume(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    if (this.#isCatchingUp) return;
    // Events that arrive during the resume are appended to the pending ones, because the store guarantees their order.
    this.#isCatchingUp = true;
    let next = 0;
    try {
      while (this.#state === "running" && next < this.#pending.length) this.#pending[next++]?.();
    } finally {
      this.#pending.splice(0, next);
      this.#isCatchingUp = false;
    }
  }

  kill(): void {
    if (this.#state === "killed") return;
    this.#state = "killed";
    this.#pending = [];
    for (const onKill of this.#killers) onKill();
  }

  /** Registers a function that frees resources which the operating system would free if a real process were killed. */
  onKill(release: () => void): void {
    this.#killers.add(release);
  }

  isReachable(address: UpstreamAddress): boolean {
    return !this.#unreachable.has(authorityOf(address));
  }

  /** Makes these addresses, as host:port, unreachable, and all others reachable. */
  setUnreachable(authorities: readonly string[]): void {
    const before = this.#unreachable;
    this.#unreachable = new Set(authorities);
    for (const authority of authorities) {
      if (before.has(authority)) continue;
      for (const cut of this.#cutters) cut(addressOf(authority));
    }
  }

  onUnreachable(cut: (address: UpstreamAddress) => void): void {
    this.#cutters.add(cut);
  }
}

function authorityOf({ host, port }: UpstreamAddress): string {
  return `${host}:${port}`;
}

function addressOf(authority: string): UpstreamAddress {
  const at = authority.lastIndexOf(":");
  return { host: authority.slice(0, at), port: Number(authority.slice(at + 1)) };
}
