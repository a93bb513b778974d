/** Tests of incidents during upgrades, named after issues of kubernetes/kubernetes. */
import { describe, expect, test } from "vitest";
import { jsonResponse, pageNotFound } from "../../src/serving/http/respond.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../src/meta/json.ts";
import { missingFromDiscovery } from "../../src/tools/rehearsal/judge.ts";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import type { RunOptions, SimulatedServer } from "../../src/tools/simulator/server.ts";
import { fill, retryUntilDone, keysFound, keysKept, leave, type DeletedNamespace, type Scene } from "./scenes.ts";
import { outageMs } from "./outages.ts";
import { Story, withGate, type Gate } from "./story.ts";
import { CLAIM, CONFIG_MAP, keyOf, pathOf, referenceTo, type Thing } from "./things.ts";

const AGGREGATED = { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" } as const;

/** Restarts the server with another release. Meanwhile, the requests of clients advance the time. */
async function upgrade(
  server: SimulatedServer,
  { to, meanwhile }: { readonly to: RunOptions; readonly meanwhile: () => Promise<void> },
): Promise<void> {
  void server.stop();
  while (server.run !== undefined) await meanwhile();
  await meanwhile();
  await server.start(to);
  while (!server.isReady) await meanwhile();
}

function itemsOf(of: JsonObject, member: string): JsonObject[] {
  const value = of[member];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

describe("96486: a client reads discovery in a loop while one of three servers is upgraded, and", () => {
  /** Reads discovery as client-go does behind a load balancer: each request reaches another server. */
  class DiscoveryLoop {
    readonly incomplete: string[] = [];
    readonly groupVersions = new Set<string>();
    reads = 0;
    readonly #story: Story;

    constructor(story: Story) {
      this.#story = story;
    }

    async once(): Promise<void> {
      const { body: groups } = await this.#read("/apis");
      for (const group of itemsOf(groups, "groups"))
        for (const version of itemsOf(group, "versions")) await this.#readVersion(stringAt(version, "groupVersion"));
      await this.#readAggregated();
      await this.#story.pass(1);
    }

    async #readVersion(groupVersion: string): Promise<void> {
      this.groupVersions.add(groupVersion);
      const { status, body } = await this.#read(`/apis/${groupVersion}`);
      if (status !== 200 || itemsOf(body, "resources").length === 0)
        this.incomplete.push(`/apis/${groupVersion}: ${status}`);
    }

    async #readAggregated(): Promise<void> {
      const { cluster, nowMs } = this.#story;
      const well = cluster.runs.filter(({ readyAtMs = Infinity }) => readyAtMs < nowMs - PEERS_KNOWN_MS);
      const { status, body } = await this.#read("/apis", AGGREGATED);
      const living = well.filter(({ endedAtMs }) => endedAtMs === undefined);
      const wanted = living.flatMap(({ groups }) => groups.filter(({ name }) => name !== ""));
      const missing = missingFromDiscovery(body, wanted);
      if (status !== 200 || missing.length > 0) this.incomplete.push(`/apis: ${status} without ${missing.join(", ")}`);
    }

    async #read(target: string, headers = {}): Promise<{ readonly status: number; readonly body: JsonObject }> {
      const story = this.#story;
      const server = story.running(this.reads++ % story.servers.length);
      return story.ask(server, { method: "GET", target, headers });
    }
  }

  /** The time by which every server knows the resources of a new one. */
  const PEERS_KNOWN_MS = 5_000;

  async function loop(gate: Gate): Promise<DiscoveryLoop> {
    const old = withGate(gate, { release: "1.33" });
    const story = await Story.begin([old, old, old]);
    const client = new DiscoveryLoop(story);
    for (let pass = 0; pass < 5; pass++) await client.once();
    const to = withGate(gate, { release: "1.34" });
    await upgrade(story.server(2), { to, meanwhile: () => client.once() });
    for (let pass = 0; pass < 20; pass++) await client.once();
    return client;
  }

  test("every group version that one server lists is served by the next, and no resource is ever missing from discovery", async () => {
    const { incomplete, groupVersions, reads } = await loop("on");
    expect(incomplete).toEqual([]);
    expect(groupVersions).toContain("resource.k8s.io/v1");
    expect(reads).toBeGreaterThan(500);
  });

  test("without the mixed version proxy it observes the errors of the issue", async () => {
    const { incomplete } = await loop("off");
    expect(incomplete).toContain("/apis/resource.k8s.io/v1: 404");
  });
});

