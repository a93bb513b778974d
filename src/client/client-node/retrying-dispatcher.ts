/**
 * Retries for Watch, Log and Metrics of client-node 2.x, which send requests through undici's dispatcher. It withholds
 * responses that ask for a retry, and forwards only the final one. All of these requests are reads.
 */
import type { IncomingHttpHeaders } from "node:http";
import { sleep } from "../../base/clock.ts";
import type { Attempts } from "../attempts.ts";
import { failureOf } from "../node-failures.ts";
import { attemptsAt, outcomeOf, waitAfter, type Lane } from "./lane.ts";
import {
  replacing,
  type Dispatcher,
  type DispatchController,
  type DispatchHandler,
  type DispatchOptions,
} from "./shapes.ts";

export function retryingDispatcher(dispatcher: Dispatcher, lane: Lane): Dispatcher {
  return replacing(dispatcher, "dispatch", (options, handler) => {
    const { method = "GET", path = "/", body, upgrade } = options;
    const isPlainRead = method === "GET" && (body === undefined || body === null) && !isSet(upgrade);
    if (!isPlainRead) return dispatcher.dispatch(options, handler);
    const attempts = attemptsAt(path, { method, isBodyReplayable: true }, lane);
    new Exchange({ dispatcher, options, handler, attempts, lane }).start();
    return true;
  });
}

/** Wraps the dispatcher to call back when a connection is established, before the first byte is sent. */
export function connectedDispatcher(dispatcher: Dispatcher, callback: () => void): Dispatcher {
  return replacing(dispatcher, "dispatch", (options, handler) =>
    dispatcher.dispatch(
      options,
      replacing(handler, "onRequestStart", (controller, context) => {
        callback();
        handler.onRequestStart?.(controller, context);
      }),
    ),
  );
}

interface ExchangeOptions {
  readonly dispatcher: Dispatcher;
  readonly options: DispatchOptions;
  readonly handler: DispatchHandler;
  readonly attempts: Attempts | undefined;
  readonly lane: Lane;
}

/** One request as its sender sees it: the sender holds one controller, however many attempts are made. */
class Exchange {
  readonly #of: ExchangeOptions;
  readonly #given = new AbortController();
  #current: DispatchController | undefined;
  /** True once no callback of the sender may be called any more. */
  #isOver = false;

  constructor(options: ExchangeOptions) {
    this.#of = options;
  }

  start(): void {
    const toError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
    void this.#run().catch((thrown: unknown) => this.#fail(toError(thrown)));
  }

  async #run(): Promise<void> {
    this.#of.handler.onRequestStart?.(this.#controller, null);
    while (!this.#isOver) {
      const waitMs = await this.#attempt();
      if (waitMs === undefined || !(await sleep(this.#of.lane.clock, waitMs, this.#given.signal))) return;
    }
  }

  /** Resolves to the time to wait before the next attempt, or to undefined if the request is not retried. */
  #attempt(): Promise<number | undefined> {
    return new Promise((resolve) => {
      const { dispatcher, options, handler } = this.#of;
      this.#current = undefined;
      let state: "open" | "passed-on" | "dropped" = "open";
      dispatcher.dispatch(options, {
        onRequestStart: (controller) => {
          this.#current = controller;
          if (this.#isOver) controller.abort(new Error("the request was aborted"));
        },
        onResponseStarted: () => handler.onResponseStarted?.(),
        onResponseStart: (controller, status, headers, message) => {
          if (status < 200 || state !== "open") return;
          const waitMs = this.#waitAfterResponse(status, headers);
          state = waitMs === undefined ? "passed-on" : "dropped";
          resolve(waitMs);
          if (state === "passed-on") handler.onResponseStart?.(this.#controller, status, headers, message);
          else controller.abort(new Error("retried"));
        },
        onResponseData: (_controller, chunk) => {
          if (state === "passed-on") handler.onResponseData?.(this.#controller, chunk);
        },
        onResponseEnd: (_controller, trailers) => {
          if (state === "passed-on") handler.onResponseEnd?.(this.#controller, trailers);
        },
        onResponseError: (_controller, error) => {
          if (state === "dropped") return;
          const waitMs = state === "passed-on" ? undefined : this.#waitAfterError(error);
          if (waitMs === undefined) this.#fail(error);
          resolve(waitMs);
        },
      });
    });
  }

  #waitAfterResponse(status: number, headers: IncomingHttpHeaders): number | undefined {
    const outcome = outcomeOf(this.#of.lane, status, headers);
    return this.#isOver ? undefined : waitAfter(this.#of.attempts, outcome);
  }

  #waitAfterError(error: Error): number | undefined {
    if (this.#isOver) return undefined;
    return waitAfter(this.#of.attempts, { failure: failureOf({ error, wasSent: this.#current !== undefined }) });
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#of.handler.onResponseError?.(this.#controller, error);
  }

  readonly #abort = (reason: Error): void => {
    this.#given.abort(reason);
    this.#current?.abort(reason);
    this.#fail(reason);
  };

  readonly #controller: DispatchController = this.#makeController();

  #makeController(): DispatchController {
    const current = (): DispatchController | undefined => this.#current;
    const given = this.#given.signal;
    return {
      pause: () => current()?.pause(),
      resume: () => current()?.resume(),
      abort: (reason) => this.#abort(reason),
      get aborted() {
        return given.aborted;
      },
      get reason() {
        return given.aborted ? (given.reason as Error) : null;
      },
      get paused() {
        return current()?.paused ?? false;
      },
      get rawHeaders() {
        return current()?.rawHeaders;
      },
      get rawTrailers() {
        return current()?.rawTrailers;
      },
    };
  }
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}
