/**
 * Determines which resources the controllers of a settled cluster can process: those that a live server stores, and of
 * which all servers with an entry can decode every stored version and every encoding version. For all other resources,
 * controllers wait for a server that may return.
 */
import { parseGroupVersion } from "../../src/meta/group-version.ts";
import { storageVersionName } from "../../src/cluster/storageversion/objects.ts";
import type { EncodingRecord } from "./encoding-record.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { ResourceQuestion } from "../../src/cluster/peers/view.ts";
import type { Owner } from "./object-record.ts";
import type { Run } from "../../src/tools/simulator/server.ts";

/** The time after the end of a server by which all other servers treat it as departed. */
const NOTICED_GONE_MS = 20_000;
/** Clocks of servers run at most this much slower than the clock of the world. */
const DRIFT_MAX = 0.02;

export class ProcessableResources {
  readonly #record: EncodingRecord;
  readonly #cluster: SimulatedCluster;

  constructor(record: EncodingRecord, cluster: SimulatedCluster) {
    this.#record = record;
    this.#cluster = cluster;
  }

  /** Whether the object at this key can be processed. */
  hasKey(key: string): boolean {
    return this.#live.some((run) => this.#isSound(this.#record.resourceAt(run, key)?.name));
  }

  hasOwner({ apiVersion, kind }: Owner): boolean {
    const { group } = parseGroupVersion(apiVersion);
    const resources = this.#live
      .flatMap(({ groups }) => groups.filter(({ name }) => name === group))
      .flatMap(({ versions }) => versions.flatMap((version) => version.resources))
      .filter(({ responseKind }) => responseKind.kind === kind);
    return resources.some(({ resource }) => this.#isSound(storageVersionName(group, resource)));
  }

  isServedByAll(resource: ResourceQuestion): boolean {
    return this.#live.every(({ served }) => served.has(resource));
  }

  /** Whether every served resource can be processed. */
  get hasAllServed(): boolean {
    return this.#live.every((run) => [...this.#record.resourcesOf(run)].every(({ name }) => this.#isSound(name)));
  }

  /**
   * Whether live servers serve every resource of the recently departed servers. If not, a departed server may return
   * with dependents that controllers do not know.
   */
  get hasAllDeparted(): boolean {
    const { runs, timing, world } = this.#cluster;
    const keptMs = (timing.departedGraceMs + NOTICED_GONE_MS) * (1 + DRIFT_MAX);
    const isMissed = ({ endedAtMs }: Run): boolean =>
      endedAtMs !== undefined && world.clock.monotonic() < endedAtMs + keptMs;
    const served = new Set(this.#live.flatMap((run) => this.#namesOf(run)));
    return runs.filter(isMissed).every((run) => this.#namesOf(run).every((name) => served.has(name)));
  }

  get #live(): readonly Run[] {
    return this.#cluster.live.flatMap(({ run }) => run ?? []);
  }

  #namesOf(run: Run): string[] {
    return [...this.#record.resourcesOf(run)].map(({ name }) => name);
  }

  #isSound(name: string | undefined): boolean {
    if (name === undefined) return false;
    const { storageVersions: entries = [] } = this.#record.status(name) ?? {};
    const versions = [...this.#record.storedVersions(name), ...entries.map(({ encodingVersion }) => encodingVersion)];
    return entries.every(({ decodableVersions }) => versions.every((version) => decodableVersions.includes(version)));
  }
}
