/** A simulated process with its own, possibly wrong, clocks and its own network. A test can pause or crash it. */
import type { Cancel, Clock } from "../../../../src/base/clock.ts";
import { RESPONSE_BYTES_MAX } from "../../../../src/client/client-limits.ts";
import {
  readBody,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
} from "../../../../src/client/transport.ts";

export interface HostOptions {
  /** The clock of the world, which is right. */
  readonly clock: Clock;
  readonly server: Transport;
  /** Speed of the process's monotonic clock and timers, relative to `clock`. Default 1. */
  readonly rate?: number;
  /** Error of the process's wall clock. Default 0. */
  readonly offsetMs?: number;
}

/** How long a request and its response travel, and which of the two is lost. */
export interface Passage {
  readonly thereMs: number;
  readonly backMs: number;
  readonly isLost: "there" | "back" | "nowhere";
}

const AT_ONCE: Passage = { thereMs: 0, backMs: 0, isLost: "nowhere" };

export class Host {
  readonly clock: Clock;
  readonly transport: Transport;
  passage: () => Passage = () => AT_ONCE;
  readonly #world: Clock;
  readonly #server: Transport;
  /** While paused: the callbacks that run when the pause ends. */
  #due: (() => void)[] | undefined;
  #isDead = false;

  constructor(options: HostOptions) {
    const { clock, rate = 1, offsetMs = 0 } = options;
    this.#world = clock;
    this.#server = options.server;
    this.clock = {
      now: () => clock.now() + offsetMs,
      monotonic: () => clock.monotonic() * rate,
      after: (delayMs, callback) => this.#after(delayMs / rate, callback),
    };
    this.transport = { send: (request) => this.#send(request) };
  }

  pause(): void {
    this.#due ??= [];
  }

  /** Ends the pause and runs the callbacks that came due during it, in the given order. */
  resume(order: <T>(due: readonly T[]) => readonly T[] = (due) => due): void {
    const due = order(this.#due ?? []);
    this.#due = undefined;
    for (const callback of due) this.#world.after(0, () => this.#happen(callback));
  }

  /** Stops the process permanently: no callback runs anymore. */
  crash(): void {
    this.#isDead = true;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  #after(delayMs: number, callback: () => void): Cancel {
    let isCancelled = false;
    const cancel = this.#world.after(delayMs, () =>
      this.#happen(() => {
        if (!isCancelled) callback();
      }),
    );
    return () => {
      isCancelled = true;
      cancel();
    };
  }

  #happen(callback: () => void): void {
    if (this.#isDead) return;
    if (this.#due === undefined) callback();
    else this.#due.push(callback);
  }

  /** Resolves after the delay, once the process is not paused; never if it has crashed. */
  #arrival(afterMs: number): Promise<void> {
    return new Promise((resolve) => this.#world.after(afterMs, () => this.#happen(resolve)));
  }

  /** An abort only ends the waiting for the response: a request that is already sent may still arrive. */
  async #send(request: ClientRequest): Promise<ClientResponse> {
    const { signal, ...sent } = request;
    const given = Promise.withResolvers<never>();
    const giveUp = (): void => given.reject(new TransportError("aborted", "the request was aborted"));
    signal?.addEventListener("abort", giveUp, { once: true });
    if (signal?.aborted === true) giveUp();
    try {
      return await Promise.race([given.promise, this.#pass(sent)]);
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  async #pass(request: ClientRequest): Promise<ClientResponse> {
    const { thereMs, backMs, isLost } = this.passage();
    await new Promise<void>((resolve) => void this.#world.after(thereMs, resolve));
    if (isLost !== "there") {
      const response = await this.#server.send(request);
      const bytes = await readBody(response.body, RESPONSE_BYTES_MAX);
      await this.#arrival(backMs);
      if (isLost === "nowhere") return { ...response, body: toStream(bytes) };
    } else await this.#arrival(backMs);
    throw new TransportError("reset", "the connection broke");
  }
}

async function* toStream(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}
