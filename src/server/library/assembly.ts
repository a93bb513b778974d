/**
 * The stages of a server for a program's own resources (`createApiServer`): it has no release, no peers and no
 * controllers. If it has a main API server, it takes part in the agreement on encodings with the other servers of its
 * component.
 */
import { allowAuthenticated, type Authorizer } from "../../access/auth/authorize.ts";
import { createTokens } from "../../access/auth/create-tokens.ts";
import { createPriorityAndFairness } from "../../access/flowcontrol/priority-and-fairness.ts";
import { waitUntil } from "../../base/background.ts";
import type { Client } from "../../client/client.ts";
import { fence } from "../../cluster/peers/fence.ts";
import { fencedKv } from "../../cluster/peers/private-records.ts";
import { loneView } from "../../cluster/peers/view.ts";
import { writeGate } from "../../cluster/storageversion/write-gate.ts";
import { joinAgreement, type OwnAgreement } from "../../extensions/library/agreement.ts";
import { ownResourceTable, ownStoredVersions, type OwnResource } from "../../extensions/library/resource-table.ts";
import { openCatalog, type Catalog } from "../../objects/catalog/catalog.ts";
import { resolveRequest } from "../../serving/endpoints/resolve-or-not-found.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import { createLeasePool } from "../../storage/lease-pool.ts";
import { createObjectStore } from "../../storage/object-store.ts";
import type { Assembly, Cluster, RequestAccess, Resources } from "../assembly.ts";
import type { Foundation } from "../foundation.ts";
import type { ServerStore } from "../store.ts";
import { createLibraryRoutes } from "./routes.ts";

interface LibraryParts {
  /** The name that all servers of the program share, such as "wardle-apiserver". */
  readonly component: string;
  readonly resources: readonly OwnResource[];
  /**
   * Client of the main API server, through which the servers of a component agree on storage versions. If it is
   * undefined, no other server of the component may use the store.
   */
  readonly main: Client | undefined;
  readonly authorizer: Authorizer | undefined;
}

export interface LibraryResources extends Resources {
  readonly own: readonly OwnResource[];
  /** Undefined if there is no client of the main API server. */
  readonly agreement: OwnAgreement | undefined;
}

export interface LibraryCluster extends Cluster {
  readonly context: RegistryContext;
}

export function libraryAssembly(parts: LibraryParts): Assembly<LibraryResources, LibraryCluster, RequestAccess> {
  return {
    resources: (on, store) => createResources(on, store, parts),
    cluster: joinAsLibrary,
    access: ({ env, config, metrics }) => ({
      tokens: createTokens(env, config, undefined),
      authorizer: parts.authorizer ?? allowAuthenticated,
      flowControl: createPriorityAndFairness({ env, config, metrics }),
    }),
    routes: createLibraryRoutes,
    running: ({ env }, { cache }, { resources: { agreement } }) => ({
      hooks: [
        { name: "storage-readiness", run: (signal) => waitUntil(env.clock, () => cache.state === "following", signal) },
        ...(agreement?.hooks ?? []),
      ],
      tasks: agreement?.tasks ?? [],
      checks: () => [],
    }),
  };
}

function createResources(on: Foundation, store: ServerStore, parts: LibraryParts): LibraryResources {
  const { env, config, metrics } = on;
  const { component, resources, main } = parts;
  const { release, storageRoot } = config;
  const agreement =
    main &&
    joinAgreement({
      env,
      config,
      component,
      client: main,
      kv: store.kv,
      cache: store.cache,
      metrics,
      resources: ownStoredVersions(resources),
    });
  const catalog = withoutBuiltInResources(openCatalog({ release }));
  const table = ownResourceTable({ resources, catalog, storageRoot, encodingOf: agreement?.encodingOf });
  return { catalog, table, own: resources, agreement };
}

/** A catalog without resources. It keeps only the release's schemas of metadata, options and Scale. */
function withoutBuiltInResources(release: Catalog): Catalog {
  return {
    release: release.release,
    emulation: undefined,
    groups: [],
    get schemas() {
      return release.schemas;
    },
    resource: () => undefined,
  };
}

function joinAsLibrary(on: Foundation, store: ServerStore, { table, agreement }: LibraryResources): LibraryCluster {
  const { env, config, metrics, loopback } = on;
  const { clock, random } = env;
  const { isLoopback } = loopback;
  const { serverId } = config.peers;
  const kv = agreement === undefined ? store.kv : fencedKv(store.kv, { fence: agreement.fence, ownLeaseKey: "" });
  const view = loneView({ id: serverId, release: config.release });
  return {
    // The namespace prefix is undefined because the main API server stores the namespaces. There are no allocators,
    // because no resource here has values from a range.
    context: {
      store: createObjectStore(kv, store.cache),
      leases: createLeasePool(kv, clock, store.cache.epoch),
      clock,
      random,
      namespacePrefix: undefined,
    },
    filters: {
      aggregation: (next) => next,
      writeGate:
        agreement === undefined ? (next) => next : writeGate({ state: agreement.gate, isLoopback, serverId, metrics }),
      resolve: resolveRequest({ resolve: table.resolve, isApiGroup: table.hasGroup }),
      fence: agreement === undefined ? (next) => next : fence({ fence: agreement.fence, isExempt: isLoopback }),
    },
    checks: () => agreement?.checks ?? [],
    view: () => view,
    isServedByPeer: () => false,
    announce: () => {},
    drain: () => Promise.resolve(),
    leave: () => agreement?.leave() ?? Promise.resolve(),
  };
}