describe("98548: namespaces are deleted during a rolling upgrade, and", () => {
  async function roll(gate: Gate): Promise<{ story: Story; deleted: DeletedNamespace[]; complaints: Set<string> }> {
    const run = (release: string): RunOptions => withGate(gate, { release });
    const story = await Story.begin([run("1.33"), run("1.33"), run("1.33")]);
    const deleted: DeletedNamespace[] = [];
    const complaints = new Set<string>();
    /**
     * Creates a namespace with objects of the currently served resources through one server, and deletes it through
     * another.
     */
    const meanwhile = async (): Promise<void> => {
      const number = deleted.length;
      const name = `passing-${number}`;
      await story.makeNamespace(number, name);
      await story.make(number, { thing: CONFIG_MAP, namespace: name, name: "one" });
      const serving = story.cluster.live.findIndex(
        ({ isReady, run: at }) => isReady && at?.served.has({ ...CLAIM, subresource: "" }),
      );
      if (serving >= 0) await story.make(number, { thing: CLAIM, namespace: name, name: "one" });
      await story.pass(1);
      await story.deleteNamespace(number + 1, name);
      deleted.push({ name, atMs: story.nowMs });
      await story.pass(1);
      for (const other of deleted) complaints.add(story.complaints(other.name));
    };
    // The leader is the last to be upgraded, as in the issue.
    for (const index of [2, 1, 0]) {
      await upgrade(story.server(index), { to: run("1.34"), meanwhile });
      for (let pass = 0; pass < 4; pass++) await meanwhile();
    }
    await story.pass(25);
    return { story, deleted, complaints };
  }

  const notInTime = ({ witness, cluster }: Story, deleted: readonly DeletedNamespace[]): string[] =>
    deleted
      .filter(({ name, atMs }) => {
        const goneAtMs = witness.goneAtMs.get(name) ?? Infinity;
        return goneAtMs - atMs - (goneAtMs === Infinity ? 0 : outageMs(cluster.runs, atMs, goneAtMs)) > 15_000;
      })
      .map(({ name }) => name);

  test("every namespace is removed in time, none before it is empty, and no condition reports missing resources", async () => {
    const { story, deleted, complaints } = await roll("on");
    expect(deleted.length).toBeGreaterThan(15);
    expect(notInTime(story, deleted)).toEqual([]);
    expect(story.witness.broken).toEqual([]);
    expect(story.falseNotFound).toEqual([]);
    expect([...complaints].join()).not.toContain("could not find the requested resource");
  });

  test("without the mixed version proxy some namespaces stay until the leader is upgraded", async () => {
    const { story, deleted } = await roll("off");
    expect(notInTime(story, deleted).length).toBeGreaterThan(0);
    expect(story.falseNotFound.length).toBeGreaterThan(0);
  });
});

/** A fault of the only server that serves claims: for a while, requests for claims get a wrong response or none. */
interface Trouble {
  readonly name: string;
  readonly plant: (trouble: Switch) => Plant;
  begin?(story: Story): void;
}

interface Switch {
  isOn: boolean;
  /** The number of requests that the fault affected. */
  count: number;
}

function answering(response: () => ReturnType<typeof pageNotFound>): Trouble["plant"] {
  return (trouble) => ({
    wrapHandle: (handle) => (request) => {
      if (!trouble.isOn || !request.path.includes(`/${CLAIM.resource}`)) return handle(request);
      trouble.count++;
      return Promise.resolve(response());
    },
  });
}

const STATUS = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 } as const;
const TROUBLES: readonly Trouble[] = [
  { name: "404 page not found", plant: answering(pageNotFound) },
  {
    name: "404 without the name of an object",
    plant: answering(() =>
      jsonResponse(404, { ...STATUS, message: "the server could not find the requested resource" }),
    ),
  },
  {
    name: "no response, and the leader has never read its discovery document",
    plant: (trouble) => ({ tamper: (request) => (trouble.count++, request) }),
    begin: ({ cluster, servers: [serving, leader] }) => {
      cluster.partition(serving!, leader!);
      cluster.partition(leader!, serving!);
    },
  },
];

