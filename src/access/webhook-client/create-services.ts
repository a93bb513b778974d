/** Resolves the Services of webhooks and aggregated API servers to addresses, and creates the webhook client. */
import type { BackgroundTask } from "../../base/background.ts";
import type { BaseEnv } from "../../base/env.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { Outbound } from "../../serving/http/outbound.ts";
import { createServiceDirectory, type ServiceDirectory } from "./service-directory.ts";
import {
  overrideOf,
  resolveService,
  type Resolution,
  type ServiceOverrides,
  type ServiceReference,
} from "./service-resolver.ts";
import { createWebhookClient, type CallWebhook } from "./webhook-client.ts";

interface ServicesParts {
  readonly env: BaseEnv;
  readonly client: Client;
  /** Undefined if this server sends no outbound requests. */
  readonly outbound: Outbound | undefined;
  readonly overrides: ServiceOverrides;
}

export interface Services {
  readonly directory: ServiceDirectory;
  /** Resolves a Service from the Services and EndpointSlices that are cached at the time of the call. */
  readonly resolve: (service: ServiceReference) => Resolution;
  readonly overrides: ServiceOverrides;
  readonly callWebhook: CallWebhook;
  readonly tasks: readonly BackgroundTask[];
}

export function createServices({ env, client, outbound, overrides }: ServicesParts): Services {
  const { clock, random, log } = env;
  const onError = (thrown: unknown): void => log.debug("watch of services failed", { error: messageOf(thrown) });
  const directory = createServiceDirectory({ client, onError });
  const resolve = (service: ServiceReference): Resolution =>
    resolveService(service, { state: directory, overrides, random });
  const callWebhook = createWebhookClient({
    clock,
    outbound,
    async resolve(service, signal) {
      if (overrideOf(overrides, service) === undefined) await directory.ready(signal);
      return resolve(service);
    },
  });
  const informers: BackgroundTask = { name: "service-informers", run: (signal) => directory.run(signal) };
  return { directory, resolve, overrides, callWebhook, tasks: outbound === undefined ? [] : [informers] };
}
