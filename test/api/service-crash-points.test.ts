/**
 * A server crashes after each single write of an allocation or release, or does not learn whether the write was executed.
 * Another server must neither allocate a number twice, nor lose one for longer than the repair needs.
 */
import { describe, expect, test } from "vitest";
import { World } from "../../src/tools/simulator/world.ts";
import { StorageError, type Kv } from "../../src/storage/kv.ts";
import { createObjectStore } from "../../src/storage/object-store.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";
import { WatchCache } from "../../src/storage/watch-cache/cache.ts";
import { createAllocators } from "../../src/cluster/allocation/allocators.ts";
import { parseIpRange } from "../../src/cluster/allocation/ip-range.ts";
import { numberRecordsOf } from "../../src/cluster/allocation/number-records.ts";
import { parsePortRange } from "../../src/cluster/allocation/port-range.ts";
import { repairAllocations } from "../../src/cluster/allocation/repair.ts";
import { protobufTables } from "../../src/objects/catalog/protobuf-tables.ts";
import { createReleaseGates } from "../../src/objects/release-gates.ts";
import { storedProtobufDecoder } from "../../src/serving/registry/stored-protobuf.ts";
import { service, SERVICES } from "./service-records.ts";
import { startServer, type ApiTestResponse, type Json, type TestServer } from "./start.ts";

/** Six IPv4 addresses, seven IPv6 addresses and four node ports: every free number is allocated soon. */
const RANGES = { serviceClusterIpRange: "10.0.0.0/29,fd00:10::/125", serviceNodePortRange: "30000-30003" };
const FREE = { IPv4: 6, IPv6: 7, ports: 4 };
/** As the third repair releases a leaked bit. */
const REPAIRS = 3;
const REPAIR_INTERVAL_MS = 180_000;
const NUMBERS = /^\/registry\/(ranges|ipaddresses|services\/specs)\//;

type Failure = "crash after" | "undecided and executed" | "undecided and not executed";
const FAILURES: readonly Failure[] = ["crash after", "undecided and executed", "undecided and not executed"];

const BOTH = { type: "NodePort", ipFamilyPolicy: "RequireDualStack" };
const operations: Record<string, { readonly before?: Json; readonly run: (server: TestServer) => Promise<unknown> }> = {
  "creates a Service": { run: (server) => server.begin("POST", SERVICES, service("web", BOTH)) },
  "deletes a Service": { before: BOTH, run: (server) => server.begin("DELETE", `${SERVICES}/web`) },
  "gives a Service both families and node ports": { before: {}, run: (server) => patch(server, BOTH) },
  "releases the second family and the node ports of a Service": {
    before: BOTH,
    run: (server) => patch(server, { type: "ClusterIP", ipFamilyPolicy: "SingleStack" }),
  },
  "makes a Service an ExternalName": {
    before: BOTH,
    run: (server) => patch(server, { type: "ExternalName", externalName: "example.com" }),
  },
};

function patch(server: TestServer, spec: Json): Promise<unknown> {
  const headers = { "content-type": "application/merge-patch+json" };
  return server.begin("PATCH", `${SERVICES}/web`, JSON.stringify({ spec }), { headers });
}

/** A store that fails at one write of numbers. After a crash, it never responds again. */
class FailingStore {
  /** The number of writes until the failure; undefined while nothing fails. */
  remaining: number | undefined;
  readonly #failure: Failure;
  #isDead = false;

  constructor(failure: Failure) {
    this.#failure = failure;
  }

