/**
 * Clients with an informer of config maps, one for each run of a server. They are connected to their server all the
 * time, as controllers are, so their copy must be right again soon after each restore of the store.
 */
import { createClient } from "../../src/client/client.ts";
import type { Informer } from "../../src/client/informer.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { Run } from "../../src/tools/simulator/server.ts";

const CONFIG_MAPS = { group: "", version: "v1", resource: "configmaps", namespaced: true } as const;

export class InformerClients {
  readonly #informers = new Map<Run, Informer>();

  /** Starts an informer for a run that has just started. */
  add(cluster: SimulatedCluster, run: Run): void {
    const { world, servers } = cluster;
    const server = servers.find(({ id }) => id === run.serverId)!;
    const random = world.randomFor(`informer of ${run.host.name}`);
    const client = createClient({ transport: server.transport(), clock: world.clock, random });
    const informer = client.informer(CONFIG_MAPS);
    this.#informers.set(run, informer);
    const stop = new AbortController();
    run.host.onDeath(() => stop.abort());
    void informer.run(stop.signal);
  }

  /**
   * The copy of the client of this run: the resourceVersion of each object by its key in the store. Undefined until its
   * first list is complete.
   */
  copyOf(run: Run): ReadonlyMap<string, string> | undefined {
    const informer = this.#informers.get(run);
    if (informer?.hasSynced !== true) return undefined;
    return new Map(
      informer.list().map(({ metadata = {} }) => {
        const { namespace = "", name = "", resourceVersion = "" } = metadata;
        return [`${INFORMED_PREFIX}${namespace}/${name}`, resourceVersion];
      }),
    );
  }
}

/** The key prefix of the objects in the informers. */
export const INFORMED_PREFIX = "configmaps/";
