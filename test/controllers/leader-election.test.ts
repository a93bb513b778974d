/** Tests of leader election with random faults: pauses, crashes, slow and lossy networks, and wrong clocks. */
import { expect, test } from "vitest";
import { randomInteger, type Random } from "../../src/base/random.ts";
import { Elector, LEASE_NAME } from "../testing/cluster/controller-runtime/elector.ts";
import type { Passage } from "../testing/cluster/controller-runtime/host.ts";
import { startServer, type TestServer } from "../api/start.ts";

const LEASE = `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${LEASE_NAME}`;
const PLACES = 3;
const STEPS = 100;

/** Runs a fixed number of processes that elect a leader. A crashed or stopped process is replaced by a new one. */
class Cluster {
  readonly overlaps: string[] = [];
  termsCount = 0;
  readonly #server: TestServer;
  readonly #random: Random;
  readonly #rates: readonly number[];
  readonly #places: Elector[];
  #startedCount = 0;

  constructor(server: TestServer, random: Random, rates: readonly number[]) {
    this.#server = server;
    this.#random = random;
    this.#rates = rates;
    this.#places = rates.map((_rate, place) => this.#start(place));
  }

  get leaders(): string[] {
    return this.#places.filter(({ isLeading }) => isLeading).map(({ identity }) => identity);
  }

  async step(): Promise<void> {
    const { world } = this.#server;
    const place = this.#victim();
    const elector = this.#places[place]!;
    switch (randomInteger(this.#random, 8)) {
      case 0:
        elector.host.crash();
        this.#places[place] = this.#start(place);
        break;
      case 1:
        await elector.stop();
        this.#places[place] = this.#start(place);
        break;
      case 2:
      case 3:
        elector.host.pause();
        await world.advance(randomInteger(this.#random, 25_000));
        elector.host.resume((due) => this.#shuffled(due));
        break;
      case 4:
        await this.#server.mergePatch(LEASE, { metadata: { labels: { step: `${this.#startedCount}` } } });
        break;
      default:
        elector.host.passage = this.#network();
    }
    await world.advance(randomInteger(this.#random, 12_000));
  }

  heal(): void {
    for (const { host } of this.#places) {
      host.passage = () => ({ thereMs: 1, backMs: 1, isLost: "nowhere" });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.heal();
    for (const elector of this.#places) await elector.stop();
  }

  /** Chooses the process for the next fault, usually the leader, because its faults do the most harm. */
  #victim(): number {
    const leader = this.#places.findIndex(({ isLeading }) => isLeading);
    return leader >= 0 && this.#random.float() < 0.6 ? leader : randomInteger(this.#random, this.#places.length);
  }

  #start(place: number): Elector {
    const { world, server } = this.#server;
    const elector: Elector = new Elector(world, server.transport, {
      identity: `place-${place}-${this.#startedCount++}`,
      rate: this.#rates[place]!,
      passage: this.#network(),
      offsetMs: (this.#random.float() - 0.5) * 7_200_000,
      // Checking the start of each term is sufficient: two processes lead at the same time only if one starts while
      // another leads.
      onStart: () => {
        this.termsCount++;
        if (this.leaders.some((identity) => identity !== elector.identity))
          this.overlaps.push(`${elector.identity} started to lead while ${this.leaders.join(" and ")} led`);
      },
    });
    return elector;
  }

  #network(): () => Passage {
    const random = this.#random;
    const slownessMs = [0, 0, 0, 50, 2_000, 7_000][randomInteger(random, 6)]!;
    const loss = [0, 0, 0, 0.3, 1][randomInteger(random, 5)]!;
    return () => ({
      thereMs: random.float() * slownessMs,
      backMs: random.float() * slownessMs,
      isLost: random.float() >= loss ? "nowhere" : random.float() < 0.5 ? "there" : "back",
    });
  }

  #shuffled<T>(items: readonly T[]): readonly T[] {
    return items
      .map((item) => ({ item, at: this.#random.float() }))
      .sort((left, right) => left.at - right.at)
      .map(({ item }) => item);
  }
}

async function runSeed(seed: number, rates?: readonly number[]): Promise<{ overlaps: string[]; termsCount: number }> {
  await using server = await startServer({ seed });
  const random = server.world.randomFor("schedule");
  const drawn = Array.from({ length: PLACES }, () => 0.85 + 0.3 * random.float());
  await using cluster = new Cluster(server, random, rates ?? drawn);
  for (let step = 0; step < STEPS; step++) await cluster.step();
  cluster.heal();
  // Long enough for a lease to expire and for the slowest process to notice it.
  await server.world.advance(60_000);
  expect(cluster.leaders).toHaveLength(1);
  return cluster;
}

test.each(Array.from({ length: 12 }, (_, index) => index + 1))(
  "at most one process leads at any time, and one leads after all faults are over (seed %i)",
  async (seed) => {
    const { overlaps, termsCount } = await runSeed(seed);
    expect(overlaps).toEqual([]);
    expect(termsCount).toBeGreaterThan(3);
  },
);

test("a clock that runs at half speed causes two leaders at the same time, and the test detects them", async () => {
  const overlaps: string[] = [];
  for (let seed = 1; seed <= 4; seed++) overlaps.push(...(await runSeed(seed, [0.5, 1, 1])).overlaps);
  expect(overlaps).not.toEqual([]);
});
