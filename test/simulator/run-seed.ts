/**
 * Runs one seed in two phases. In the safety phase, faults are injected, and the guarantees are checked at every
 * request, hop, response and commit. In the liveness phase, the faults have ended, and the guarantees of a settled
 * cluster are checked after `settle`.
 */
import type { PeerTiming } from "../../src/cluster/peers/timing.ts";
import { decodeStatus } from "../../src/cluster/storageversion/decode-status.ts";
import type { GuaranteeChecker, GuaranteeViolation } from "../../src/tools/simulator/checker.ts";
import { atMostOneHop } from "./checkers/at-most-one-hop.ts";
import { collectedIsGarbage } from "./checkers/collected-is-garbage.ts";
import { documentsEqual } from "./checkers/documents-equal.ts";
import { encodingsSettle } from "./checkers/encodings-settle.ts";
import { fencedUntilPublished } from "./checkers/fenced-until-published.ts";
import { garbageGoes } from "./checkers/garbage-goes.ts";
import { informersRecover } from "./checkers/informers-recover.ts";
import { listsMatchStore } from "./checkers/lists-match-store.ts";
import { listedIsReachable } from "./checkers/listed-is-reachable.ts";
import { migratedIsMigrated } from "./checkers/migrated-is-migrated.ts";
import { namespacesEmpty } from "./checkers/namespaces-empty.ts";
import { namespacesGo } from "./checkers/namespaces-go.ts";
import { neverBack } from "./checkers/never-back.ts";
import { noCircle } from "./checkers/no-circle.ts";
import { noFalse404 } from "../../src/tools/simulator/checkers/no-false-404.ts";
import { noLostWrite } from "./checkers/no-lost-write.ts";
import { entriesMatchCommonVersion } from "./checkers/entries-match-common-version.ts";
import { readsAreCurrent } from "./checkers/reads-are-current.ts";
import { readyAgain } from "./checkers/ready-again.ts";
import { restoresEndWatches } from "./checkers/restores-end-watches.ts";
import { sentOnce } from "./checkers/sent-once.ts";
import { servedIsListed } from "./checkers/served-is-listed.ts";
import { writtenAsPublished } from "./checkers/written-as-published.ts";
import { SimulatedCluster, type Plant } from "../../src/tools/simulator/cluster.ts";
import { EncodingRecord, STORAGE_VERSIONS } from "./encoding-record.ts";
import { FamilyWorkload } from "./family-workload.ts";
import type { Commit } from "../../src/tools/simulator/history.ts";
import { InformerClients } from "./informer-clients.ts";
import { drawRun, drawSwarm, Nemesis, type Swarm } from "./nemesis.ts";
import { ObjectRecord } from "./object-record.ts";
import { KnownObjects } from "./objects.ts";
import { createServedRecently } from "./served-recently.ts";
import { VersionRecord } from "./version-record.ts";
import { storedNamed, Workload } from "./workload.ts";
import { World } from "../../src/tools/simulator/world.ts";

export interface SeedOptions {
  readonly seed: number;
  /** Virtual minutes of both phases together, without the time that the final checks take. */
  readonly minutes: number;
  readonly servers?: number;
  readonly traceLinesMax?: number;
  readonly plant?: Plant;
  /** Whether the store is restored from backups while the servers run. */
  readonly restores?: boolean;
  /** Replaces values that are otherwise derived from the seed. */
  readonly swarm?: Partial<Swarm>;
  /** Ends the run as soon as each of these checkers has reported a violation. Default: the run takes its whole time. */
  readonly endOnceFound?: readonly string[];
}

