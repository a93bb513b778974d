/**
 * Measures the first writes of a new server, beside the first writes of a new floor: as in a cluster that has just
 * started or been upgraded, V8 compiles the code of each kind of request meanwhile. Then measures the memory of both
 * after five lists of what they have stored.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext, Subject } from "./bench-context.ts";
import { dataText, NUMBER_MARK, WRITE_NAMESPACE, namespaceText } from "./objects.ts";
import { residentMb } from "./process-usage.ts";
import { measureRounds } from "./rounds.ts";
import { atMost, compared, type Pair, type Row } from "./row.ts";
import { DEPLOYMENT_WRITES, setFloorWrite, type Write } from "./rows-deployment.ts";
import { startFloor, startServer, temporaryDirectory, TOKEN } from "./servers.ts";

const CONFIG_MAPS = `/api/v1/namespaces/${WRITE_NAMESPACE}/configmaps`;
const CREATED = 5_000;
const DEPLOYMENTS = 1_000;
const CONNECTIONS = 16;
const LISTS = 5;
/** Long enough for what V8 does when a server becomes idle. */
const SETTLE_MS = 12_000;
const FLOOR_RATIO_MAX = 1.5;

interface ColdWrite extends Write {
  readonly count: number;
}

const CREATE: ColdWrite = {
  id: "create",
  title: "create a ConfigMap of 3 KB",
  request: { method: "POST", path: CONFIG_MAPS, body: dataText(), expectStatus: 201 },
  count: CREATED,
};

const WRITES: readonly ColdWrite[] = [CREATE, ...DEPLOYMENT_WRITES.map((write) => ({ ...write, count: DEPLOYMENTS }))];

/** The figures of one new server and one new floor. */
interface ColdRound {
  readonly cpuUs: ReadonlyMap<string, Pair>;
  readonly memory: { readonly idle: Pair; readonly listed: Pair; readonly later: Pair };
}

export async function coldRows(context: BenchContext): Promise<Row[]> {
  const rounds: ColdRound[] = [];
  for (let round = 0; round < context.options.rounds; round++) rounds.push(await coldRound(context));
  const memory = (moment: keyof ColdRound["memory"]) => compared(rounds.map((round) => round.memory[moment]));
  const memoryRow = (moment: keyof ColdRound["memory"], title: string): Row => {
    const figures = memory(moment);
    const target = atMost(figures.ratio.median, FLOOR_RATIO_MAX, `≤ ${FLOOR_RATIO_MAX}×`);
    return { id: `cold-${moment}/embedded`, title, unit: "MB resident", ...figures, target };
  };
  return [
    ...WRITES.map(({ id, title, count }): Row => {
      const figures = compared(rounds.map(({ cpuUs }) => cpuUs.get(id)!));
      const name = `${title}, the first ${count.toLocaleString("en")}`;
      return { id: `cold-${id}/embedded`, title: name, unit: "CPU µs/request", ...figures };
    }),
    memoryRow("idle", `memory ${SETTLE_MS / 1000} s after the start`),
    memoryRow("listed", `memory after these writes and ${LISTS} lists of the ConfigMaps`),
    memoryRow("later", `memory ${SETTLE_MS / 1000} s later`),
  ];
}

async function coldRound(context: BenchContext): Promise<ColdRound> {
  const directory = temporaryDirectory();
  const core = context.cores?.server;
  const floor = await startFloor(context.certificate, core);
  const server = await startServer({ core, dataDirectory: directory.path });
  try {
    const subject: Subject = { store: "embedded", server, etcdPid: undefined };
    return await measureCold({ ...context, floor }, subject);
  } finally {
    await Promise.all([server.stop(), floor.stop()]);
    directory.remove();
  }
}

async function measureCold(context: BenchContext, subject: Subject): Promise<ColdRound> {
  const { client, floor, options } = context;
  const { server } = subject;
  const memoryNow = (): Pair => ({ floor: residentMb(floor.pid), ours: residentMb(server.pid) });
  await sleep(SETTLE_MS);
  const idle = memoryNow();
  const name = "cold";
  await client.open({ name, protocol: "http/1.1", port: server.port, connections: 1, token: TOKEN });
  const namespace = { method: "POST", path: "/api/v1/namespaces", body: namespaceText(WRITE_NAMESPACE) };
  await client.fetch(name, { ...namespace, expectStatus: 201 });
  await client.close(name);
  const cpuUs = new Map<string, Pair>();
  for (const write of WRITES) {
    await setFloorWrite(context, subject, write);
    const measured = await measureRounds({
      client,
      rounds: 1,
      protocol: "http/1.1",
      ...{ connections: CONNECTIONS, concurrency: CONNECTIONS, warmUp: 0 },
      count: Math.max(1, Math.round(write.count * options.scale)),
      floor: { pids: [floor.pid], port: floor.port, request: { ...write.request, path: `/${write.id}` } },
      ours: { pids: [server.pid], port: server.port, request: write.request },
    });
    cpuUs.set(write.id, { floor: measured.floor.median, ours: measured.ours.median });
  }
  await list(context, { port: floor.port, path: `/stored/${NUMBER_MARK}` });
  await list(context, { port: server.port, path: CONFIG_MAPS });
  const listed = memoryNow();
  await sleep(SETTLE_MS);
  return { cpuUs, memory: { idle, listed, later: memoryNow() } };
}

async function list({ client }: BenchContext, { port, path }: { port: number; path: string }): Promise<void> {
  const name = "cold lists";
  await client.open({ name, protocol: "http/1.1", port, connections: 1, token: TOKEN });
  const request = { method: "GET", path, expectStatus: 200 };
  await client.run({ name, request, concurrency: 1, firstNumber: 0, count: LISTS, numbers: LISTS });
  await client.close(name);
}
