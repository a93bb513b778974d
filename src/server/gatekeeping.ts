/** What stands between a request and what it is for: who asks, whether they may, whether there is room, who else is asked. */
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Catalogue } from "../objects/catalogue/catalogue.ts";
import type { RegistryContext } from "../serving/registry/context.ts";
import type { WatchCache } from "../storage/watch-cache/cache.ts";
import { createAccess, type Access } from "./access.ts";
import { createServerAdmission, type ServerAdmission } from "./admission/create-admission.ts";
import { createTokens, type Accounts, type Tokens } from "./authentication.ts";
import type { BackgroundTask } from "./background.ts";
import type { ServerConfig } from "./config.ts";
import type { Env } from "./env.ts";
import { createFairUse, type FairUse } from "./flow-control.ts";
import type { ResourceTable } from "./resources.ts";
import type { Shared } from "./shared-resources.ts";
import { createObjectReader } from "./stored-objects.ts";

export interface GatekeepingParts {
  readonly env: Env;
  readonly config: ServerConfig;
  readonly metrics: MetricsRegistry;
  readonly cache: WatchCache;
  readonly catalogue: Catalogue;
  readonly builtIn: ResourceTable;
  /** With what is defined. */
  readonly table: ResourceTable;
  readonly context: RegistryContext;
  readonly shared: Pick<Shared, "custom" | "callWebhook">;
  /** As the server itself. */
  readonly call: Accounts["call"];
  /** Resolves when this server is. */
  readonly ready: Promise<void>;
}

export interface Gatekeeping {
  readonly access: Access;
  readonly tokens: Tokens;
  readonly admission: ServerAdmission;
  readonly fairUse: FairUse;
  /** They follow what the store says about all of this. */
  readonly gateTasks: readonly BackgroundTask[];
}

export function createGatekeeping(parts: GatekeepingParts): Gatekeeping {
  const { env, config, metrics, cache, catalogue, builtIn, table, context, shared } = parts;
  const followed = { clock: env.clock, cache, catalogue, resolve: builtIn.resolve };
  const objects = createObjectReader(followed, context.store);
  const access = createAccess(followed, config.access.authorizationModes);
  const { call, ready } = parts;
  const fairUse = createFairUse({ env, config, metrics }, { ...followed, call, ready });
  const admission = createServerAdmission({
    ...{ env, config, metrics, context, access, objects, followed, resolve: table.resolve },
    groups: () => shared.custom.groups(),
    callWebhook: shared.callWebhook,
  });
  return {
    access,
    tokens: createTokens(env, config, { objects, call }),
    admission,
    fairUse,
    gateTasks: [...access.tasks, ...admission.tasks, ...fairUse.tasks],
  };
}
