/** A process of its own: with its own clocks, which may be wrong, on a network of its own, and it may be paused. */
import type { Cancel, Clock } from "../../../../src/base/clock.ts";
import { ANSWER_BYTES_MAX } from "../../../../src/client/client-limits.ts";
import {
  readBody,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
} from "../../../../src/client/transport.ts";

export interface HostOptions {
  /** What time and the server are in truth. */
  readonly clock: Clock;
  readonly server: Transport;
  /** How fast its clocks go. Default 1. */
  readonly rate?: number;
  /** How wrong its wall clock is. Default 0. */
  readonly offsetMs?: number;
}

/** What becomes of a request: it and its answer take these times, and either may be lost. */
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
  /** What is to happen when the pause ends. */
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

  /** What was due meanwhile happens now, one after the other, in whatever order. */
  resume(order: <T>(due: readonly T[]) => readonly T[] = (due) => due): void {
    const due = order(this.#due ?? []);
    this.#due = undefined;
    for (const callback of due) this.#world.after(0, () => this.#happen(callback));
  }

  /** Nothing happens in it ever again. */
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

  /** Resolves inside the host: when it lives, and is not paused. */
  #arrival(afterMs: number): Promise<void> {
    return new Promise((resolve) => this.#world.after(afterMs, () => this.#happen(resolve)));
  }

  /** The signal ends only the waiting: what was sent may still arrive. */
  async #send(request: ClientRequest): Promise<ClientResponse> {
    const { signal, ...sent } = request;
    const given = Promise.withResolvers<never>();
    const giveUp = (): void => given.reject(new TransportError("aborted", "the request was given up"));
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
      const bytes = await readBody(response.body, ANSWER_BYTES_MAX);
      await this.#arrival(backMs);
      if (isLost === "nowhere") return { ...response, body: toStream(bytes) };
    } else await this.#arrival(backMs);
    throw new TransportError("reset", "the connection broke");
  }
}

async function* toStream(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}
