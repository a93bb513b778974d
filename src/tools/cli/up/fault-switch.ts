/**
 * The switches by which a server fails on purpose while others of the same process go on. Everything that happens to
 * the server passes through `run`: a request that comes in, a timer that is due, an answer of the store.
 *
 *   running ⇄ paused → killed
 *
 * Paused is what SIGSTOP does: nothing happens to the server, its clocks go on, and what was due happens on resuming,
 * in order. Killed is what SIGKILL does: nothing happens to it any more, and nothing is tidied up.
 */
import type { UpstreamAddress } from "../../../serving/http/upstream.ts";

/** What a paused server may have before it: far more than its watches, which have a bound of their own. The rest is lost. */
const HELD_MAX = 1_000_000;

export class FaultSwitch {
  #state: "running" | "paused" | "killed" = "running";
  #held: (() => void)[] = [];
  #isCatchingUp = false;
  #unreachable: ReadonlySet<string> = new Set();
  readonly #cutters = new Set<(address: UpstreamAddress) => void>();
  readonly #killers = new Set<() => void>();

  /** Does it now, when the server runs again, or never. */
  run(work: () => void): void {
    if (this.#state === "running" && !this.#isCatchingUp) work();
    else if (this.#state !== "killed" && this.#held.length < HELD_MAX) this.#held.push(work);
  }

  /** A promise whose outcome is heard of only while the server runs. */
  hear<T>(ask: () => Promise<T>): Promise<T> {
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
    // What happens meanwhile, also because of what was held, comes behind it: the store promises an order.
    this.#isCatchingUp = true;
    let next = 0;
    try {
      while (this.#state === "running" && next < this.#held.length) this.#held[next++]?.();
    } finally {
      this.#held.splice(0, next);
      this.#isCatchingUp = false;
    }
  }

  kill(): void {
    if (this.#state === "killed") return;
    this.#state = "killed";
    this.#held = [];
    for (const onKill of this.#killers) onKill();
  }

  /** What a process that ends gives back to the system. */
  onKill(release: () => void): void {
    this.#killers.add(release);
  }

  isReachable(address: UpstreamAddress): boolean {
    return !this.#unreachable.has(authorityOf(address));
  }

  /** These addresses, as host:port, cannot be reached from now on; all others can. */
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
