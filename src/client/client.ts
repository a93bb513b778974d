/** A client of one API server: resources, informers and requests to any path. */
import type { Clock } from "../base/clock.ts";
import type { Random } from "../base/random.ts";
import type { StoreEpoch } from "../base/store-epoch.ts";
import { Informer, type InformerSettings } from "./informer.ts";
import type { KubernetesObject, ResourceType } from "./objects.ts";
import { Requester, type TextResponse, type RequestSpec } from "./requester.ts";
import { ResourceClient, type ObjectRepresentation } from "./resource-client.ts";
import { readinessHeaders, Readiness, waitForServerMs, type Ready, type ReadinessOptions } from "./readiness.ts";
import type { Transport } from "./transport.ts";

export interface ClientOptions extends ReadinessOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  /** The history of the store, for clients in the process of the server: informers list again when it changes. */
  readonly epoch?: StoreEpoch;
  /**
   * The User-Agent header, which access logs show and from which servers derive the field manager. Browsers do not let
   * clients set it.
   */
  readonly userAgent?: string;
  readonly defaults?: {
    /** Sent with every request; keys are lower case. */
    readonly headers?: Readonly<Record<string, string>>;
    /** Timeout of every request except watches, for all attempts together. Default: none. */
    readonly timeoutMs?: number;
    /** Maximum number of retries if the server asks for them. Default 10. */
    readonly retriesMax?: number;
    /**
     * Which part of objects gets, lists, watches and patches return. With "metadata", servers send only apiVersion, kind
     * and metadata, which is less than whole objects. Default "object".
     */
    readonly representation?: ObjectRepresentation;
  };
}

export interface Client {
  resource<T extends KubernetesObject = KubernetesObject>(type: ResourceType): ResourceClient<T>;
  /** Creates an informer, which does nothing until `Informer.run` is called. */
  informer<T extends KubernetesObject = KubernetesObject>(
    type: ResourceType,
    settings?: InformerSettings<T>,
  ): Informer<T>;
  /** Sends a request to any path, with the same retries and errors as the methods of resources. */
  request(spec: RequestSpec): Promise<TextResponse>;
  /**
   * The readiness that the latest response reported. Undefined before the first response, and without `ifReadyHeader`.
   */
  readonly ready?: Ready | undefined;
}

export function createClient(options: ClientOptions): Client {
  const { transport, clock, random, epoch, userAgent, defaults = {} } = options;
  const headers = {
    ...(userAgent === undefined ? {} : { "user-agent": userAgent }),
    ...readinessHeaders(options),
    ...defaults.headers,
  };
  const { timeoutMs, retriesMax, representation = "object" } = defaults;
  const readiness = new Readiness(options);
  const requester = new Requester({
    transport,
    clock,
    headers,
    timeoutMs,
    retriesMax,
    waitForServerMs: waitForServerMs(options),
    onResponse: (answered) => readiness.note(answered),
  });
  const resource = <T extends KubernetesObject>(type: ResourceType): ResourceClient<T> =>
    new ResourceClient<T>(requester, type, representation);
  return {
    resource,
    informer: <T extends KubernetesObject>(type: ResourceType, settings: InformerSettings<T> = {}) =>
      new Informer<T>({ ...settings, source: resource<T>(type), clock, random, epoch }),
    request: (spec) => requester.read(spec),
    get ready() {
      return readiness.latest;
    },
  };
}
