/**
 * Runs clients against a cluster during a rolling upgrade, and checks their responses and every commit with most
 * checkers of the simulator.
 */
import { createClient } from "../../src/client/client.ts";
import type { Informer } from "../../src/client/informer.ts";
import { connectToSimulated } from "../../src/tools/rehearsal/simulated-connection.ts";
import type { SimulatedResponse, GuaranteeChecker } from "../../src/tools/simulator/checker.ts";
import { atMostOneHop } from "../simulator/checkers/at-most-one-hop.ts";
import { documentsEqual } from "../simulator/checkers/documents-equal.ts";
import { encodingsSettle } from "../simulator/checkers/encodings-settle.ts";
import { listedIsReachable } from "../simulator/checkers/listed-is-reachable.ts";
import { neverBack } from "../simulator/checkers/never-back.ts";
import { noCircle } from "../simulator/checkers/no-circle.ts";
import { noFalse404 } from "../../src/tools/simulator/checkers/no-false-404.ts";
import { noLostWrite } from "../simulator/checkers/no-lost-write.ts";
import { entriesMatchCommonVersion } from "../simulator/checkers/entries-match-common-version.ts";
import { readyAgain } from "../simulator/checkers/ready-again.ts";
import { sentOnce } from "../simulator/checkers/sent-once.ts";
import { servedIsListed } from "../simulator/checkers/served-is-listed.ts";
import { writtenAsPublished } from "../simulator/checkers/written-as-published.ts";
import { simulate, type Plant, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import { EncodingRecord } from "../simulator/encoding-record.ts";
import { KnownObjects } from "../simulator/objects.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { pathOf, TARGETS, type Target } from "../simulator/targets.ts";
import { Workload } from "../simulator/workload.ts";
import { StoreWitness } from "./store-witness.ts";

const PACE_MS = 150;
const KEPT_PACE_MS = 500;
/** An informer that has failed often waits up to a minute before it retries. */
const INFORMERS_SECONDS = 60;

export class Load {
  readonly cluster: SimulatedCluster;
  readonly witness: StoreWitness;
  readonly wrong: string[] = [];
  /** The number of responses, keyed by status. */
  readonly statuses = new Map<number, number>();
  /** The number of comparisons of an object with an informer. */
  compared = 0;
  readonly #objects = new KnownObjects();
  /** Objects whose creation was acknowledged and that no client deletes. */
  readonly #kept: { readonly target: Target; readonly name: string }[] = [];
  readonly #onFailure = (thrown: unknown): void => void this.wrong.push(String(thrown));
  #isOver = false;
  readonly #checkers: readonly GuaranteeChecker[];
  readonly #informers: Followed[] = [];
  readonly #end = new AbortController();
  readonly #workload: Workload;

  constructor(plant: Plant = {}) {
    const onFailure = this.#onFailure;
    const cluster = simulate({
      ...{ seed: 7, plant, onFailure },
      onHop: (hop) => this.#check((checker) => checker.onHop?.(hop)),
    });
    this.cluster = cluster;
    this.witness = new StoreWitness(cluster.history);
    this.#checkers = checkersOf(cluster, this.#objects);
    cluster.history.onCommit((commit) => this.#check((checker) => checker.onCommit?.(commit)));
    this.#workload = new Workload({
      ...{ cluster, objects: this.#objects, paceMs: PACE_MS, onFailure, random: cluster.world.randomFor("load") },
      onRequest: (request) => this.#check((checker) => checker.onRequest?.(request)),
      onResponse: (response) => this.#observe(response),
    });
  }

  /** Starts the clients, and at every server an informer for each resource that clients create. */
  start(): void {
    this.#workload.start();
    const made = TARGETS.filter(({ create }) => create !== undefined);
    for (const server of this.cluster.servers) for (const target of made) this.#follow(server, target);
    this.#keepMaking(made, 0);
  }

  /** Stops the load, waits until the cluster is at rest, and runs all checks. */
  async finish(): Promise<void> {
    this.#workload.stop();
    this.#isOver = true;
    await this.cluster.settle();
    for (const { name, promise, whenSettled } of this.#checkers)
      for (const what of (await whenSettled?.(this.cluster)) ?? []) this.wrong.push(`${name}: ${what} (${promise})`);
    await this.cluster.advance({ seconds: INFORMERS_SECONDS });
    for (const followed of this.#informers) this.#compare(followed);
    this.#end.abort();
    this.cluster.shutDown();
    this.wrong.push(...this.witness.broken);
  }

  /** Creates objects that are not deleted, each through the next ready server. */
  #keepMaking(targets: readonly Target[], number: number): void {
    this.cluster.world.clock.after(KEPT_PACE_MS, () => {
      if (this.#isOver) return;
      const ready = this.cluster.live.filter(({ isReady }) => isReady);
      const target = targets[number % targets.length]!;
      this.#keep(ready[number % ready.length]!, target, `kept-${number}`).catch(this.#onFailure);
      this.#keepMaking(targets, number + 1);
    });
  }

  async #keep(server: SimulatedServer, target: Target, name: string): Promise<void> {
    const { status } = await server.request({ method: "POST", target: pathOf(target), body: target.create!(name) });
    if (status === 201) this.#kept.push({ target, name });
  }

  #observe(response: SimulatedResponse): void {
    this.statuses.set(response.status, (this.statuses.get(response.status) ?? 0) + 1);
    this.#check((checker) => checker.onResponse?.(response));
  }

  #check(ask: (checker: GuaranteeChecker) => readonly string[] | undefined): void {
    for (const checker of this.#checkers)
      for (const what of ask(checker) ?? []) this.wrong.push(`${checker.name}: ${what}`);
  }

  #follow(server: SimulatedServer, target: Target): void {
    const { clock } = this.cluster.world;
    const random = this.cluster.world.randomFor(`informer ${server.id} ${pathOf(target)}`);
    const { group, version, resource, isNamespaced: namespaced } = target;
    const informer = createClient({ transport: connectToSimulated(server), clock, random }).informer({
      group,
      version,
      resource,
      namespaced,
    });
    informer.addHandler({
      onDelete: ({ metadata: { name = "" } = {} }) => {
        if (this.#objects.get(pathOf(target, name)) !== "there") return;
        this.wrong.push(`an informer at ${server.id} received a deletion of ${pathOf(target, name)}`);
      },
    });
    this.#informers.push({ server, target, informer });
    informer.run(this.#end.signal).catch(this.#onFailure);
  }

  /**
   * Checks that an informer has all acknowledged objects of its resource, whichever API version created them, if its
   * own version is served.
   */
  #compare({ server, target, informer }: Followed): void {
    if (!this.cluster.live.some(({ run }) => run?.served.has(target))) return;
    for (const { target: made, name } of this.#kept) {
      if (made.group !== target.group || made.resource !== target.resource) continue;
      this.compared++;
      if (informer.get({ name, ...(target.isNamespaced && { namespace: "default" }) }) === undefined)
        this.wrong.push(`an informer of ${pathOf(target)} at ${server.id} lacks ${name}`);
    }
  }
}

interface Followed {
  readonly server: SimulatedServer;
  readonly target: Target;
  readonly informer: Informer;
}

function checkersOf(cluster: SimulatedCluster, objects: KnownObjects): GuaranteeChecker[] {
  const { history, runs, timing } = cluster;
  const { departedGraceMs, leaseDurationSeconds, leaseRenewMs, fenceAfterMs } = timing;
  const record = new EncodingRecord({ history, runs, fenceAfterMs });
  return [
    noFalse404({ runs, departedGraceMs, leaseKeptMs: leaseDurationSeconds * 1000 - leaseRenewMs }),
    ...[atMostOneHop(), noCircle(), sentOnce((path) => objects.get(path) === "leaving"), noLostWrite(objects)],
    ...[readyAgain(), servedIsListed(), listedIsReachable(), documentsEqual()],
    ...[writtenAsPublished(record), entriesMatchCommonVersion(record), neverBack(record), encodingsSettle(record)],
  ];
}
