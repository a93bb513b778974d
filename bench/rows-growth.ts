/**
 * Measures how the cost of a write, and of delivering an event to a watcher, grows with the cluster: with its objects,
 * its CRDs and its servers. Each cost should stay the same, because nobody can choose a smaller cluster.
 */
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext } from "./bench-context.ts";
import { startServers } from "./cluster.ts";
import { crdText, DEFINITION_VERSION, DEFINITIONS_PATH, groupName, numberedKind } from "./crds.ts";
import { createHopCertificates } from "./hop-certificates.ts";
import { LoadClient } from "./load-client.ts";
import { NUMBER_MARK } from "./objects.ts";
import { cpuMs } from "./process-usage.ts";
import type { Row } from "./row.ts";
import { startServer, temporaryDirectory, TOKEN, type RunningServer } from "./servers.ts";
import { figure, type Figure } from "./statistics.ts";
import { printLine, step } from "./step.ts";
import { untilIdle } from "./until-idle.ts";
import { waitUntil } from "./wait-until.ts";

const OBJECTS: readonly number[] = [1_000, 10_000, 100_000, 1_000_000];
const CRDS: readonly number[] = [10, 100, 1_000, 5_000];
const SERVERS: readonly number[] = [1, 3, 10, 50];
/** More servers would measure how the processes wait for a core, because each probes all others. */
const SERVERS_PER_CORE = 10;
const CRDS_PER_GROUP = 10;
/** The objects that are written in each round. */
const WRITTEN = 1_000;
const WARM_UPS = 8;
const WATCHERS = 100;
const EVENTS = 50;
const CONNECTIONS = 16;
const IDLE_SECONDS = 5;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const WATCH_PATH = `${CONFIG_MAPS}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=`;
const NAME = "growth";

export async function objectGrowthRows(context: BenchContext, etcd?: string): Promise<Row[]> {
  const store = etcd === undefined ? "embedded" : "etcd";
  return onServer(context, etcd, async (server) => {
    const growth = new Growth("objects", store);
    await prepare(context, server);
    let filled = WRITTEN;
    for (const size of scaled(OBJECTS, context)) {
      await step(`growth: ${size.toLocaleString("en")} objects, ${store}`, async () => {
        await connected(context, server, () => createConfigMaps(context, filled, size - filled));
        filled = size;
        await untilIdle(server.pid);
        growth.add(size, await measureCosts(context, server));
      });
    }
    return growth.rows;
  });
}

export async function crdGrowthRows(context: BenchContext): Promise<Row[]> {
  return onServer(context, undefined, async (server) => {
    const growth = new Growth("CRDs", "embedded");
    await prepare(context, server);
    let groups = 0;
    for (const size of scaled(CRDS, context)) {
      await step(`growth: ${size.toLocaleString("en")} CRDs`, async () => {
        await connected(context, server, () => createCrds(context, groups, size / CRDS_PER_GROUP));
        groups = size / CRDS_PER_GROUP;
        await untilIdle(server.pid);
        growth.add(size, await measureCosts(context, server));
      });
    }
    return growth.rows;
  });
}

/** Starts the servers on one etcd, and measures the first one, and what each server costs while the cluster is idle. */
export async function serverGrowthRows(context: BenchContext, etcd: string): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const growth = new Growth("servers", "etcd");
  const servers: RunningServer[] = [];
  const cluster = startServers({ core: undefined, etcd, certificates: createHopCertificates(Date.now()) });
  stack.defer(() => cluster.stop());
  const most = SERVERS_PER_CORE * availableParallelism();
  for (const size of scaled(SERVERS, context)) {
    if (size > most) {
      printLine(`growth: ${size} servers are left out, because this machine has cores for ${most}`);
      continue;
    }
    await step(`growth: ${size} servers`, async () => {
      while (servers.length < size) servers.push(await cluster.start(`server-${servers.length}`, "1.36"));
      const [first] = servers as [RunningServer];
      if (size === scaled(SERVERS, context)[0]) await prepare(context, first);
      await sleep(IDLE_SECONDS * 1000);
      const idle = await idleCost(servers);
      growth.add(size, { ...(await measureCosts(context, first, idle)), idle: figure([idle]) });
    });
  }
  return growth.rows;
}

/** The sizes within the share of the largest one that --scale selects, and always two. */
function scaled(sizes: readonly number[], { options }: BenchContext): readonly number[] {
  const max = sizes.at(-1)! * options.scale;
  return sizes.filter((size, index) => index < 2 || size <= max);
}

interface Costs {
  readonly write: Figure;
  readonly event: Figure;
  /** CPU ms per second of each idle server. */
  readonly idle?: Figure;
}

const COSTS = [
  { name: "write", title: "merge patch of a ConfigMap", unit: "CPU µs/request" },
  { name: "event", title: `event to each of ${WATCHERS} watchers`, unit: "CPU µs/delivery" },
  { name: "idle", title: "idle server", unit: "CPU ms/s" },
] as const;

/** The rows of one axis. The floor of each is the figure of the smallest size. */
class Growth {
  readonly rows: Row[] = [];
  readonly #axis: string;
  readonly #store: string;
  readonly #smallest = new Map<string, Figure>();

  constructor(axis: string, store: string) {
    this.#axis = axis;
    this.#store = store;
  }

