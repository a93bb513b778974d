/**
 * The parts of @kubernetes/client-node that this package needs, as structural types. Nothing is imported from
 * client-node, so that callers can pass objects of both major versions. 1.x sends by node-fetch through an agent, 2.x
 * by undici through a dispatcher.
 */
import type { IncomingHttpHeaders } from "node:http";

/** A KubeConfig of any version. */
export interface KubeConfigLike {
  applySecurityAuthentication(context: never): Promise<void>;
  applyToHTTPSOptions(options: never): Promise<void>;
  makeApiClient(type: never): unknown;
}

/** The methods of a KubeConfig through which all of its requests pass. */
export interface ConfigMethods {
  /** Called by API clients; in 2.x also by Watch, Log, Metrics and Health. */
  applySecurityAuthentication(context: RequestContext): Promise<void>;
  /** Called by exec, attach and port forwarding; in 1.x also by `applyToFetchOptions`. */
  applyToHTTPSOptions(options: { headers?: Record<string, unknown> }): Promise<void>;
  /** Called by Watch, Log, Metrics and Health of 1.x; absent in 2.x. */
  applyToFetchOptions?(options: object): Promise<{ agent?: Agent }>;
  makeApiClient(type: ApiConstructor): object;
}

type ApiConstructor = new (configuration: ApiConfiguration, ...rest: unknown[]) => object;

export interface ApiConfiguration {
  readonly httpApi: HttpLibrary;
}

export interface HttpLibrary {
  send(request: RequestContext): Observable<ResponseContext>;
}

/** client-node's own substitute for the Observable of rxjs. */
export interface Observable<T> {
  toPromise(): Promise<T>;
  pipe<U>(callback: (value: T) => U | Promise<U>): Observable<U>;
}

export interface RequestContext {
  getUrl(): string;
  getHttpMethod(): string;
  getBody(): unknown;
  getSignal?(): AbortSignal | undefined;
  setHeaderParam(name: string, value: string): void;
  /** 1.x only. */
  getAgent?(): Agent | undefined;
  setAgent?(agent: Agent): void;
  /** 2.x only. */
  getDispatcher?(): Dispatcher | undefined;
  setDispatcher?(dispatcher: Dispatcher): void;
}

export interface ResponseContext {
  readonly httpStatusCode: number;
  /** Keys are lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: {
    text(): Promise<string>;
    /** 2.x only. */
    stream?(): { cancel(): Promise<void> } | null;
  };
}

/** An agent of Node. Custom agents also implement `addRequest`, although Node does not document it. */
export interface Agent {
  readonly protocol?: string;
  addRequest(request: object, options: object): void;
}

/** A dispatcher of undici. */
export interface Dispatcher {
  dispatch(options: DispatchOptions, handler: DispatchHandler): boolean;
}

export interface DispatchOptions {
  readonly method?: string;
  readonly path?: string;
  readonly body?: unknown;
  readonly upgrade?: unknown;
}

export interface DispatchController {
  pause(): void;
  resume(): void;
  abort(reason: Error): void;
  readonly aborted: boolean;
  readonly reason: Error | null;
  readonly paused: boolean;
  readonly rawHeaders?: unknown;
  readonly rawTrailers?: unknown;
}

export interface DispatchHandler {
  onRequestStart?(controller: DispatchController, context: unknown): void;
  onResponseStarted?(): void;
  onResponseStart?(
    controller: DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void;
  onResponseData?(controller: DispatchController, chunk: Uint8Array): void;
  onResponseEnd?(controller: DispatchController, trailers: unknown): void;
  onResponseError?(controller: DispatchController, error: Error): void;
}

/** Returns an object that behaves like `target`, with one method replaced. */
export function replacing<T extends object, K extends keyof T>(target: T, name: K, method: T[K]): T {
  return new Proxy(target, {
    get: (_target, key) => (key === name ? method : (Reflect.get(target, key) as unknown)),
  });
}
