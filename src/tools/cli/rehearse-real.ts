/**
 * Plays an upgrade plan in real time, for `evenkeel rehearse --real`: one process per server, one embedded store, and
 * clients over TLS.
 */
import { must } from "../../base/assert.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { constants, hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, type Clock } from "../../base/clock.ts";
import { randomInteger, randomItem, type Random } from "../../base/random.ts";
import { createNodeTransport, type NodeTransport } from "../../client/node-transport.ts";
import { DEFAULT_PEER_TIMING } from "../../cluster/peers/timing.ts";
import { firstRelease, type PlanStep } from "../rehearsal/plan.ts";
import {
  newServerRun,
  type ServerConnection,
  type ServerRun,
  type RehearsalStage,
  type StageOptions,
} from "../rehearsal/stage.ts";
import { createNodeEnv } from "../../server/env-node.ts";
import { StoreHistory } from "../simulator/history.ts";
import { World } from "../simulator/world.ts";
import { shareKv } from "../../storage/share-kv.ts";
import { inProcesses } from "./up/child-member.ts";
import { LocalCluster, type Fault, type ServerInfo } from "./up/cluster.ts";
import { clusterCredentials, type ClusterCredentials } from "./up/cluster-files.ts";
import { HOST } from "./up/hosted-server.ts";
import { openLoadBalancer } from "./up/load-balancer.ts";
import { createReadinessProbe } from "./up/readiness.ts";
import { parseServerSpec } from "./up/server-spec.ts";

const PROXY_OFF = "UnknownVersionInteroperabilityProxy=false";
/** Time within which peers detect that a server was resumed. */
const NOTICED_MS = 30_000;
const FAULT_EVERY_MS = { light: 30_000, heavy: 12_000 } as const;
const FAULT_MS_MAX = { light: 3_000, heavy: 8_000 } as const;

/** Functions that undo what was started; they run in reverse order. */
type Undo = (() => unknown)[];

export async function openRealStage(options: StageOptions): Promise<RehearsalStage> {
  const undo: Undo = [];
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-rehearsal-"));
  undo.push(() => rmSync(directory, { recursive: true, force: true }));
  try {
    return await open(options, directory, undo);
  } catch (thrown) {
    await undoAll(undo);
    throw thrown;
  }
}

async function undoAll(undo: Undo): Promise<void> {
  for (const step of undo.splice(0).toReversed()) await step();
}

async function open(options: StageOptions, directory: string, undo: Undo): Promise<RealStage> {
  const { subject, onFailure } = options;
  let isClosing = false;
  const env = createNodeEnv({ logLevel: "error", write: () => {} });
  const storage = { kind: "embedded", directory } as const;
  const kv = await env.openKv(storage);
  undo.push(() => kv.close());
  const shared = shareKv(kv);
  const history = new StoreHistory({
    clock: env.clock,
    kv: shared.open(),
    // Errors after the store has been closed at the end are not failures.
    onFailure: (thrown) => isClosing || onFailure(thrown),
  });
  const credentials = clusterCredentials(directory);
  const readiness = createReadinessProbe({ ca: credentials.ca.certPem, token: credentials.token });
  undo.push(() => readiness.close());
  const isReady = readiness.isReady.bind(readiness);
  const balancer = await openLoadBalancer({ host: HOST, port: 0, isReady, onChange: () => {} });
  undo.push(() => balancer.close());
  const cluster = new LocalCluster(
    {
      directory,
      credentials,
      storage,
      balancer,
      host: HOST,
      address: undefined,
      hostname: hostname(),
      firstPort: undefined,
      common: { featureGates: subject === "evenkeel-without-proxy" ? [PROXY_OFF] : [], controllers: ["*"] },
      peersOf: (backend) => readiness.peersOf(backend),
      guardRollback: () => Promise.resolve(),
      start: inProcesses({ logLevel: "error", shared, writeLog: () => {} }),
      print: () => {},
      onChange: () => {},
    },
    undefined,
  );
  undo.push(
    () => cluster.stop(),
    () => (isClosing = true),
    endOnSignals(undo),
  );
  return new RealStage({ ...options, clock: env.clock, history, credentials, cluster, undo });
}

/**
 * Removes all files when a signal ends this process; the servers end with it anyway. Returns a function that removes
 * the signal handlers.
 */
function endOnSignals(undo: Undo): () => void {
  const end = (signal: NodeJS.Signals): void => {
    const exitCode = 128 + constants.signals[signal];
    undoAll(undo).then(
      () => process.exit(exitCode),
      () => process.exit(exitCode),
    );
  };
  process.once("SIGINT", end).once("SIGTERM", end);
  return () => process.off("SIGINT", end).off("SIGTERM", end);
}

interface RealStageOptions extends StageOptions {
  readonly clock: Clock;
  readonly history: StoreHistory;
  readonly credentials: ClusterCredentials;
  readonly cluster: LocalCluster;
  readonly undo: Undo;
}

type MutableServerRun = ReturnType<typeof newServerRun>;

class RealStage implements RehearsalStage {
  readonly clock: Clock;
  readonly history: StoreHistory;
  readonly timing: RehearsalStage["timing"];
  readonly #options: RealStageOptions;
  readonly #serverRuns: MutableServerRun[] = [];
  readonly #world: World;
  /** The clients' transports, by server address. */
  readonly #transports = new Map<string, NodeTransport>();
  readonly #end = new AbortController();
  readonly #moving = new Set<string>();
  #hasFaults = false;