  wrap(kv: Kv): Kv {
    const never = <T>(work: () => Promise<T>): Promise<T> => (this.#isDead ? new Promise<T>(() => {}) : work());
    return overlaidKv(kv, {
      range: (request) => never(() => kv.range(request)),
      currentRevision: () => never(() => kv.currentRevision()),
      commit: (change) => never(() => this.#commit(kv, change)),
    });
  }

  async #commit(kv: Kv, change: Parameters<Kv["commit"]>[0]): ReturnType<Kv["commit"]> {
    if (this.remaining === undefined || !NUMBERS.test(change.key) || this.remaining-- > 0) return kv.commit(change);
    this.remaining = undefined;
    if (this.#failure !== "undecided and not executed") await kv.commit(change);
    this.#isDead = this.#failure === "crash after";
    if (this.#isDead) return new Promise(() => {});
    throw new StorageError("undecided", "the connection is gone");
  }
}

/** All numbers of all stored Services. */
async function stored(server: TestServer): Promise<string[]> {
  const { items } = (await server.get(SERVICES)).body;
  return items.flatMap(({ spec }: Json) => [
    ...(spec.clusterIPs ?? []),
    ...(spec.ports ?? []).flatMap(({ nodePort }: Json) => nodePort ?? []),
  ]);
}

/** Creates Services until each range is full; returns how many of each kind were created. */
async function fill(server: TestServer, prefix: string): Promise<typeof FREE> {
  const kinds = { IPv4: {}, IPv6: { ipFamilies: ["IPv6"] }, ports: { type: "NodePort", ipFamilies: ["IPv6"] } };
  const count = { IPv4: 0, IPv6: 0, ports: 0 };
  for (const [kind, spec] of [
    ["ports", kinds.ports],
    ["IPv4", kinds.IPv4],
    ["IPv6", kinds.IPv6],
  ] as const) {
    let last: ApiTestResponse;
    do {
      last = await server.create(SERVICES, service(`${prefix}-${kind.toLowerCase()}-${count[kind]}`, spec));
      if (last.status === 201) count[kind]++;
    } while (last.status === 201);
    expect(last.body.message).toContain("range is full");
  }
  return { ...count, IPv6: count.IPv6 + count.ports };
}

/** Runs the repairs of nine minutes. Whole servers would spend most of the time of this test on their leases. */
async function repair(world: World, releases: readonly string[]): Promise<void> {
  const kv = world.openKv();
  const decodeForeign = storedProtobufDecoder(protobufTables);
  const cache = new WatchCache({ kv, clock: world.clock, root: "/registry/", reading: { decodeForeign } });
  const stop = new AbortController();
  const running = cache.run(stop.signal);
  await world.advance(10);
  const store = createObjectStore(kv, cache);
  const allocators = createAllocators({
    store,
    clock: world.clock,
    random: world.randomFor("repair"),
    storageRoot: "/registry/",
    clusterIpRanges: RANGES.serviceClusterIpRange.split(",").map(parseIpRange),
    nodePortRange: parsePortRange(RANGES.serviceNodePortRange),
    usesServiceCidrs: false,
    ipAddresses: undefined,
    liveRecords: () => numberRecordsOf(releases.map((release) => createReleaseGates(release))),
  });
  const state = { leaks: new Map(), suspects: new Map() };
  for (let round = 0; round < REPAIRS; round++) {
    const clock = { ...world.clock, monotonic: () => round * REPAIR_INTERVAL_MS };
    await world.run(repairAllocations({ store, clock, allocators }, state));
  }
  stop.abort();
  await world.run(running);
  await kv.close();
}

/** Returns false if the operation has fewer writes, so that nothing failed. */
async function failsAt(
  step: number,
  failure: Failure,
  { releases, operation }: { releases: readonly [string, string]; operation: (typeof operations)[string] },
): Promise<boolean> {
  const world = new World({ seed: step + 1 });
  const store = new FailingStore(failure);
  const common = { world, ...RANGES };
  await using other = await startServer({ ...common, release: releases[1], random: world.randomFor("other") });
  const failing = await startServer({
    ...common,
    release: releases[0],
    random: world.randomFor("failing"),
    wrapKv: (kv) => store.wrap(kv),
  });
  if (operation.before !== undefined) await failing.create(SERVICES, service("web", operation.before));
  store.remaining = step;
  void operation.run(failing).catch(() => undefined);
  await world.advance(1_000);
  const hasFailed = store.remaining === undefined;
  store.remaining = undefined;
  await fill(other, "first");
  const numbers = await stored(other);
  expect(new Set(numbers).size, `duplicate of ${numbers.join()}`).toBe(numbers.length);
  await other.call("DELETE", SERVICES);
  await repair(world, releases);
  expect(await fill(other, "second")).toEqual(FREE);
  return hasFailed;
}

const RELEASES = [
  ["1.36", "1.36"],
  ["1.33", "1.33"],
  ["1.32", "1.36"],
] as const;

describe.each(RELEASES)("if a server of %s beside one of %s", (...releases) => {
  test.each(Object.keys(operations))("fails while it %s, no number is allocated twice or lost", async (name) => {
    const operation = operations[name]!;
    // Over all releases, each step fails in each way.
    const first = RELEASES.findIndex((pair) => pair[0] === releases[0]);
    const failureAt = (step: number): Failure => FAILURES[(first + step) % FAILURES.length]!;
    let steps = 0;
    while (await failsAt(steps, failureAt(steps), { releases, operation })) steps++;
    expect(steps).toBeGreaterThan(2);
  });
});
