/**
 * Builds the view from which `route.ts` decides. Once the view is synced, the function that `createView` returns yields
 * the same value until `changes` counts a change.
 */
import type { ChangeCounter } from "../../base/change-counter.ts";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import { createSupports } from "./capabilities.ts";
import type { DepartedPart } from "./departed-records.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { RoutingSource } from "./routing-source.ts";
import { createServedSet, eitherServedSet, type ServedSet } from "./served-set.ts";
import type { ClusterView, PeerView } from "./view.ts";

interface ViewSources {
  readonly config: MemberConfig;
  /** The resources built into this server. */
  readonly builtIn: readonly DiscoveryGroup[];
  readonly shared: ServedSet;
  /** The peers, as their discovery documents describe them. */
  readonly peers: () => readonly PeerView[];
  readonly source: RoutingSource;
  readonly departed: DepartedPart;
  readonly changes: ChangeCounter;
  /** Whether the leases and endpoint records of all servers have been read. */
  readonly isLoaded: () => boolean;
}

export function createView(from: ViewSources): () => ClusterView {
  const { config, peers, source, departed, changes } = from;
  const { serverId: id, missingFlag } = config.peers;
  const supports = createSupports();
  const local = eitherServedSet(createServedSet(from.builtIn), from.shared);
  let view: ClusterView | undefined;
  let builtFrom = -1;
  return () => {
    const isSynced = from.isLoaded() && source.isSynced();
    if (isSynced && view?.isSynced === true && builtFrom === changes.generation) return view;
    builtFrom = changes.generation;
    const { peers: described, isDecidedLocally } = source.describe(peers());
    view = {
      self: { id, release: config.release },
      isSynced,
      missingFlag,
      local,
      departed: departed.index(),
      peers: described,
      isDecidedLocally,
      supports,
    };
    return view;
  };
}
