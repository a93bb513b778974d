/**
 * Measures a storage migration after an upgrade from 1.34 to 1.35, killed halfway and resumed, and its effect on
 * clients: the latency of GETs at a fixed rate, compared with the same server with the migrator disabled.
 */
import { cpSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { MigrationView, storedClaims, until } from "./migration-view.ts";
import { CLAIM_NAMESPACE, CLAIM_PATH, claimName, claimText, NUMBER_MARK } from "./objects.ts";
import { cpuMs } from "./process-usage.ts";
import { atMost, compared, type Pair, type Row } from "./row.ts";
import { startServer, temporaryDirectory, TOKEN, type RunningServer } from "./servers.ts";
import { figure, quantile } from "./statistics.ts";

const OBJECTS = 100_000;
const GETS_PER_SECOND = 200;
const FLOOR_MS = 30_000;
const FLOOR_MS_MIN = 2_000;
const WARM_UP = 4_000;
const CONNECTIONS = 32;
const ROUNDS_MAX = 3;
/** Limits for p99 during a migration: as a multiple of p99 without one, and in ms. */
const P99_RATIO_MAX = 2;
const P99_ADDED_MS_MAX = 5;

const STORED_BEFORE = "resource.k8s.io/v1beta2";
const STORED_AFTER = "resource.k8s.io/v1";
/** The server ID is fixed, because an in-place upgrade keeps it, while each round has its own data directory. */
const IDENTITY = ["--server-id", "bench"];
const OLD = [...IDENTITY, "--release", "1.34"];
const NEW = [...IDENTITY, "--release", "1.35"];
const NEW_WITHOUT_MIGRATOR = [...NEW, "--controllers=*,-storage-version-migrator,-storage-version-migrator-controller"];
const GET: RequestShape = { method: "GET", path: `${CLAIM_PATH}/${claimName(NUMBER_MARK)}`, expectStatus: 200 };
const LOAD = "gets";

interface Bench {
  readonly context: BenchContext;
  readonly dataDirectory: string;
  readonly objects: number;
}

interface Stretch {
  readonly latenciesMs: readonly number[];
  readonly cpuMs: number;
  readonly beganMs: number;
  readonly endedMs: number;
}

/** A period in which a server migrated objects. */
interface MigrationStretch extends Stretch {
  /** Objects migrated in that period. */
  readonly objects: number;
  /** Objects migrated since the server started. */
  readonly objectsDone: number;
}

interface Round {
  readonly floorMs: readonly number[];
  readonly oursMs: readonly number[];
  readonly objectsPerSecond: number;
  readonly cpuUsPerObject: number;
  readonly totalMs: number;
  /** Time from the kill until the migration resumed. */
  readonly resumedAfterMs: number;
  readonly doneTwice: number;
}

export async function migrateRows(context: BenchContext): Promise<Row[]> {
  const objects = Math.round(OBJECTS * context.options.scale);
  const filled = temporaryDirectory();
  try {
    await fillClaims({ context, dataDirectory: filled.path, objects });
    const rounds: Round[] = [];
    for (let round = 0; round < Math.min(context.options.rounds, ROUNDS_MAX); round++) {
      const copy = temporaryDirectory();
      try {
        cpSync(filled.path, copy.path, { recursive: true });
        rounds.push(await measureRound({ context, dataDirectory: copy.path, objects }));
      } finally {
        copy.remove();
      }
    }
    return rowsOf(rounds, objects);
  } finally {
    filled.remove();
  }
}

async function withServer<Value>(
  { context, dataDirectory }: Bench,
  flags: readonly string[],
  work: (server: RunningServer) => Promise<Value>,
): Promise<Value> {
  const server = await startServer({ core: context.cores?.server, dataDirectory, flags });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

function fillClaims(bench: Bench): Promise<void> {
  const { context, dataDirectory, objects } = bench;
  const { client } = context;
  return withServer(bench, OLD, async ({ port }) => {
    await client.open({ name: "fill", protocol: "http/1.1", port, connections: CONNECTIONS, token: TOKEN });
    const namespace = JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name: CLAIM_NAMESPACE } });
    await client.fetch("fill", { method: "POST", path: "/api/v1/namespaces", body: namespace, expectStatus: 201 });
    await client.run({
      name: "fill",
      request: { method: "POST", path: CLAIM_PATH, body: claimText(), expectStatus: 201 },
      count: objects,
      concurrency: CONNECTIONS,
      firstNumber: 0,
      numbers: objects,
    });
    await client.close("fill");
    await requireStored(dataDirectory, { [STORED_BEFORE]: objects });
  });
}

