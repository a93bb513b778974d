/**
 * Two servers decide about CRDs that request the same names in the same moment. The history of the store shows whether
 * two CRDs ever had one name at the same time.
 */
import { expect, test } from "vitest";
import { sleep } from "../../src/base/clock.ts";
import { randomItem } from "../../src/base/random.ts";
import { objectAt, stringAt, stringsAt, type JsonObject } from "../../src/meta/json.ts";
import type { Kv } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { simulate, type Plant, type SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import { STORE_IS_FINE } from "../../src/tools/simulator/store-link.ts";
import { definitionObject, storedVersion } from "../testing/extensions/crd/crd-object.ts";
import { ignoresGuards } from "./planted-storage-bugs.ts";

const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const PREFIX = "apiextensions.k8s.io/customresourcedefinitions/";
/** Part of a stored CRD that has at least its plural name. */
const ACCEPTED = `"acceptedNames":{"plural":"things`;
const ROUNDS = 12;

/** The names that each CRD has, from every commit, and the names that two CRDs had at the same time. */
class AcceptedNames {
  readonly #byCrd = new Map<string, ReadonlySet<string>>();
  readonly shared: string[] = [];
  #onPut = (): void => {};

  constructor({ history }: SimulatedCluster) {
    history.onCommit(({ key, after }) => {
      if (!key.startsWith(PREFIX)) return;
      const name = key.slice(PREFIX.length);
      if (after === undefined) this.#byCrd.delete(name);
      else this.#put(name, after);
    });
  }

  /** Resolves when both CRDs of the group are stored. */
  created(group: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onPut = () => {
      if ([...this.#byCrd.keys()].filter((crd) => crd.endsWith(`.${group}`)).length === 2) resolve();
    };
    this.#onPut();
    return promise;
  }

  /** The CRDs of the group that have the name. */
  holders(group: string, name: string): string[] {
    return [...this.#byCrd].flatMap(([crd, names]) => (crd.endsWith(`.${group}`) && names.has(name) ? [crd] : []));
  }

  #put(crd: string, object: JsonObject): void {
    const accepted = objectAt(objectAt(object, "status"), "acceptedNames");
    const group = stringAt(objectAt(object, "spec"), "group");
    const names = [stringAt(accepted, "singular"), ...stringsAt(accepted, "shortNames")].filter((name) => name !== "");
    this.#byCrd.set(crd, new Set(names));
    this.#onPut();
    for (const name of names) if (this.holders(group, name).length > 1) this.shared.push(`${name} ${group}`);
  }
}

function groupOf(round: number): string {
  return `g${round}.example.com`;
}

function newCrd(group: string, plural: string): JsonObject {
  const names = { plural, singular: "thing", kind: "Thing", listKind: "ThingList", shortNames: ["th"] };
  const versions = [storedVersion("v1", { schema: { openAPIV3Schema: { type: "object" } } })];
  const { spec } = definitionObject({ group, names, versions });
  return { metadata: { name: `${plural}.${group}` }, spec };
}

interface Outcome {
  readonly shared: readonly string[];
  /** The number of groups in which exactly one of the two CRDs has the names. */
  readonly decided: number;
}

/** In each round, two servers receive CRDs of the same group with other plurals and the same other names. */
async function compete(seed: number): Promise<Outcome> {
  const cluster = simulate({ seed });
  const { world } = cluster;
  const random = world.randomFor("crd-names");
  const accepted = new AcceptedNames(cluster);
  const servers = [await cluster.addServer({ release: "1.35" }), await cluster.addServer({ release: "1.36" })];
  for (let round = 0; round < ROUNDS; round++) {
    const slowMs = randomItem(random, [5, 50, 300]);
    for (const server of servers) server.setStoreFault({ ...STORE_IS_FINE, slowMs });
    const group = groupOf(round);
    const creates = servers.map((server, index) =>
      server.request({ method: "POST", target: CRDS, body: newCrd(group, `things${index}`) }),
    );
    // Both servers have received the CRDs. One of them receives the names that the other accepts only later.
    await world.run(accepted.created(group));
    const late = randomItem(random, servers);
    late.setStoreFault({ ...STORE_IS_FINE, slowMs, isLagging: true });
    const statuses = (await world.run(Promise.all(creates))).map(({ status }) => status);
    expect(statuses).toEqual([201, 201]);
    await world.advance(randomItem(random, [200, 1_000, 4_000]));
    late.setStoreFault({ ...STORE_IS_FINE, slowMs });
    await world.advance(1_000);
  }
  cluster.heal();
  await world.advance(5_000);
  cluster.shutDown();
  return outcomeOf(accepted);
}

function outcomeOf(accepted: AcceptedNames): Outcome {
  const groups = Array.from({ length: ROUNDS }, (_, round) => groupOf(round));
  const decided = groups.filter((group) => accepted.holders(group, "th").length === 1).length;
  return { shared: accepted.shared, decided };
}

test.each([1, 2, 3, 4])(
  "two servers that decide in the same moment never accept one name for two CRDs, and accept it for one (seed %i)",
  async (seed) => {
    expect(await compete(seed)).toEqual({ shared: [], decided: ROUNDS });
  },
);

/**
 * Two servers whose writes of accepted names reach the store late, so that the other server often takes the turn
 * between a decision and its write.
 */
async function competeWithLateWrites(seed: number, plant: Plant = {}): Promise<Outcome> {
  const cluster: SimulatedCluster = simulate({ seed, plant: { wrapKv: (kv) => late(plant.wrapKv?.(kv, "") ?? kv) } });
  const { world } = cluster;
  const random = world.randomFor("crd-names");
  const late = (kv: Kv): Kv =>
    overlaidKv(kv, {
      async commit(change) {
        const accepts = change.key.includes(PREFIX) && change.kind === "put" && change.value.includes(ACCEPTED);
        if (accepts) await sleep(world.clock, random.float() * 800);
        return kv.commit(change);
      },
    });
  const accepted = new AcceptedNames(cluster);
  const servers = [await cluster.addServer({ release: "1.35" }), await cluster.addServer({ release: "1.36" })];
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, server] of servers.entries()) {
      const body = newCrd(groupOf(round), `things${index}`);
      const { status } = await world.run(server.request({ method: "POST", target: CRDS, body }));
      expect(status).toBe(201);
      await world.advance(random.float() * 20);
    }
    await world.advance(10_000);
  }
  cluster.shutDown();
  return outcomeOf(accepted);
}

