/** What the benchmark asks of its load generator, a process of its own. Messages go over Node's IPC channel. */

export interface RequestShape {
  readonly method: string;
  /** `@@@@@@@@` in path and body becomes the request's number. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  /** JSON unless told otherwise. */
  readonly accept?: string;
  /** Sends X-Kubernetes-If-Ready. */
  readonly asksIfReady?: true;
  readonly expectStatus: number;
}

export type Command =
  /** Opens connections and keeps them under a name. */
  | {
      readonly kind: "open";
      readonly name: string;
      readonly protocol: "http/1.1" | "h2";
      readonly port: number;
      readonly connections: number;
      readonly token: string;
    }
  /** A fixed number of requests in a closed loop; `concurrency` requests are under way at any time. */
  | {
      readonly kind: "run";
      readonly name: string;
      readonly request: RequestShape;
      readonly count: number;
      readonly concurrency: number;
      readonly firstNumber: number;
      readonly numbers: number;
    }
  /** Begins an open loop: so many requests a second until it is ended. Answers at once. */
  | {
      readonly kind: "begin-pace";
      readonly name: string;
      readonly request: RequestShape;
      readonly perSecond: number;
      readonly numbers: number;
    }
  /** Ends it; answers when every request has been answered. */
  | { readonly kind: "end-pace"; readonly name: string }
  /** One request whose answer is returned whole. */
  | { readonly kind: "fetch"; readonly name: string; readonly request: RequestShape }
  /** Opens watches, one connection each; answers when all have sent their headers. */
  | {
      readonly kind: "watch";
      readonly name: string;
      readonly port: number;
      readonly token: string;
      readonly path: string;
      readonly count: number;
    }
  /** Sends the trigger and waits until every watcher has had one more event, so many times. */
  | {
      readonly kind: "fan-out";
      readonly watchers: string;
      readonly trigger: string;
      readonly request: RequestShape;
      readonly events: number;
      readonly firstNumber: number;
    }
  | { readonly kind: "close"; readonly name: string };

export interface RunResult {
  readonly wallMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly bytes: number;
}

export interface PacedResult {
  /** One for each request, in the order of the answers. */
  readonly latenciesMs: readonly number[];
}

export interface FetchResult {
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

export interface FanOutResult extends RunResult {
  /** The last event, as the first watcher had it. */
  readonly event: string;
}

export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };
