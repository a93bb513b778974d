/** The IPC messages between the benchmark and its load generator, which is a separate process. */

/** Where a server listens. */
export interface Endpoint {
  /** Default 127.0.0.1. */
  readonly host?: string;
  readonly port: number;
  /** If present, the certificate of the server is verified, with the system's certificate authorities unless `ca` is set. */
  readonly trust?: { readonly ca?: string };
}

export interface RequestShape {
  readonly method: string;
  /** `@@@@@@@@` in path and body is replaced by the number of the object. */
  readonly path: string;
  readonly body?: string;
  readonly contentType?: string;
  /** Default: JSON. */
  readonly accept?: string;
  /** True to send the header X-Kubernetes-If-Ready. */
  readonly asksIfReady?: true;
  readonly expectStatus: number;
}

export type Command =
  /** Opens connections. Later commands refer to them by `name`. */
  | (Endpoint & {
      readonly kind: "open";
      readonly name: string;
      readonly protocol: "http/1.1" | "h2";
      readonly connections: number;
      readonly token: string;
    })
  /** Runs a fixed number of requests in a closed loop with `concurrency` outstanding requests. */
  | {
      readonly kind: "run";
      readonly name: string;
      readonly request: RequestShape;
      readonly count: number;
      readonly concurrency: number;
      readonly firstNumber: number;
      readonly numbers: number;
    }
  /** Starts an open loop with a fixed number of requests per second. Returns at once. */
  | {
      readonly kind: "begin-pace";
      readonly name: string;
      readonly request: RequestShape;
      readonly perSecond: number;
      readonly numbers: number;
    }
  /** Ends the open loop; returns when every request has completed. */
  | { readonly kind: "end-pace"; readonly name: string }
  /** Sends one request and returns the whole response. */
  | { readonly kind: "fetch"; readonly name: string; readonly request: RequestShape }
  /** Opens `count` watches. Returns when every watch has received the response headers. */
  | (Endpoint & {
      readonly kind: "watch";
      readonly name: string;
      readonly token: string;
      readonly path: string;
      readonly count: number;
      /** Watches share connections over HTTP/2. Default: one HTTP/1.1 connection each. */
      readonly perConnection?: number;
    })
  /**
   * Sends `request` on the connection `trigger` `events` times; each time, waits until every watcher has received one
   * more event.
   */
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
  /** One latency per request, in the order of the responses. */
  readonly latenciesMs: readonly number[];
}

export interface FetchResult {
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string;
}

export interface FanOutResult extends RunResult {
  /** The last event as the first watcher received it. */
  readonly event: string;
}

export type Reply = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: string };