  constructor(options: RealStageOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.history = options.history;
    this.#world = new World({ seed: options.seed });
    const { departedGraceMs, leaseDurationSeconds, leaseRenewMs } = DEFAULT_PEER_TIMING;
    this.timing = { departedGraceMs, leaseKeptMs: leaseDurationSeconds * 1000 - leaseRenewMs };
  }

  get serverRuns(): readonly ServerRun[] {
    return this.#serverRuns;
  }

  randomFor(name: string): Random {
    return this.#world.randomFor(name);
  }

  async begin(): Promise<void> {
    const { plan, cluster } = this.#options;
    const release = firstRelease(plan);
    await cluster.startAll(
      plan.serverIds.map(() => parseServerSpec(release)),
      undefined,
    );
    for (const { id } of cluster.servers()) this.#isBack(id, release);
  }

  connect(random: Random, home: string | undefined): ServerConnection | undefined {
    const servers = this.#options.cluster.servers();
    const preferred = servers.find(({ id, state }) => id === home && (state === "running" || state === "paused"));
    const ready = servers.filter(({ isReady }) => isReady);
    const server = preferred ?? ready[randomInteger(random, ready.length)];
    return server && { serverId: server.id, send: (request) => this.#transport(server).send(request) };
  }

  async move({ serverId, to }: PlanStep): Promise<void> {
    this.#moving.add(serverId);
    this.#isGone(serverId);
    try {
      await this.#options.cluster.upgrade(serverId, to, { force: true });
    } finally {
      this.#moving.delete(serverId);
    }
    this.#isBack(serverId, to);
  }

  startFaults(onFault: (what: string) => void): void {
    const { faults: level } = this.#options;
    if (level === "none") return;
    this.#hasFaults = true;
    const random = this.randomFor("faults");
    const kinds: readonly ("pause" | "partition" | "kill")[] =
      level === "light" ? ["pause", "partition"] : ["pause", "partition", "kill"];
    const next = async (): Promise<void> => {
      while (this.#hasFaults && (await this.pass(2 * random.float() * FAULT_EVERY_MS[level]))) {
        const ids = this.#options.plan.serverIds.filter((id) => !this.#moving.has(id));
        const id = ids[randomInteger(random, ids.length)];
        if (!this.#hasFaults || id === undefined) continue;
        const kind = randomItem(random, kinds);
        const ms = Math.round(500 + random.float() * FAULT_MS_MAX[level]);
        onFault(`${id}: ${kind} for ${(ms / 1000).toFixed(1)} s`);
        await this.#inflict(kind, id, ms);
      }
    };
    next().catch(this.#options.onFailure);
  }

  endFaults(): void {
    this.#hasFaults = false;
  }

  /** Returns false if the stage was closed before the time had passed. */
  async pass(ms: number): Promise<boolean> {
    return sleep(this.clock, ms, this.#end.signal);
  }

  until<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  async close(): Promise<void> {
    this.#end.abort();
    for (const transport of this.#transports.values()) transport[Symbol.dispose]();
    await undoAll(this.#options.undo);
  }

  async #inflict(kind: "pause" | "partition" | "kill", id: string, ms: number): Promise<void> {
    const release = this.#lastRun(id).release as PlanStep["to"];
    const isDone = await this.#fault(kind, id);
    if (!isDone) return;
    if (kind === "pause") this.#trouble(id, { sinceMs: this.clock.monotonic(), untilMs: Infinity });
    if (kind === "kill") this.#isGone(id);
    await this.pass(ms);
    // A step of the plan is restarting the server as another release, which also ends a pause or a kill.
    if (this.#moving.has(id)) return;
    if (kind === "partition") await this.#fault("heal", id);
    if (kind === "pause") {
      await this.#fault("resume", id);
      this.#trouble(id, { sinceMs: undefined, untilMs: this.clock.monotonic() + NOTICED_MS });
    }
    if (kind === "kill") {
      await this.#options.cluster.upgrade(id, release, { force: true });
      this.#isBack(id, release);
    }
  }

  /** Returns false if the server had been stopped before the fault. */
  async #fault(fault: Fault, id: string): Promise<boolean> {
    try {
      await this.#options.cluster.fault(fault, id);
      return true;
    } catch {
      // A step of the plan has already stopped the server.
      return false;
    }
  }

  #trouble(id: string, { sinceMs, untilMs }: { sinceMs: number | undefined; untilMs: number }): void {
    const run = this.#lastRun(id);
    run.troubledSinceMs = sinceMs;
    run.troubledUntilMs = untilMs;
  }

  #lastRun(id: string): MutableServerRun {
    return must(
      this.#serverRuns.findLast(({ serverId }) => serverId === id),
      "every server has been started",
    );
  }

  #isGone(id: string): void {
    const run = this.#serverRuns.findLast(({ serverId }) => serverId === id);
    if (run !== undefined) run.endedAtMs ??= this.clock.monotonic();
  }

  #isBack(id: string, release: PlanStep["to"]): void {
    this.#serverRuns.push({ ...newServerRun(id, release), readyAtMs: this.clock.monotonic() });
  }

  #transport({ url }: ServerInfo): NodeTransport {
    const known = this.#transports.get(url);
    if (known !== undefined) return known;
    const { ca, token } = this.#options.credentials;
    const made = createNodeTransport({ url, ca: ca.certPem, token });
    this.#transports.set(url, made);
    return made;
  }
}