  add(size: number, costs: Costs): void {
    for (const { name, title, unit } of COSTS) {
      const ours = costs[name];
      if (ours === undefined) continue;
      // Printed at once, because all rows together take long.
      printLine(`  ${title}: ${ours.median.toFixed(1)} ${unit}`);
      const floor = this.#smallest.get(name) ?? ours;
      this.#smallest.set(name, floor);
      this.rows.push({
        id: `growth-${this.#axis}-${name}-${size}/${this.#store}`,
        title: `${title}, ${size.toLocaleString("en")} ${this.#axis}, ${this.#store}`,
        unit,
        floor,
        ours,
        ratio: figure(ours.samples.map((sample) => sample / floor.median)),
        point: { chart: `${this.#axis}: ${title}`, unit, series: this.#store, x: size },
      });
    }
  }
}

/** `idleMsPerSecond` is subtracted, because servers with many peers are never idle. */
async function measureCosts(context: BenchContext, server: RunningServer, idleMsPerSecond = 0): Promise<Costs> {
  const { rounds } = context.options;
  const writes: number[] = [];
  const events: number[] = [];
  const spent = async (work: () => Promise<unknown>): Promise<number> => {
    const before = { cpu: cpuMs(server.pid), at: performance.now() };
    await work();
    if (idleMsPerSecond === 0) await untilIdle(server.pid);
    else await sleep(IDLE_SECONDS * 200);
    const seconds = (performance.now() - before.at) / 1000;
    return (cpuMs(server.pid) - before.cpu - seconds * idleMsPerSecond) * 1000;
  };
  // The first round warms up.
  for (let round = 0; round <= rounds; round++)
    writes.push((await spent(() => connected(context, server, () => patchAll(context)))) / WRITTEN);
  const watchers = new LoadClient(context.cores?.others);
  try {
    const watching = { name: "watchers", port: server.port, token: TOKEN, path: WATCH_PATH, count: WATCHERS };
    await watchers.watch(watching);
    for (let round = 0; round <= rounds; round++) {
      const us = await spent(() => connected(context, server, () => patchSome(context)));
      events.push((us / EVENTS - figure(writes.slice(1)).median) / WATCHERS);
    }
  } finally {
    await watchers.stop();
  }
  return { write: figure(writes.slice(1)), event: figure(events.slice(1)) };
}

async function idleCost(servers: readonly RunningServer[]): Promise<number> {
  const total = (): number => servers.reduce((sum, { pid }) => sum + cpuMs(pid), 0);
  const before = total();
  await sleep(IDLE_SECONDS * 1000);
  return (total() - before) / IDLE_SECONDS / servers.length;
}

async function onServer<Value>(
  { cores }: BenchContext,
  etcd: string | undefined,
  work: (server: RunningServer) => Promise<Value>,
): Promise<Value> {
  const directory = temporaryDirectory();
  const dataDirectory = directory.path;
  const server = await startServer({ core: cores?.server, dataDirectory, ...(etcd === undefined ? {} : { etcd }) });
  try {
    return await work(server);
  } finally {
    await server.stop();
    directory.remove();
  }
}

async function connected(
  { client }: BenchContext,
  { port }: RunningServer,
  work: () => Promise<unknown>,
): Promise<void> {
  await client.open({ name: NAME, protocol: "http/1.1", port, connections: CONNECTIONS, token: TOKEN });
  await work();
  await client.close(NAME);
}

/** Creates the objects that are written, and writes them until V8 has compiled the code. */
async function prepare(context: BenchContext, server: RunningServer): Promise<void> {
  await connected(context, server, async () => {
    await createConfigMaps(context, 0, WRITTEN);
    for (let round = 0; round < WARM_UPS; round++) await patchAll(context);
  });
}

async function createConfigMaps({ client }: BenchContext, firstNumber: number, count: number): Promise<void> {
  if (count === 0) return;
  const metadata = { name: `growth-${NUMBER_MARK}`, labels: { app: "growth" } };
  const body = JSON.stringify({ metadata, data: { payload: "x".repeat(200), tag: "" } });
  const request = { method: "POST", path: CONFIG_MAPS, body, expectStatus: 201 };
  await client.run({ name: NAME, request, count, concurrency: CONNECTIONS, firstNumber, numbers: count });
}

async function createCrds({ client }: BenchContext, from: number, to: number): Promise<void> {
  for (let group = from; group < to; group++) {
    const request = { method: "POST", path: DEFINITIONS_PATH, body: crdText(numberedKind(group)), expectStatus: 201 };
    const run = { name: NAME, request, count: CRDS_PER_GROUP, concurrency: 4 };
    await client.run({ ...run, firstNumber: group * CRDS_PER_GROUP, numbers: CRDS_PER_GROUP });
  }
  const path = `/apis/${groupName(to - 1)}/${DEFINITION_VERSION}`;
  await waitUntil("the last CRD is served", async () => {
    const served = client.fetch(NAME, { method: "GET", path, expectStatus: 200 });
    return served.then(
      () => true,
      () => false,
    );
  });
}

/** A patch that no earlier one equals, because a patch that changes nothing is not written. */
function patchOf(): { method: string; path: string; contentType: string; body: string; expectStatus: number } {
  const body = JSON.stringify({ data: { tag: `patch-${performance.now()}` } });
  const path = `${CONFIG_MAPS}/growth-${NUMBER_MARK}`;
  return { method: "PATCH", path, contentType: "application/merge-patch+json", body, expectStatus: 200 };
}

async function patchAll({ client }: BenchContext): Promise<void> {
  const run = { name: NAME, request: patchOf(), concurrency: CONNECTIONS };
  await client.run({ ...run, count: WRITTEN, firstNumber: 0, numbers: WRITTEN });
}

async function patchSome({ client }: BenchContext): Promise<void> {
  await client.run({ name: NAME, request: patchOf(), concurrency: 1, count: EVENTS, firstNumber: 0, numbers: EVENTS });
}
