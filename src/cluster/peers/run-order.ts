/**
 * Remembers which run of a server replaced which. A store that was restored from a backup may show an earlier run as the
 * current one until the server writes its record again. Without this file, the resources that only the earlier run
 * served would be reported as unknown: they count as served by a live run, and the document of the server lacks them.
 */
import { LruMap } from "../../base/lru-map.ts";
import type { LiveServer } from "./live-servers.ts";

interface Runs {
  readonly newest: string;
  /** The earlier runs, newest first. */
  readonly earlier: readonly string[];
}

const SERVERS_MAX = 1_000;
const EARLIER_MAX = 16;

export class RunOrder {
  readonly #runs = new LruMap<Runs>(SERVERS_MAX);

  /** The servers with their newest runs. Judges only servers with a record, because any client can forge a lease. */
  newest(servers: readonly LiveServer[]): LiveServer[] {
    return servers.map((server) => {
      const run = server.record?.incarnation;
      return run === undefined ? server : { ...server, incarnation: this.#newestOf(server.id, run) };
    });
  }

  #newestOf(id: string, run: string): string {
    const known = this.#runs.get(id) ?? { newest: run, earlier: [] };
    const isEarlier = run !== known.newest && known.earlier.includes(run);
    const runs =
      run === known.newest || isEarlier
        ? known
        : { newest: run, earlier: [known.newest, ...known.earlier].slice(0, EARLIER_MAX) };
    this.#runs.set(id, runs);
    return runs.newest;
  }
}