test.each([1, 2])(
  "a server does not accept a name by a decision that it made before another server took the turn (seed %i)",
  async (seed) => {
    expect(await competeWithLateWrites(seed)).toEqual({ shared: [], decided: ROUNDS });
  },
);

test("if the store ignores guards, a server accepts a name that another server has accepted since its decision", async () => {
  const { shared } = await competeWithLateWrites(1, ignoresGuards());
  expect(shared.length).toBeGreaterThan(0);
});

test.each(["before", "after"] as const)(
  "if the server whose turn it is crashes %s it takes the turn, another server establishes the CRD",
  async (side) => {
    const cluster = simulate({ seed: 3 });
    const { world, history } = cluster;
    const [crashing, other] = [
      await cluster.addServer({ release: "1.35" }),
      await cluster.addServer({ release: "1.36" }),
    ];
    let crashes = 0;
    const matches = (key: string): boolean => key === "evenkeel/crd-names";
    crashing.crashAt({ what: "the turn", matches, skip: 0, side, onCrash: () => crashes++ });
    void crashing.request({ method: "POST", target: CRDS, body: newCrd(groupOf(0), "things0") });
    await world.advance(1_000);
    const second = await world.run(
      other.request({ method: "POST", target: CRDS, body: newCrd(groupOf(1), "things0") }),
    );
    await world.advance(1_000);
    const isEstablished = (round: number): boolean =>
      JSON.stringify(history.get(`${PREFIX}things0.${groupOf(round)}`)).includes(
        '"type":"Established","status":"True"',
      );
    cluster.shutDown();
    expect({ crashes, status: second.status }).toEqual({ crashes: 1, status: 201 });
    expect([isEstablished(0), isEstablished(1)]).toEqual([true, true]);
  },
);
