/**
 * Sends requests at a fixed rate, even if earlier requests have not completed, so that a server that stalls still
 * receives all requests. If all connections are busy, a request waits for a free one, and the wait is part of its
 * latency.
 */
import type { Requester } from "./http1.ts";
import type { PacedResult, RequestShape } from "./protocol.ts";

export interface Pace {
  readonly request: RequestShape;
  readonly perSecond: number;
  /** How many different objects the requests address. */
  readonly numbers: number;
}

const TICK_MS = 1;
/** A prime, so that consecutive requests address objects that are not neighbors in the store. */
const STRIDE = 7_919;

export class PacedLoad {
  readonly #pace: Pace;
  readonly #idle: Requester[];
  /** Issue times of the requests that wait for a free connection. */
  readonly #waiting: number[] = [];
  readonly #latenciesMs: number[] = [];
  readonly #startedMs = performance.now();
  readonly #timer: NodeJS.Timeout;
  #issued = 0;
  #sent = 0;
  #underWay = 0;
  #failure: Error | undefined;
  #onQuiet: (() => void) | undefined;

  constructor(requesters: readonly Requester[], pace: Pace) {
    this.#pace = pace;
    this.#idle = [...requesters];
    this.#timer = setInterval(() => this.#issueDue(), TICK_MS);
  }

  /** Resolves when all issued requests have completed. */
  async finish(): Promise<PacedResult> {
    clearInterval(this.#timer);
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onQuiet = resolve));
    if (this.#failure !== undefined) throw this.#failure;
    return { latenciesMs: this.#latenciesMs };
  }

  /**
   * Issues the requests that are due. Latency is measured from here, not from the scheduled time, because a late timer
   * is a delay of the client.
   */
  #issueDue(): void {
    const nowMs = performance.now();
    const due = Math.floor(((nowMs - this.#startedMs) / 1000) * this.#pace.perSecond);
    for (; this.#issued < due; this.#issued++) {
      // The one that has been idle for longest, so that the server closes none as idle.
      const requester = this.#idle.shift();
      if (requester === undefined) this.#waiting.push(nowMs);
      else void this.#use(requester, nowMs);
    }
  }

  async #use(requester: Requester, firstIssuedMs: number): Promise<void> {
    const { request, numbers } = this.#pace;
    this.#underWay++;
    try {
      for (let issuedMs: number | undefined = firstIssuedMs; issuedMs !== undefined; issuedMs = this.#waiting.shift()) {
        const { status } = await requester.send(request, (this.#sent++ * STRIDE) % numbers);
        this.#latenciesMs.push(performance.now() - issuedMs);
        if (status !== request.expectStatus) throw new Error(`${request.method} ${request.path} returned ${status}`);
      }
      this.#idle.push(requester);
    } catch (thrown) {
      // The whole run has failed; the connection is not used again.
      this.#failure ??= thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    if (--this.#underWay === 0) this.#onQuiet?.();
  }
}
