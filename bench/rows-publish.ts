/**
 * Measures the cost that publishing storage versions adds to a start on the embedded store. The server is not pinned to
 * a core.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext } from "./bench-context.ts";
import { cpuMs } from "./process-usage.ts";
import { atMost, compared, type Row } from "./row.ts";
import { startServer, temporaryDirectory } from "./servers.ts";
import { figure } from "./statistics.ts";

const READY_MS_MAX = 150;
/** Long enough for the work after readiness, when controllers start to watch the published objects. */
const SETTLE_MS = 1_500;
const WITHOUT = ["--feature-gates=StorageVersionAPI=false"];

interface Measured {
  readonly readyMs: number;
  readonly readyCpuMs: number;
  readonly settledCpuMs: number;
}

interface Round {
  readonly floor: Measured;
  readonly ours: Measured;
}

export async function publishRows(context: BenchContext): Promise<Row[]> {
  const first = await measureRounds(context, firstStart);
  const stores = { floor: temporaryDirectory(), ours: temporaryDirectory() };
  try {
    const again = (side: keyof Round): Promise<Measured> => measureStart(stores[side].path, side);
    await again("floor");
    await again("ours");
    const [firstReady, ...firstCpu] = rowsOf({ id: "publish/embedded-first", title: "publishing, first start" }, first);
    const target = atMost(firstReady!.ours.median, READY_MS_MAX, `≤ ${READY_MS_MAX} ms`);
    const restart = { id: "publish/embedded", title: "publishing, restart" };
    return [{ ...firstReady!, target }, ...firstCpu, ...rowsOf(restart, await measureRounds(context, again))];
  } finally {
    for (const store of Object.values(stores)) store.remove();
  }
}

async function measureRounds(
  { options }: BenchContext,
  measure: (side: keyof Round) => Promise<Measured>,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < options.rounds; round++) {
    const order = round % 2 === 0 ? (["floor", "ours"] as const) : (["ours", "floor"] as const);
    const first = await measure(order[0]);
    const second = await measure(order[1]);
    rounds.push(order[0] === "floor" ? { floor: first, ours: second } : { floor: second, ours: first });
  }
  return rounds;
}

async function firstStart(side: keyof Round): Promise<Measured> {
  const directory = temporaryDirectory();
  try {
    return await measureStart(directory.path, side);
  } finally {
    directory.remove();
  }
}

async function measureStart(dataDirectory: string, side: keyof Round): Promise<Measured> {
  const server = await startServer({ core: undefined, dataDirectory, flags: side === "floor" ? WITHOUT : [] });
  try {
    const readyCpuMs = cpuMs(server.pid);
    await sleep(SETTLE_MS);
    return { readyMs: server.readyMs, readyCpuMs, settledCpuMs: cpuMs(server.pid) };
  } finally {
    await server.stop();
  }
}

function rowsOf({ id, title }: { readonly id: string; readonly title: string }, rounds: readonly Round[]): Row[] {
  const added = (unit: string, value: (measured: Measured) => number): Pick<Row, "unit" | "ours" | "wall"> => {
    const pairs = rounds.map(({ floor, ours }) => ({ floor: value(floor), ours: value(ours) }));
    const { floor, ours } = compared(pairs);
    return {
      unit: `${unit} added`,
      ours: figure(pairs.map((pair) => pair.ours - pair.floor)),
      wall: { unit, floor, ours, note: "without and with publishing" },
    };
  };
  return [
    { id, title, ...added("ms to ready", ({ readyMs }) => readyMs) },
    { id: `${id}-cpu`, title: "  until ready", ...added("CPU ms", ({ readyCpuMs }) => readyCpuMs) },
    {
      id: `${id}-settled`,
      title: `  and ${SETTLE_MS / 1000} s more`,
      ...added("CPU ms", ({ settledCpuMs }) => settledCpuMs),
    },
  ];
}
