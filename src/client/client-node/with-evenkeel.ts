/**
 * Makes the requests of a KubeConfig wait and retry if the server sends Retry-After or is not reachable yet; exec,
 * attach and port forwarding only get the headers. It replaces the methods through which requests get their
 * credentials, so that callers need no other change.
 */
import type { Clock } from "../../base/clock.ts";
import { readinessHeaders, Readiness, waitForServerMs, type ReadinessOptions, type Ready } from "../readiness.ts";
import { createSystemClock } from "../system.ts";
import type { Lane } from "./lane.ts";
import { connectedAgent, retryingAgent } from "./retrying-agent.ts";
import { connectedDispatcher, retryingDispatcher } from "./retrying-dispatcher.ts";
import { retryingHttp, type RetryingHttpOptions } from "./retrying-http.ts";
import type { ApiConfiguration, ConfigMethods, Dispatcher, KubeConfigLike, RequestContext } from "./shapes.ts";

export { readyOf, type AnswerHeaders, type Ready } from "../readiness.ts";
export type { Clock } from "../../base/clock.ts";

export interface EvenkeelOptions extends ReadinessOptions {
  /** Maximum number of retries if the server asks for them. Default 10. */
  readonly retriesMax?: number;
  /** For tests. Default: the system clock. */
  readonly clock?: Clock;
}

export interface Evenkeel {
  /**
   * The readiness that the latest response reported. Undefined before the first response, and without `ifReadyHeader`.
   */
  readonly ready: Ready | undefined;
}

/** Marks a config to which withEvenkeel was applied: if it were applied twice, each attempt would itself be retried. */
const TAKEN = Symbol.for("evenkeel.io/client");

/** Changes the config itself. API clients, watches and informers that were made from it before are not affected. */
export function withEvenkeel(config: KubeConfigLike, options: EvenkeelOptions = {}): Evenkeel {
  if (TAKEN in config) throw new Error("withEvenkeel was called with this config before: call it once per config");
  const readiness = new Readiness(options);
  const { clock = createSystemClock(), retriesMax } = options;
  const lane: Lane = { clock, retriesMax, waitForServerMs: waitForServerMs(options), readiness };
  const headers = readinessHeaders(options);
  const methods = config as unknown as ConfigMethods;
  Object.assign(methods, { ...connecting(methods, headers, lane), [TAKEN]: true });
  return {
    get ready() {
      return readiness.latest;
    },
  };
}

function connecting(config: ConfigMethods, headers: Record<string, string>, lane: Lane): Partial<ConfigMethods> {
  const authenticate = config.applySecurityAuthentication.bind(config);
  const applyToHttps = config.applyToHTTPSOptions.bind(config);
  const applyToFetch = config.applyToFetchOptions?.bind(config);
  const makeApiClient = config.makeApiClient.bind(config);
  // Maps each retrying dispatcher to the one that it wraps: API clients retry by themselves and need the latter.
  const plain = new WeakMap<Dispatcher, Dispatcher>();
  const ours = new WeakSet<RequestContext>();
  const applySecurityAuthentication = async (context: RequestContext): Promise<void> => {
    await authenticate(context);
    ours.add(context);
    for (const [name, value] of Object.entries(headers)) context.setHeaderParam(name, value);
    if (context.getDispatcher === undefined) return;
    const dispatcher = context.getDispatcher() ?? globalDispatcher();
    if (dispatcher === undefined) return;
    const retrying = retryingDispatcher(dispatcher, lane);
    plain.set(retrying, dispatcher);
    context.setDispatcher?.(retrying);
  };
  const http: RetryingHttpOptions = {
    lane,
    // If the caller gave the call other credentials, the retry keeps them.
    authenticateAgain: async (request) => (ours.has(request) ? applySecurityAuthentication(request) : undefined),
    onceConnected: (request, callback) => notifyConnected(request, plain, callback),
  };
  return {
    applySecurityAuthentication,
    async applyToHTTPSOptions(options) {
      await applyToHttps(options);
      Object.assign((options.headers ??= {}), headers);
    },
    ...(applyToFetch === undefined
      ? {}
      : {
          async applyToFetchOptions(options) {
            const init = await applyToFetch(options);
            return init.agent === undefined ? init : Object.assign(init, { agent: retryingAgent(init.agent, lane) });
          },
        }),
    makeApiClient: (type) =>
      makeApiClient(
        new Proxy(type, {
          construct: (target, [configuration, ...rest]: [ApiConfiguration, ...unknown[]]) =>
            new target({ ...configuration, httpApi: retryingHttp(configuration.httpApi, http) }, ...rest),
        }),
      ),
  };
}

/** The default dispatcher of undici, under the symbol by which all copies of undici share it. */
function globalDispatcher(): Dispatcher | undefined {
  return Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.2")) as Dispatcher | undefined;
}

function notifyConnected(request: RequestContext, plain: WeakMap<Dispatcher, Dispatcher>, callback: () => void): void {
  const agent = request.getAgent?.();
  const dispatcher = request.getDispatcher?.();
  if (agent !== undefined) request.setAgent?.(connectedAgent(agent, callback));
  else if (dispatcher !== undefined)
    request.setDispatcher?.(connectedDispatcher(plain.get(dispatcher) ?? dispatcher, callback));
  // The connection cannot be observed. Treat it as established, so that a broken connection counts as a request that
  // was sent.
  else callback();
}
