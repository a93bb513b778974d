/**
 * Requests at a fixed rate, whether or not those before them were answered: a server that stalls is not spared the
 * requests of that time. One that finds every connection busy waits for one, and that counts as its latency.
 */
import type { Requester } from "./http1.ts";
import type { PacedResult, RequestShape } from "./protocol.ts";

export interface Pace {
  readonly request: RequestShape;
  readonly perSecond: number;
  /** How many different numbers requests carry. */
  readonly numbers: number;
}

const TICK_MS = 1;
/** A prime: neighbours in time are none in the store. */
const STRIDE = 7_919;

export class PacedLoad {
  readonly #pace: Pace;
  readonly #idle: Requester[];
  /** When those were due that no connection was free for. */
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

  /** Answers when everything that was issued has been. */
  async finish(): Promise<PacedResult> {
    clearInterval(this.#timer);
    if (this.#underWay > 0) await new Promise<void>((resolve) => (this.#onQuiet = resolve));
    if (this.#failure !== undefined) throw this.#failure;
    return { latenciesMs: this.#latenciesMs };
  }

  /** From here latency counts, not from when the timer should have fired: its lateness is the client's own. */
  #issueDue(): void {
    const nowMs = performance.now();
    const due = Math.floor(((nowMs - this.#startedMs) / 1000) * this.#pace.perSecond);
    for (; this.#issued < due; this.#issued++) {
      const requester = this.#idle.pop();
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
        if (status !== request.expectStatus)
          throw new Error(`${request.method} ${request.path} was answered ${status}`);
      }
      this.#idle.push(requester);
    } catch (thrown) {
      // Its connection is not used again: the run has failed anyway.
      this.#failure ??= thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    if (--this.#underWay === 0) this.#onQuiet?.();
  }
}