export interface SeedReport {
  readonly seed: number;
  readonly swarm: Swarm;
  readonly violations: readonly GuaranteeViolation[];
  /** Digest of the whole trace; equal for equal runs. */
  readonly digest: string;
  readonly lines: readonly string[];
  /** Number of responses to clients by status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly hops: number;
}

const PACE_MS = 700;
const FAMILY_PACE_MS = 3_000;
/** Duration of the liveness phase before the final checks. It equals the time that `settle` takes. */
const SETTLE_MS = 60_000;
/** Maximum number of violations that are kept per guarantee. */
const VIOLATIONS_MAX = 5;
/** How often a run with `endOnceFound` checks whether it can end. */
const STEP_MS = 1_000;

export async function runSeed(options: SeedOptions): Promise<SeedReport> {
  const simulation = new Simulation(options);
  try {
    await simulation.play(options.minutes * 60_000);
  } catch (thrown) {
    simulation.fail(thrown);
  } finally {
    simulation.cluster.shutDown();
  }
  return simulation.report();
}

class Simulation {
  readonly cluster: SimulatedCluster;
  readonly #seed: number;
  readonly #servers: number;
  readonly #swarm: Swarm;
  readonly #restores: boolean;
  readonly #endOnceFound: readonly string[] | undefined;
  readonly #objects = new KnownObjects();
  readonly #informers = new InformerClients();
  readonly #checkers: readonly GuaranteeChecker[];
  readonly #violations: GuaranteeViolation[] = [];
  readonly #statuses = new Map<number, number>();
  #hops = 0;

