/**
 * The entry point of the client. Everything that it exports runs in Node and in browsers; node-transport.ts adds a
 * transport for Node.
 */
export type { Clock } from "../base/clock.ts";
export type { Random } from "../base/random.ts";
export { createClient, type Client, type ClientOptions } from "./client.ts";
export { createFetchTransport, type FetchTransportOptions } from "./fetch-transport.ts";
export type { HandlerRegistration, Informer, InformerSettings } from "./informer.ts";
export type { InformerHandler } from "./handler-queue.ts";
export type * from "./objects.ts";
export type { ResourceClient } from "./resource-client.ts";
export { readyOf, type AnswerHeaders, type ReadinessOptions, type Ready } from "./readiness.ts";
export { createSystemClock, createSystemRandom } from "./system.ts";
export { TransportError, type ClientRequest, type ClientResponse, type Transport } from "./transport.ts";
export { StatusError, isReason } from "../meta/status-error.ts";
