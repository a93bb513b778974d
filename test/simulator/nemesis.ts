/**
 * Injects random faults: crashes, pauses, suspends, failing tasks, restarts with other releases, network partitions,
 * store outages, forged identity leases.
 */
import { randomInteger, randomItem, type Random } from "../../src/base/random.ts";
import { RELEASES } from "../../src/objects/catalog/release.ts";
import { objectAt, stringAt } from "../../src/meta/json.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { FaultRates } from "../../src/tools/simulator/network.ts";
import type { CrashPoint, RunOptions, SimulatedServer } from "../../src/tools/simulator/server.ts";
import { STORE_IS_FINE, type StoreFault } from "../../src/tools/simulator/store-link.ts";
import { forgeLease } from "./forge-lease.ts";
import { RUNTIME_CONFIGS } from "./targets.ts";

/** The severity of the faults in a simulation. It is derived from the seed and printed if the seed fails. */
export interface Swarm {
  /** Average time between two faults. */
  readonly faultEveryMs: number;
  readonly rates: FaultRates;
  readonly delayMsMax: number;
  readonly departedGraceMs: number;
  readonly probeIntervalMs: number;
  readonly clockOffsetMsMax: number;
  readonly clockDriftMax: number;
  /** The kinds of faults that are injected. */
  readonly faults: readonly FaultName[];
}

const FAULTS = [
  "crash",
  "crash-at-commit",
  "leader-crash",
  "stop",
  "pause",
  "suspend",
  "task-failure",
  "one-way-partition",
  "partition",
  "store-outage",
  "store-trouble",
  "lost-history",
  "forged-leases",
] as const;
export type FaultName = (typeof FAULTS)[number];

/** A server may crash when it changes one of these keys, before or after the commit. */
const CRASH_POINTS: readonly Pick<CrashPoint, "what" | "matches">[] = [
  { what: "a storage version", matches: (key) => key.startsWith("storageversions/") },
  { what: "the storage state", matches: (key) => key === "configmaps/kube-system/evenkeel-storage-state" },
  { what: "a lease", matches: (key) => key.startsWith("leases/") },
  { what: "anything", matches: () => true },
];
/**
 * Maximum number of matching changes that a starting server commits before it crashes. A server publishes about this
 * many StorageVersions at its start.
 */
const SKIPPED_MAX = 70;
const LEADER_LEASES: readonly string[] = ["evenkeel-controllers", "evenkeel-storage-version-migrations"];

/** The newest releases, more of them than Kubernetes supports in one cluster. */
const MIXED = RELEASES.slice(-7);

export function drawSwarm(random: Random): Swarm {
  const upTo = (max: number): number => random.float() * max;
  const rare = (): number => (randomInteger(random, 2) === 0 ? 0 : upTo(0.03));
  const faults = FAULTS.filter(() => randomInteger(random, 3) > 0);
  return {
    faultEveryMs: 4_000 + upTo(26_000),
    rates: { requestLost: rare(), responseLost: rare(), cut: rare() },
    delayMsMax: randomInteger(random, 3) === 0 ? 5 + upTo(400) : 5,
    departedGraceMs: randomInteger(random, 2) === 0 ? 45_000 : 600_000,
    probeIntervalMs: randomItem(random, [500, 1_000, 2_000]),
    clockOffsetMsMax: randomInteger(random, 2) === 0 ? 0 : upTo(3_600_000),
    clockDriftMax: randomInteger(random, 2) === 0 ? 0 : upTo(0.01),
    faults: faults.length === 0 ? ["crash"] : faults,
  };
}

export function drawRun(random: Random, swarm: Swarm): RunOptions {
  const signed = (): number => 2 * random.float() - 1;
  return {
    release: randomItem(random, MIXED),
    runtimeConfig: randomItem(random, RUNTIME_CONFIGS),
    clockOffsetMs: Math.round(signed() * swarm.clockOffsetMsMax),
    clockDrift: signed() * swarm.clockDriftMax,
  };
}

export class Nemesis {
  readonly #cluster: SimulatedCluster;
  readonly #random: Random;
  readonly #swarm: Swarm;
  readonly #restores: boolean;
  readonly #onFailure: (thrown: unknown) => void;
  #isStopped = false;

  constructor(options: {
    readonly cluster: SimulatedCluster;
    readonly random: Random;
    readonly swarm: Swarm;
    /** Whether the store is also restored from backups. */
    readonly restores: boolean;
    readonly onFailure: (thrown: unknown) => void;
  }) {
    this.#restores = options.restores;
    this.#cluster = options.cluster;
    this.#random = options.random;
    this.#swarm = options.swarm;
    this.#onFailure = options.onFailure;
  }

  start(): void {
    const { network } = this.#cluster;
    network.rates = this.#swarm.rates;
    network.links.delay = { minMs: 1, maxMs: this.#swarm.delayMsMax };
    this.#next();
    if (this.#restores) this.#backUp();
  }

  /**
   * Backs up the store, and restores this backup some time later, again and again. After some restores, servers need
   * time to reach the store again.
   */
  #backUp(): void {
    const backup = this.#cluster.world.backUpStore();
    this.#after(2_000 + this.#random.float() * 40_000, () => {
      if (randomInteger(this.#random, 2) === 0)
        this.#trouble(randomItem(this.#random, this.#cluster.servers), { ...STORE_IS_FINE, isDown: true });
      this.#cluster.restoreStore(backup);
      this.#after(this.#random.float() * 20_000, () => this.#backUp());
    });
  }

  /** Stops injecting faults. Each server that is down restarts with a probability of 3/4, otherwise it stays down. */
  stop(): void {
    this.#isStopped = true;
    const { servers } = this.#cluster;
    for (const server of servers) if (server.run?.endedAtMs !== undefined) server.crash();
    const down = servers.filter(({ run }) => run === undefined);
    const back = down.filter(() => randomInteger(this.#random, 4) > 0);
    // At least one server must be running.
    if (back.length === 0 && down.length === servers.length) back.push(servers[0]!);
    for (const server of back) this.#begin(server);
  }

  #next(): void {
    this.#after(2 * this.#random.float() * this.#swarm.faultEveryMs, () => {
      this.#do(randomItem(this.#random, this.#swarm.faults));
      this.#next();
    });
  }

