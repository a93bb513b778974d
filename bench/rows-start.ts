/**
 * Measures the time from the start of the process to readiness, and the memory of an idle server. The server is not
 * pinned to a core.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { fill, type BenchContext } from "./bench-context.ts";
import { cpuMs, residentMb } from "./process-usage.ts";
import { atMost, compared, type Row } from "./row.ts";
import { startFloor, startServer, temporaryDirectory, type RunningServer } from "./servers.ts";

const READY_MS_MAX = { embedded: 250, etcd: 400 };
const IDLE_MB_MAX = 85;
/** Long enough for the work that the server defers until after readiness. */
const SETTLE_MS = 1_500;

interface Measured {
  readonly readyMs: number;
  readonly cpuMs: number;
  readonly residentMb: number;
}

type Start = () => Promise<RunningServer>;

async function measureStart(start: Start): Promise<Measured> {
  const server = await start();
  const used = cpuMs(server.pid);
  await sleep(SETTLE_MS);
  const resident = residentMb(server.pid);
  await server.stop();
  return { readyMs: server.readyMs, cpuMs: used, residentMb: resident };
}

/** Measures starts of the floor and of our server, and their memory when idle. */
async function startRow(
  context: BenchContext,
  what: { id: string; title: string; start: Start; readyMsMax?: number },
): Promise<{ start: Row; idle: Row }> {
  const measured: { floor: Measured; ours: Measured }[] = [];
  for (let round = 0; round < context.options.rounds; round++) {
    const floor = await measureStart(() => startFloor(context.certificate));
    measured.push({ floor, ours: await measureStart(what.start) });
  }
  const pairs = (value: (measured: Measured) => number) =>
    compared(measured.map(({ floor, ours }) => ({ floor: value(floor), ours: value(ours) })));
  const ready = pairs(({ readyMs }) => readyMs);
  const resident = pairs((each) => each.residentMb);
  const { readyMsMax = READY_MS_MAX.embedded } = what;
  const wall = { unit: "ms to ready", floor: ready.floor, ours: ready.ours };
  return {
    start: {
      id: `start/${what.id}`,
      title: `start, ${what.title}`,
      unit: "CPU ms",
      ...pairs((each) => each.cpuMs),
      wall,
      target: atMost(ready.ours.median, readyMsMax, `ready ≤ ${readyMsMax / 1000} s`),
    },
    idle: {
      id: `idle/${what.id}`,
      title: `memory idle, ${what.title}`,
      unit: "MB resident",
      ...resident,
      target: atMost(resident.ours.median, IDLE_MB_MAX, `≤ ${IDLE_MB_MAX} MB`),
    },
  };
}

export async function embeddedStartRows(context: BenchContext): Promise<Row[]> {
  const firstStart: Start = async () => {
    const directory = temporaryDirectory();
    const server = await startServer({ core: undefined, dataDirectory: directory.path });
    return { ...server, stop: () => server.stop().finally(() => directory.remove()) };
  };
  const first = await startRow(context, { id: "embedded-first", title: "embedded, first", start: firstStart });
  const directory = temporaryDirectory();
  try {
    const start: Start = () => startServer({ core: undefined, dataDirectory: directory.path });
    await (await start()).stop();
    const again = await startRow(context, { id: "embedded", title: "embedded", start });
    const server = await start();
    await fill(context, { store: "embedded", server, etcdPid: undefined });
    await server.stop();
    const filled = await startRow(context, { id: "embedded-5000", title: "embedded, 5,000 objects", start });
    const { target: _target, ...filledIdle } = filled.idle;
    return [first.start, again.start, filled.start, first.idle, again.idle, filledIdle];
  } finally {
    directory.remove();
  }
}

export async function etcdStartRows(context: BenchContext, endpoint: string): Promise<Row[]> {
  const directory = temporaryDirectory();
  try {
    const start: Start = () => startServer({ core: undefined, dataDirectory: directory.path, etcd: endpoint });
    await (await start()).stop();
    const { start: row, idle } = await startRow(context, {
      id: "etcd",
      title: "etcd",
      start,
      readyMsMax: READY_MS_MAX.etcd,
    });
    return [row, idle];
  } finally {
    directory.remove();
  }
}