/**
 * Stops the server of claims, starts a leader that neither serves nor knows claims, and then restarts the server of
 * claims with the fault.
 */
async function troubled(trouble: Trouble, prepare: (story: Story) => Promise<void>): Promise<Troubled> {
  const shown: Switch = { isOn: false, count: 0 };
  const story = await Story.begin([{ release: "1.34" }], { plant: trouble.plant(shown) });
  await prepare(story);
  await story.pass(5);
  await story.stop(0);
  await story.cluster.addServer({ release: "1.33" });
  await story.pass(5);
  const { spec } = story.cluster.history.get("leases/kube-system/evenkeel-controllers") as { spec: JsonObject };
  expect(stringAt(spec, "holderIdentity")).toContain("server-2");
  shown.isOn = true;
  trouble.begin?.(story);
  shown.count = 0;
  await story.restart(0, { release: "1.34" });
  const end = async (): Promise<void> => {
    expect(shown.count).toBeGreaterThan(0);
    shown.isOn = false;
    story.cluster.heal();
    await story.pass(30);
  };
  return { story, end };
}

interface Troubled {
  readonly story: Story;
  readonly end: () => Promise<void>;
}

describe("93790: the garbage collector deletes no dependents because of a transient fault:", () => {
  test.each(TROUBLES)("$name", async (trouble) => {
    const scene: Scene = { namespace: "kept", thing: CLAIM };
    const { story, end } = await troubled(trouble, (begun) => fill(begun, 0, scene));
    const before = keysFound(story, scene);
    await story.pass(60);
    expect(keysFound(story, scene)).toEqual(before);
    await end();
    expect(keysFound(story, scene)).toEqual(before);
    await retryUntilDone(story, await leave(story, 1, scene));
    await story.pass(20);
    expect(keysFound(story, scene)).toEqual(keysKept(scene));
    expect(story.witness.broken).toEqual([]);
  });
});

describe("104342: the garbage collector orphans no dependents because of a transient fault:", () => {
  const namespace = "kept";
  const POLICIES = ["Background", "Foreground", "Orphan"] as const;
  const keys = (of: Thing, name: string): string => keyOf(of, namespace, name.toLowerCase());

  async function prepare(story: Story): Promise<void> {
    await story.makeNamespace(0, namespace);
    for (const policy of POLICIES) {
      const name = policy.toLowerCase();
      const owner = referenceTo(CONFIG_MAP, await story.make(0, { thing: CONFIG_MAP, namespace, name }));
      await story.make(0, { thing: CLAIM, namespace, name: `of-${name}`, owners: [owner] });
      await story.make(0, { thing: CONFIG_MAP, namespace, name: `of-${name}`, owners: [owner] });
    }
  }

  test.each(TROUBLES)("$name", async (trouble) => {
    const { story, end } = await troubled(trouble, prepare);
    const { history } = story.cluster;
    for (const policy of POLICIES) {
      const target = pathOf(CONFIG_MAP, namespace, policy.toLowerCase());
      const body = { propagationPolicy: policy };
      expect((await story.ask(story.server(1), { method: "DELETE", target, body })).status).toBe(200);
    }
    await story.pass(40);
    // An owner in foreground or orphan deletion waits while dependents cannot be listed.
    expect(history.get(keys(CONFIG_MAP, "Foreground"))).toBeDefined();
    expect(history.get(keys(CONFIG_MAP, "Orphan"))).toBeDefined();
    await end();
    const left = story.witness
      .keysIn(namespace)
      .filter((key) => /^(configmaps|resourceclaims)/.test(key) && !key.endsWith(".crt"));
    expect(left.toSorted()).toEqual([keys(CONFIG_MAP, "of-Orphan"), keys(CLAIM, "of-Orphan")]);
    for (const key of left) expect(objectAt(history.get(key)!, "metadata")["ownerReferences"]).toBeUndefined();
    expect(story.witness.broken).toEqual([]);
  });
});