async function requireStored(dataDirectory: string, expected: Readonly<Record<string, number>>): Promise<void> {
  const stored = JSON.stringify(await storedClaims(dataDirectory));
  if (stored !== JSON.stringify(expected))
    throw new Error(`claims are stored as ${stored}, not as ${JSON.stringify(expected)}`);
}

async function measureRound(bench: Bench): Promise<Round> {
  const { dataDirectory, objects } = bench;
  const half = Math.floor(objects / 2);
  const floor = await withServer(bench, NEW_WITHOUT_MIGRATOR, async (server) => ({
    stretch: await measureWithout(bench, server),
    before: await resourceVersions(server, [half, objects - 1]),
  }));
  const isRewritten = async (view: MigrationView, number: number): Promise<boolean> =>
    (await view.resourceVersionOf(number)) !== floor.before.get(number);
  const startedMs = performance.now();
  const first = await withServer(bench, NEW, async (server) => {
    const stretch = await measureStretch(bench, server, (view) => isRewritten(view, half));
    process.kill(server.pid, "SIGKILL");
    return stretch;
  });
  const restartedMs = performance.now();
  const { second, rewritten } = await withServer(bench, NEW, async (server) => {
    // The restarted server has migrated nothing yet, because the leader lease of the killed server has to expire first.
    const rewrittenBefore = await rewrittenClaims(bench);
    const isDone = async (view: MigrationView): Promise<boolean> =>
      (await isRewritten(view, objects - 1)) && (await view.isStoredAs(STORED_AFTER));
    const stretch = await measureStretch(bench, server, isDone);
    await requireStored(dataDirectory, { [STORED_AFTER]: objects });
    return { second: stretch, rewritten: rewrittenBefore };
  });
  return {
    floorMs: floor.stretch.latenciesMs,
    oursMs: [...first.latenciesMs, ...second.latenciesMs],
    ...costs(floor.stretch, [first, second]),
    totalMs: second.endedMs - startedMs,
    resumedAfterMs: second.beganMs - restartedMs,
    doneTwice: rewritten + second.objectsDone - objects,
  };
}

/** The rate of the migration, and its CPU time per object without that of the GETs. */
function costs(floor: Stretch, ours: readonly MigrationStretch[]): Pick<Round, "objectsPerSecond" | "cpuUsPerObject"> {
  const sum = (value: (stretch: MigrationStretch) => number): number =>
    ours.reduce((total, stretch) => total + value(stretch), 0);
  const ms = sum(msOf);
  const objects = sum((stretch) => stretch.objects);
  const requestsCpuMs = (floor.cpuMs / msOf(floor)) * ms;
  return {
    objectsPerSecond: (objects * 1000) / ms,
    cpuUsPerObject: ((sum(({ cpuMs: used }) => used) - requestsCpuMs) * 1000) / objects,
  };
}

async function rewrittenClaims({ dataDirectory, objects }: Bench): Promise<number> {
  const { [STORED_BEFORE]: before = 0, [STORED_AFTER]: after = 0 } = await storedClaims(dataDirectory);
  if (before + after !== objects)
    throw new Error(`${objects - before - after} claims were lost when the server was killed`);
  return after;
}

async function measureWithout(bench: Bench, server: RunningServer): Promise<Stretch> {
  const { scale } = bench.context.options;
  await openLoad(bench, server);
  return measureLoad(bench, server, () => sleep(Math.max(FLOOR_MS_MIN, FLOOR_MS * scale)));
}

/** Sends GETs at a fixed rate until `meanwhile` resolves, and measures them. */
async function measureLoad(bench: Bench, { pid }: RunningServer, meanwhile: () => Promise<void>): Promise<Stretch> {
  const { context, objects } = bench;
  const { client } = context;
  const cpuBefore = cpuMs(pid);
  const beganMs = performance.now();
  await client.beginPace({ name: LOAD, request: GET, perSecond: GETS_PER_SECOND, numbers: objects });
  await meanwhile();
  const { latenciesMs } = await client.endPace(LOAD);
  const stretch = { latenciesMs, cpuMs: cpuMs(pid) - cpuBefore, beganMs, endedMs: performance.now() };
  await client.close(LOAD);
  return stretch;
}

