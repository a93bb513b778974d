/** The stages of a server of a Kubernetes release; see ../assembly.ts. */
import { catchUpOf } from "../../access/review-endpoints.ts";
import { createAccess, type Access } from "../../access/create-access.ts";
import { DEFINITION_KINDS } from "../../extensions/crd/validation/crd-kind.ts";
import { createKinds } from "../../objects/kinds/kinds.ts";
import { storedDefaults } from "../../serving/resources/stored-defaults.ts";
import type { Assembly, RequestAccess } from "../assembly.ts";
import { joinCluster, type KubernetesCluster } from "./cluster.ts";
import { createResources, type KubernetesResources } from "./resources.ts";
import { createRoutes } from "./routes.ts";
import { createHooksAndTasks } from "./hooks-and-tasks.ts";

export interface KubernetesAccess extends RequestAccess {
  readonly access: Access;
}

export const KUBERNETES: Assembly<KubernetesResources, KubernetesCluster, KubernetesAccess> = {
  addDefaults: ({ env, config }) =>
    storedDefaults({
      catalog: config.catalog,
      storageRoot: config.storageRoot,
      kindOf: createKinds(DEFINITION_KINDS),
      ipFamilies: config.serviceClusterIpRanges.map(({ family }) => family),
      clock: env.clock,
    }),
  resources: createResources,
  cluster: joinCluster,
  access({ env, config, metrics, loopback, lifecycle }, { cache }, { resources, cluster }) {
    const { catalog, builtIn, table, custom, services } = resources;
    const access = createAccess({
      env,
      config,
      metrics,
      cache,
      resources: { catalog, builtIn: builtIn.resolve, resolve: table.resolve, groups: () => custom.groups() },
      context: cluster.context,
      callWebhook: services.callWebhook,
      call: loopback.callAsServer,
      ready: lifecycle.ready,
    });
    return {
      access,
      tokens: access.tokens,
      authorizer: access.authorization.authorization.authorize,
      flowControl: access.flowControl,
      catchUp: catchUpOf({ env, cache }),
    };
  },
  routes: createRoutes,
  running: createHooksAndTasks,
};
