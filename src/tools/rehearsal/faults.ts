/**
 * Injects faults during a simulated upgrade; the fault level (light or heavy) determines their kinds, how often they
 * occur and how long they last. A server that crashes restarts as the same release.
 */
import { randomItem, type Random } from "../../base/random.ts";
import type { SimulatedCluster } from "../simulator/cluster.ts";
import type { SimulatedServer } from "../simulator/server.ts";
import { STORE_IS_FINE, type StoreFault } from "../simulator/store-link.ts";
import type { FaultLevel } from "./report.ts";

interface FaultsOptions {
  readonly cluster: SimulatedCluster;
  readonly random: Random;
  readonly level: FaultLevel;
  /** False while the server is moving to another release. */
  readonly mayFail: (server: SimulatedServer) => boolean;
  readonly restart: (server: SimulatedServer) => void;
  readonly onFault: (what: string) => void;
}

type StoreFaultName = "slow-store" | "store-outage" | "lost-answers";
type FaultName = "pause" | "partition" | "crash" | StoreFaultName;

interface Level {
  readonly everyMs: number;
  readonly delayMsMax: number;
  readonly responseLost: number;
  readonly lastsMsMax: number;
  readonly faults: readonly FaultName[];
}

const LEVELS: Readonly<Record<Exclude<FaultLevel, "none">, Level>> = {
  light: {
    everyMs: 60_000,
    delayMsMax: 50,
    responseLost: 0.001,
    lastsMsMax: 5_000,
    faults: ["pause", "partition", "slow-store"],
  },
  heavy: {
    everyMs: 20_000,
    delayMsMax: 200,
    responseLost: 0.01,
    lastsMsMax: 20_000,
    faults: ["pause", "partition", "slow-store", "crash", "store-outage", "lost-answers"],
  },
};
const STORE_FAULTS: Readonly<Record<StoreFaultName, StoreFault>> = {
  "slow-store": { ...STORE_IS_FINE, slowMs: 1_000 },
  "store-outage": { ...STORE_IS_FINE, isDown: true },
  "lost-answers": { ...STORE_IS_FINE, responsesLost: 0.2 },
};

export class Faults {
  readonly #options: FaultsOptions;
  #isOver = false;

  constructor(options: FaultsOptions) {
    this.#options = options;
  }

  start(): void {
    const { level, cluster } = this.#options;
    if (level === "none") return;
    const { delayMsMax, responseLost } = LEVELS[level];
    cluster.network.links.delay = { minMs: 1, maxMs: delayMsMax };
    cluster.network.rates = { requestLost: responseLost, responseLost, cut: responseLost };
    this.#next(LEVELS[level]);
  }

  /** Stops injecting faults, clears all current ones and restarts crashed servers. */
  stop(): void {
    this.#isOver = true;
    const { cluster, restart, mayFail } = this.#options;
    cluster.heal();
    for (const server of cluster.servers) if (server.run === undefined && mayFail(server)) restart(server);
  }

  #next(level: Level): void {
    const { random } = this.#options;
    this.#after(2 * random.float() * level.everyMs, () => {
      this.#do(randomItem(random, level.faults), level);
      this.#next(level);
    });
  }

  #do(fault: FaultName, { lastsMsMax }: Level): void {
    const { cluster, random, mayFail, onFault } = this.#options;
    const candidates = cluster.servers.filter((server) => server.run !== undefined && mayFail(server));
    if (candidates.length === 0) return;
    const server = randomItem(random, candidates);
    const ms = Math.round(500 + random.float() * lastsMsMax);
    onFault(`${server.id}: ${fault} for ${(ms / 1000).toFixed(1)} s`);
    if (fault === "partition") return this.#partitionServer(server, ms);
    if (fault === "crash") {
      server.crash();
      return this.#after(ms, () => this.#restartServer(server));
    }
    if (fault === "pause") {
      server.pause();
      return this.#after(ms, () => server.resume());
    }
    server.setStoreFault(STORE_FAULTS[fault]);
    this.#after(ms, () => server.setStoreFault(STORE_IS_FINE));
  }

  /** Partitions the server from its peers; it still reaches the store, and clients still reach it. */
  #partitionServer(server: SimulatedServer, ms: number): void {
    const { cluster } = this.#options;
    const { links } = cluster.network;
    for (const other of cluster.servers) {
      if (other === server) continue;
      cluster.partition(server, other);
      cluster.partition(other, server);
    }
    this.#after(ms, () => {
      for (const { id } of cluster.servers) {
        links.unblock(server.id, id);
        links.unblock(id, server.id);
      }
    });
  }

  #restartServer(server: SimulatedServer): void {
    if (server.run === undefined && this.#options.mayFail(server)) this.#options.restart(server);
  }

  #after(delayMs: number, action: () => void): void {
    this.#options.cluster.world.clock.after(delayMs, () => {
      if (!this.#isOver) action();
    });
  }
}