  constructor(options: SeedOptions) {
    const { seed, servers = 3, traceLinesMax = 400, plant = {}, swarm = {}, restores = false } = options;
    this.#seed = seed;
    this.#endOnceFound = options.endOnceFound;
    this.#restores = restores;
    this.#servers = servers;
    this.#swarm = { ...drawSwarm(new World({ seed }).randomFor("swarm")), ...swarm };
    const { departedGraceMs, probeIntervalMs } = this.#swarm;
    this.cluster = new SimulatedCluster({
      ...{ seed, traceLinesMax, plant, timing: { departedGraceMs, probeIntervalMs } },
      onHop: (hop) => {
        this.#hops++;
        this.cluster.trace.add(
          hop.from,
          `proxies to ${hop.to}: ${hop.method} ${hop.target} ${hop.auditId.slice(0, 8)}`,
        );
        this.#check((checker) => checker.onHop?.(hop));
      },
      // Informers are expensive, and only a restore endangers them.
      ...(restores && { onRun: (run) => this.#informers.add(this.cluster, run) }),
      onFailure: (thrown) => this.fail(thrown),
    });
    const { history, runs, timing } = this.cluster;
    const restoredAtMs = (): number => history.restoredAtMs;
    const record = new EncodingRecord({ history, runs, fenceAfterMs: timing.fenceAfterMs });
    const objects = new ObjectRecord(history);
    const versions = new VersionRecord(history);
    const kept = { departedGraceMs, leaseKeptMs: leaseKeptMs(timing) };
    const isServed = createServedRecently({ clock: this.cluster.world.clock, record, runs, ...kept });
    history.onCommit((commit) => {
      const agreement = agreementText(commit);
      if (agreement !== undefined) this.cluster.trace.add(commit.sending?.serverId ?? "store", agreement);
      this.#check((checker) => checker.onCommit?.(commit));
    });
    history.onRestore((restore) => {
      this.#objects.restore((path) => storedNamed(this.cluster, path.slice(path.lastIndexOf("/") + 1)));
      this.#check((checker) => checker.onRestore?.(restore));
    });
    this.#checkers = [
      atMostOneHop(),
      noCircle(),
      readyAgain(),
      servedIsListed(),
      listedIsReachable(),
      documentsEqual(),
      listsMatchStore(),
      readsAreCurrent(versions),
      restoresEndWatches(runs),
      ...(restores ? [informersRecover({ runs, informers: this.#informers, versions })] : []),
      noFalse404({ runs, ...kept, isRecorded: (run) => record.isRecorded(run) }),
      sentOnce((path) => this.#objects.get(path) === "leaving"),
      noLostWrite(this.#objects, restoredAtMs),
      writtenAsPublished(record),
      entriesMatchCommonVersion(record),
      migratedIsMigrated(record),
      neverBack(record),
      fencedUntilPublished(record),
      encodingsSettle(record),
      collectedIsGarbage({ record: objects, isServed }),
      namespacesEmpty(objects),
      garbageGoes(objects, record),
      namespacesGo(objects, record),
    ];
  }

  async play(forMs: number): Promise<void> {
    const { cluster } = this;
    const { world, trace } = cluster;
    const random = world.randomFor("nemesis");
    const onFailure = (thrown: unknown): void => this.fail(thrown);
    trace.add("world", `seed ${this.#seed}: ${JSON.stringify(this.#swarm)}`);
    for (let index = 0; index < this.#servers; index++) await cluster.place().start(drawRun(random, this.#swarm));
    await world.advance(1_000);
    const workload = this.#createWorkload(onFailure);
    const nemesis = new Nemesis({ cluster, random, swarm: this.#swarm, restores: this.#restores, onFailure });
    const families = new FamilyWorkload({
      ...{ cluster, workload, random: world.randomFor("families"), paceMs: FAMILY_PACE_MS, onFailure },
    });
    cluster.history.onRestore(() => families.restore());
    workload.start();
    families.start();
    nemesis.start();
    await this.#advance(forMs - SETTLE_MS);
    if (this.#hasFoundAll()) return;
    nemesis.stop();
    families.stop();
    await cluster.settle();
    workload.stop();
    for (const checker of this.#checkers) this.#found(checker, (await checker.whenSettled?.(cluster)) ?? []);
  }

  /** Advances the time, in steps if the run may end early. */
  async #advance(byMs: number): Promise<void> {
    const { world } = this.cluster;
    if (this.#endOnceFound === undefined) return world.advance(byMs);
    for (let leftMs = byMs; leftMs > 0 && !this.#hasFoundAll(); leftMs -= STEP_MS)
      await world.advance(Math.min(leftMs, STEP_MS));
  }

  #hasFoundAll(): boolean {
    return this.#endOnceFound?.every((name) => this.#violations.some(({ checker }) => checker === name)) === true;
  }

  /** Records an unexpected failure of the simulation itself or of a server. */
  fail(thrown: unknown): void {
    const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    // Reported first, because this failure may be the cause of all violations.
    this.#violations.unshift({ checker: "simulation", promise: "No unexpected failure occurs.", what });
  }

  report(): SeedReport {
    const { trace } = this.cluster;
    return {
      ...{ seed: this.#seed, swarm: this.#swarm, violations: this.#violations, digest: trace.digest() },
      ...{ lines: trace.lines, statuses: this.#statuses, hops: this.#hops },
    };
  }

  #createWorkload(onFailure: (thrown: unknown) => void): Workload {
    const { cluster } = this;
    return new Workload({
      ...{ cluster, objects: this.#objects, paceMs: PACE_MS, onFailure },
      random: cluster.world.randomFor("workload"),
      onRequest: (request) => {
        const { method, target, serverId, auditId } = request;
        cluster.trace.add("client", `asks ${serverId}: ${method} ${target} ${auditId.slice(0, 8)}`);
        this.#check((checker) => checker.onRequest?.(request));
      },
      onResponse: (response) => {
        const { request, status, message } = response;
        this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
        cluster.trace.add(request.serverId, `responds to ${request.auditId.slice(0, 8)}: ${status} ${message}`);
        this.#check((checker) => checker.onResponse?.(response));
      },
      onWatch: (event) => this.#check((checker) => checker.onWatch?.(event)),
    });
  }

  #check(ask: (checker: GuaranteeChecker) => readonly string[] | undefined): void {
    for (const checker of this.#checkers) this.#found(checker, ask(checker) ?? []);
  }

  #found({ name, promise }: GuaranteeChecker, problems: readonly string[]): void {
    for (const what of problems) {
      if (this.#violations.filter(({ checker }) => checker === name).length >= VIOLATIONS_MAX) return;
      this.#violations.push({ checker: name, promise, what });
      this.cluster.trace.add("BROKEN", `${name}: ${what}`);
    }
  }
}

/**
 * A trace line about a change of a StorageVersion; undefined for its deletion, and for a resource of which every server
 * decodes only one version.
 */
function agreementText({ key, after }: Commit): string | undefined {
  if (!key.startsWith(STORAGE_VERSIONS) || after === undefined) return undefined;
  const { storageVersions: entries = [], commonEncodingVersion: common } = decodeStatus(after);
  if (!entries.some(({ decodableVersions }) => decodableVersions.length > 1)) return undefined;
  const encodings = entries.map(({ apiServerID, encodingVersion }) => ` ${apiServerID}=${encodingVersion}`);
  return `stores ${key}:${encodings.join("")}, common ${common ?? "none"}`;
}

/**
 * The minimum time for which a lease stays valid after a fault begins: the fault may begin just before the next
 * renewal.
 */
function leaseKeptMs({ leaseDurationSeconds, leaseRenewMs }: PeerTiming): number {
  return leaseDurationSeconds * 1000 - leaseRenewMs;
}
