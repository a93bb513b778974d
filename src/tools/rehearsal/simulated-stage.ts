/**
 * Plays an upgrade plan in virtual time: the real server code runs in a simulated cluster, and the same seed repeats
 * the same run.
 */
import { must } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import { randomInteger, type Random } from "../../base/random.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { SimulatedCluster } from "../simulator/cluster.ts";
import type { SimulatedServer } from "../simulator/server.ts";
import { Faults } from "./faults.ts";
import { firstRelease, type PlanStep } from "./plan.ts";
import { runOptionsOf } from "./kube-apiserver.ts";
import { KubeControllers } from "./kube-controllers.ts";
import { connectToSimulated } from "./simulated-connection.ts";
import type { ServerConnection, RehearsalStage, StageOptions } from "./stage.ts";
import { isKubernetes } from "./subject.ts";

/** Time between the end of a server process and its restart as the new release. */
const EXCHANGE_MS = 3_000;
/** Time after which a server that has not stopped is killed, as service managers do. */
const STOP_MS_MAX = 15_000;
const READY_SECONDS_MAX = 120;
/** Longer than any client waits. */
const WAIT_MS_MAX = 600_000;

export class SimulatedStage implements RehearsalStage {
  readonly clock: Clock;
  readonly history: SimulatedCluster["history"];
  readonly serverRuns: SimulatedCluster["runs"];
  readonly timing: RehearsalStage["timing"];
  readonly #cluster: SimulatedCluster;
  readonly #options: StageOptions;
  readonly #releases: Map<string, ReleaseName>;
  /** Servers that are moving from one release to the next. */
  readonly #moving = new Set<SimulatedServer>();
  readonly #end = new AbortController();
  #faults: Faults | undefined;

  constructor(options: StageOptions) {
    const { seed, plan, subject, onFailure } = options;
    const cluster = new SimulatedCluster({ seed, traceLinesMax: 1, onFailure });
    const { departedGraceMs, leaseDurationSeconds, leaseRenewMs } = cluster.timing;
    this.#cluster = cluster;
    this.#options = options;
    this.#releases = new Map(plan.serverIds.map((id) => [id, firstRelease(plan)]));
    this.clock = cluster.world.clock;
    this.history = cluster.history;
    this.serverRuns = cluster.runs;
    this.timing = {
      // kube-apiserver makes no promise about resources that no server serves any more.
      departedGraceMs: isKubernetes(subject) ? 0 : departedGraceMs,
      leaseKeptMs: leaseDurationSeconds * 1000 - leaseRenewMs,
    };
  }

  randomFor(name: string): Random {
    return this.#cluster.world.randomFor(name);
  }

  async begin(): Promise<void> {
    const cluster = this.#cluster;
    for (const id of this.#options.plan.serverIds) this.#start(cluster.place(id));
    const isReady = (): boolean => cluster.servers.every((server) => server.isReady);
    for (let seconds = 0; seconds < READY_SECONDS_MAX && !isReady(); seconds++) await cluster.advance({ seconds: 1 });
    if (!isReady()) throw new Error("the servers did not become ready before the upgrade");
    if (isKubernetes(this.#options.subject)) this.#startControllers();
  }

  connect(random: Random, home: string | undefined): ServerConnection | undefined {
    const { servers, live } = this.#cluster;
    const preferred = servers.find(({ id, run }) => id === home && run !== undefined);
    const ready = live.filter(({ isReady }) => isReady);
    const server = preferred ?? ready[randomInteger(random, ready.length)];
    return server && connectToSimulated(server);
  }

  async move({ serverId, to }: PlanStep): Promise<void> {
    const server = must(
      this.#cluster.servers.find(({ id }) => id === serverId),
      "steps are about servers of the plan",
    );
    this.#moving.add(server);
    this.#releases.set(serverId, to);
    const kill = this.clock.after(STOP_MS_MAX, () => server.crash());
    const dead = Promise.withResolvers<void>();
    if (server.run === undefined) dead.resolve();
    else server.run.host.onDeath(dead.resolve);
    // Not awaited: if the server is killed, this promise never settles.
    void server.stop().catch(this.#options.onFailure);
    await dead.promise;
    kill();
    this.clock.after(EXCHANGE_MS, () => {
      this.#moving.delete(server);
      if (server.run === undefined) this.#start(server);
    });
  }

  startFaults(onFault: (what: string) => void): void {
    this.#faults = new Faults({
      cluster: this.#cluster,
      level: this.#options.faults,
      random: this.randomFor("faults"),
      onFault,
      mayFail: (server) => !this.#moving.has(server),
      restart: (server) => this.#start(server),
    });
    this.#faults.start();
  }

  endFaults(): void {
    this.#faults?.stop();
  }

  pass(ms: number): Promise<void> {
    return this.#cluster.world.advance(ms);
  }

  until<T>(work: Promise<T>): Promise<T> {
    return this.#cluster.world.run(work, WAIT_MS_MAX);
  }

  close(): Promise<void> {
    this.#end.abort();
    this.#cluster.shutDown();
    return Promise.resolve();
  }

  #start(server: SimulatedServer): void {
    const { subject, runtimeConfig, onFailure } = this.#options;
    const release = must(this.#releases.get(server.id), "every server of the plan has a release");
    server.start(runOptionsOf(subject, release, runtimeConfig)).catch(onFailure);
  }

  #startControllers(): void {
    const { resources, onFailure } = this.#options;
    const servers = (): ReturnType<ConstructorParameters<typeof KubeControllers>[0]["servers"]> =>
      this.#cluster.live
        .filter(({ isReady }) => isReady)
        .flatMap((server) =>
          server.run === undefined ? [] : [{ run: server.run, transport: () => server.transport() }],
        );
    const random = this.randomFor("kube-controller-manager");
    const controllers = new KubeControllers({ clock: this.clock, random, servers, resources, onFailure });
    void controllers.run(this.#end.signal);
  }
}