/**
 * Measures from the first migrated object until `isPast` returns true, so that the start of the server is not included.
 */
async function measureStretch(
  bench: Bench,
  server: RunningServer,
  isPast: (view: MigrationView) => Promise<boolean>,
): Promise<MigrationStretch> {
  const view = await MigrationView.open(server);
  try {
    await openLoad(bench, server);
    await until("begun", async () => (await view.objectsDone()) > 0 || (await view.isStoredAs(STORED_AFTER)));
    const doneBefore = await view.objectsDone();
    const stretch = await measureLoad(bench, server, () => until("far enough", () => isPast(view)));
    const objectsDone = await view.objectsDone();
    return { ...stretch, objects: objectsDone - doneBefore, objectsDone };
  } finally {
    view.close();
  }
}

/** Opens the connections for the GETs and warms up their code path. */
async function openLoad({ context, objects }: Bench, { port }: RunningServer): Promise<void> {
  const { client, options } = context;
  await client.open({ name: LOAD, protocol: "http/1.1", port, connections: CONNECTIONS, token: TOKEN });
  const count = Math.ceil(WARM_UP * options.scale);
  await client.run({ name: LOAD, request: GET, count, concurrency: CONNECTIONS, firstNumber: 0, numbers: objects });
}

async function resourceVersions(server: RunningServer, numbers: readonly number[]): Promise<Map<number, string>> {
  const view = await MigrationView.open(server);
  try {
    const found = new Map<number, string>();
    for (const number of numbers) found.set(number, await view.resourceVersionOf(number));
    return found;
  } finally {
    view.close();
  }
}

function msOf({ beganMs, endedMs }: Stretch): number {
  return endedMs - beganMs;
}

function rowsOf(rounds: readonly Round[], objects: number): Row[] {
  const quantiles = (share: number): Pair[] =>
    rounds.map(({ floorMs, oursMs }) => ({ floor: ofAll(floorMs, share), ours: ofAll(oursMs, share) }));
  const p99 = quantiles(0.99);
  const p50 = compared(quantiles(0.5));
  const added = figure(p99.map(({ floor, ours }) => ours - P99_RATIO_MAX * floor)).median;
  const seconds = (ms: number): number => ms / 1000;
  const resumedAfter = figure(rounds.map(({ resumedAfterMs }) => seconds(resumedAfterMs))).median;
  return [
    {
      id: "migrate/embedded",
      title: `GET p99 during a migration, ${GETS_PER_SECOND}/s open loop`,
      unit: "ms p99",
      ...compared(p99),
      target: atMost(added, P99_ADDED_MS_MAX, `≤ ${P99_RATIO_MAX}× + ${P99_ADDED_MS_MAX} ms`),
      wall: { unit: "ms p50", floor: p50.floor, ours: p50.ours, note: "without and with the migrator" },
    },
    {
      id: "migrate-rate/embedded",
      title: `  of ${objects.toLocaleString("en")} objects, killed halfway`,
      unit: "objects/s",
      ours: figure(rounds.map(({ objectsPerSecond }) => objectsPerSecond)),
      wall: {
        unit: "s in total",
        ours: figure(rounds.map(({ totalMs }) => seconds(totalMs))),
        note: `resumed ${resumedAfter.toFixed(1)} s after the kill`,
      },
    },
    {
      id: "migrate-cpu/embedded",
      title: "  CPU of the server, without the GETs",
      unit: "CPU µs/object",
      ours: figure(rounds.map(({ cpuUsPerObject }) => cpuUsPerObject)),
    },
    {
      id: "migrate-twice/embedded",
      title: "  migrated twice because of the kill",
      unit: "objects",
      ours: figure(rounds.map(({ doneTwice }) => doneTwice)),
    },
  ];
}

function ofAll(samples: readonly number[], share: number): number {
  return quantile(Float64Array.from(samples).sort(), share);
}
