/**
 * Makes all requests of a KubeConfig wait for servers that ask for it. The config's methods through which its
 * requests get their credentials are replaced by ones that also see to the rest; the config is used as always.
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
  /** How often a request is asked again when the server asks for it. Default 10. */
  readonly retriesMax?: number;
  /** For tests. Default: the system's. */
  readonly clock?: Clock;
}

export interface Evenkeel {
  /** What the latest answer said. Undefined before the first one, and without `ifReadyHeader`: nobody was asked. */
  readonly ready: Ready | undefined;
}

/** So that nobody waits twice for everything. */
const TAKEN = Symbol.for("evenkeel.io/client");

/** Works on the config itself: API clients, watches and informers made of it before are not changed. */
export function withEvenkeel(config: KubeConfigLike, options: EvenkeelOptions = {}): Evenkeel {
  if (TAKEN in config) throw new Error("withEvenkeel was called with this config before");
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
  // API clients ask again themselves, bodies and all: theirs is the dispatcher without.
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
    // Whoever was given other credentials for this one call keeps them.
    authenticateAgain: async (request) => (ours.has(request) ? applySecurityAuthentication(request) : undefined),
    onceConnected: (request, callback) => tellConnected(request, plain, callback),
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

/** What undici takes when nobody says anything, at the place where its instances share it. */
function globalDispatcher(): Dispatcher | undefined {
  return Reflect.get(globalThis, Symbol.for("undici.globalDispatcher.2")) as Dispatcher | undefined;
}

function tellConnected(request: RequestContext, plain: WeakMap<Dispatcher, Dispatcher>, callback: () => void): void {
  const agent = request.getAgent?.();
  const dispatcher = request.getDispatcher?.();
  if (agent !== undefined) request.setAgent?.(connectedAgent(agent, callback));
  else if (dispatcher !== undefined)
    request.setDispatcher?.(connectedDispatcher(plain.get(dispatcher) ?? dispatcher, callback));
  // Then nobody can say: a broken connection counts as one that stood.
  else callback();
}