  #do(fault: FaultName): void {
    const server = randomItem(this.#random, this.#cluster.servers);
    switch (fault) {
      case "crash":
        server.crash();
        return this.#comeBack(server);
      case "crash-at-commit":
        return this.#crashAtCommit(server);
      case "leader-crash": {
        const leader = this.#leader() ?? server;
        leader.crash();
        return this.#comeBack(leader);
      }
      case "stop":
        if (server.run?.host.state === "running") server.stop().catch(this.#onFailure);
        return this.#comeBack(server);
      case "pause":
        server.pause();
        return this.#after(500 + this.#random.float() * 25_000, () => server.resume());
      case "suspend":
        server.suspend();
        return this.#after(500 + this.#random.float() * 25_000, () => server.resume());
      case "task-failure":
        return this.#failTask(server);
      case "one-way-partition":
        return this.#part(server, randomItem(this.#random, this.#cluster.servers));
      case "partition":
        for (const other of this.#cluster.servers) {
          this.#part(server, other);
          this.#part(other, server);
        }
        return;
      case "store-outage":
        return this.#trouble(server, { ...STORE_IS_FINE, isDown: true });
      case "store-trouble":
        return this.#trouble(server, {
          isDown: false,
          slowMs: randomInteger(this.#random, 2) * this.#random.float() * 4_000,
          isLagging: randomInteger(this.#random, 2) === 0,
          responsesLost: randomInteger(this.#random, 2) * this.#random.float() * 0.3,
        });
      case "lost-history":
        this.#cluster.trace.add(server.id, "the store has compacted its history");
        return server.run?.store.loseHistory();
      case "forged-leases":
        return this.#forgeLeases(server);
    }
  }

  /** Crashes the server at a commit: either while it is running, or during its next start. */
  #crashAtCommit(server: SimulatedServer): void {
    const random = this.#random;
    const point = randomItem(random, CRASH_POINTS);
    const isAtStart = randomInteger(random, 2) === 0;
    server.crashAt({
      ...point,
      skip: randomInteger(random, isAtStart ? SKIPPED_MAX : 3),
      side: randomInteger(random, 2) === 0 ? "before" : "after",
      onCrash: () => this.#comeBack(server),
    });
    if (!isAtStart) return;
    server.crash();
    this.#comeBack(server);
  }

  /** Makes a random background task fail, some of them several times. A task that may not fail ends the server. */
  #failTask(server: SimulatedServer): void {
    const names = server.run?.tasks.names ?? [];
    if (names.length === 0) return;
    const name = randomItem(this.#random, names);
    const times = 1 + randomInteger(this.#random, 3);
    for (let time = 0; time < times; time++)
      this.#after(time * 3_000 * this.#random.float(), () => {
        server.failTask(name);
        if (server.run === undefined) this.#comeBack(server);
      });
  }

  /** Forges identity leases for some time: one that is renewed, a new one each time, or the holder of a server's lease. */
  #forgeLeases(server: SimulatedServer): void {
    const names = [() => "ghost", (index: number) => `ghost-${index}`, () => server.id];
    const nameAt = randomItem(this.#random, names);
    const times = 1 + randomInteger(this.#random, 20);
    this.#cluster.trace.add("forger", `writes ${nameAt(0)} ${times} times`);
    for (let index = 0; index < times; index++)
      this.#after(index * 2_000, () => {
        forgeLease(this.#cluster.world, nameAt(index), `forged-${index}`).catch(this.#onFailure);
      });
  }

  #leader(): SimulatedServer | undefined {
    const lease = this.#cluster.history.get(`leases/kube-system/${randomItem(this.#random, LEADER_LEASES)}`) ?? {};
    const holder = stringAt(objectAt(lease, "spec"), "holderIdentity");
    return this.#cluster.servers.find(({ id }) => holder.startsWith(`${id}_`));
  }

  /** Restarts the server later, unless it is running by then. */
  #comeBack(server: SimulatedServer): void {
    this.#after(500 + this.#random.float() * 60_000, () => {
      if (server.run !== undefined && server.run.endedAtMs === undefined) return;
      if (server.run !== undefined) server.crash();
      this.#begin(server);
    });
  }

  #begin(server: SimulatedServer): void {
    server.start(drawRun(this.#random, this.#swarm)).catch(this.#onFailure);
  }

  #part(from: SimulatedServer, to: SimulatedServer): void {
    if (from === to) return;
    this.#cluster.partition(from, to);
    this.#after(1_000 + this.#random.float() * 30_000, () => this.#cluster.network.links.unblock(from.id, to.id));
  }

  /** Sets the store fault of one server, or of all servers, for some time. */
  #trouble(server: SimulatedServer, fault: StoreFault): void {
    const servers = randomInteger(this.#random, 3) === 0 ? this.#cluster.servers : [server];
    const ms = 1_000 + this.#random.float() * 24_000;
    for (const one of servers) {
      one.setStoreFault(fault);
      this.#after(ms, () => one.setStoreFault(STORE_IS_FINE));
    }
  }

  #after(delayMs: number, action: () => void): void {
    this.#cluster.world.clock.after(delayMs, () => {
      if (!this.#isStopped) action();
    });
  }
}
