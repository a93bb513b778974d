/** Creates authentication, authorization, flow control and admission of a server. */
import type { BackgroundTask } from "../base/background.ts";
import type { BaseEnv } from "../base/env.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalog, CatalogGroup } from "../objects/catalog/catalog.ts";
import type { ResolveEndpoint } from "../serving/endpoints/resolve-or-not-found.ts";
import type { RegistryContext } from "../serving/registry/context.ts";
import { createObjectReader } from "../serving/resources/stored-objects.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import type { AccessSettings } from "./access-config.ts";
import { createServerAdmission, type ServerAdmission } from "./admission/chain/create-admission.ts";
import { createAuthorization, type ConfiguredAuthorization } from "./auth/authorization-modes.ts";
import { createTokens, type Accounts, type Tokens } from "./auth/create-tokens.ts";
import {
  createPriorityAndFairness,
  type PriorityAndFairness,
  type EventLoopTurns,
} from "./flowcontrol/priority-and-fairness.ts";
import type { CallWebhook } from "./webhook-client/webhook-client.ts";

interface AccessParts {
  readonly env: BaseEnv & EventLoopTurns;
  readonly config: AccessSettings;
  readonly metrics: MetricsRegistry;
  readonly cache: WatchCache;
  readonly resources: {
    readonly catalog: Catalog;
    /** Resolves built-in resources. */
    readonly builtIn: ResolveEndpoint;
    /** Resolves all served resources, including custom resources. */
    readonly resolve: ResolveEndpoint;
    readonly groups: () => readonly CatalogGroup[];
  };
  readonly context: RegistryContext;
  readonly callWebhook: CallWebhook;
  /** Sends an in-process request to this server, as the loopback user. */
  readonly call: Accounts["call"];
  /** Resolves when this server is ready. */
  readonly ready: Promise<void>;
}

export interface Access {
  readonly authorization: ConfiguredAuthorization;
  readonly tokens: Tokens;
  readonly admission: ServerAdmission;
  readonly flowControl: PriorityAndFairness;
  /** The watches on stored objects that configure access, such as roles and FlowSchemas. */
  readonly tasks: readonly BackgroundTask[];
}

export function createAccess(parts: AccessParts): Access {
  const { env, config, metrics, cache, resources, context, callWebhook, call, ready } = parts;
  const { catalog, builtIn, resolve, groups } = resources;
  const followed = { clock: env.clock, cache, catalog, resolve: builtIn };
  const objects = createObjectReader(followed, context.store);
  const authorization = createAuthorization(followed, config.access.authorizationModes);
  const flowControl = createPriorityAndFairness({ env, config, metrics }, { followed, call, ready });
  const admission = createServerAdmission({
    env,
    config,
    metrics,
    context,
    authorization,
    objects,
    followed,
    served: { resolve, groups },
    callWebhook,
  });
  return {
    authorization,
    tokens: createTokens(env, config, { objects, call }),
    admission,
    flowControl,
    tasks: [...authorization.tasks, ...admission.tasks, ...flowControl.tasks],
  };
}
