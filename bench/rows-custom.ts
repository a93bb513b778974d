/**
 * Measures the cost of 1,000 CRDs: their creation, a start of the server, its memory, and a kubectl with an empty
 * cache. The floor is the same server with one CRD. Only servers whose requests are measured are pinned to a core.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext } from "./bench-context.ts";
import { newestKubectl, runCold, type ColdRun } from "./cold-kubectl.ts";
import {
  DEFINITION_VERSION,
  DEFINITIONS_PATH,
  crdText,
  groupName,
  numberedKind,
  RULE,
  RULED_WEB,
  WEB,
} from "./crds.ts";
import { liveHeapBytes, withInspectorPort } from "./live-heap.ts";
import { cpuMs, residentMb } from "./process-usage.ts";
import { atMost, compared, type Pair, type Row } from "./row.ts";
import { customRequestRows } from "./rows-custom-requests.ts";
import { freePort, startServer, temporaryDirectory, TOKEN, type RunningServer } from "./servers.ts";
import { figure } from "./statistics.ts";
import { untilCollecting } from "./until-collecting.ts";
import { waitUntil } from "./wait-until.ts";

const GROUPS = 50;
const PER_GROUP = 20;
const CONNECTIONS = 4;
const READY_MS_MAX = 2_000;
const DEFINITION_MB_MAX = 0.5;
/**
 * Number of groups in each of two samples: creating the CRDs of the first groups is compared with creating those of the
 * last groups.
 */
const SAMPLED_GROUPS = 5;
const ROUNDS_MAX = 5;
const FILL = "fill";
const NAMESPACE = "default";
const IDLE_LOOK_MS = 1_000;
const IDLE_SHARE = 0.05;

interface Started {
  readonly readyMs: number;
  readonly cpuMs: number;
  readonly residentMb: number;
  readonly heapMb: number;
}

interface Round {
  readonly floor: Started;
  readonly ours: Started;
}

interface Stores {
  readonly floor: string;
  readonly ours: string;
}

export async function customRows(context: BenchContext): Promise<Row[]> {
  const groups = Math.max(1, Math.round(GROUPS * context.options.scale));
  const definitions = groups * PER_GROUP;
  const directories = { floor: temporaryDirectory(), ours: temporaryDirectory() };
  const stores = { floor: directories.floor.path, ours: directories.ours.path };
  try {
    await onServer(context, stores.floor, (server) => define(context, server, 0));
    const spent = await onServer(context, stores.ours, (server) => define(context, server, groups));
    // customRequestRows runs last, because its requests leave objects behind.
    return [
      creationRow(spent, definitions),
      ...startRows(await measureStarts(context, stores), definitions),
      ...(await kubectlRows(context, stores, definitions)),
      ...(await onServer(context, stores.ours, (server) => customRequestRows(context, server))),
    ];
  } finally {
    for (const directory of Object.values(directories)) directory.remove();
  }
}

async function onServer<Value>(
  { cores }: BenchContext,
  dataDirectory: string,
  work: (server: RunningServer) => Promise<Value>,
): Promise<Value> {
  const server = await startServer({ core: cores?.server, dataDirectory });
  try {
    return await work(server);
  } finally {
    await server.stop();
  }
}

/** Creates the CRDs. Returns, for each group, the CPU ms from the first request until all its CRDs are served. */
async function define({ client }: BenchContext, { port, pid }: RunningServer, groups: number): Promise<number[]> {
  await client.open({ name: FILL, protocol: "http/1.1", port, connections: CONNECTIONS, token: TOKEN });
  const create = async (body: string, count: number, firstNumber: number): Promise<void> => {
    const request = { method: "POST", path: DEFINITIONS_PATH, body, expectStatus: 201 };
    const numbers = { count, firstNumber, numbers: count };
    await client.run({ name: FILL, request, concurrency: CONNECTIONS, ...numbers });
  };
  await create(crdText(WEB), 1, 0);
  const spent: number[] = [];
  for (let group = 0; group < groups; group++) {
    const before = cpuMs(pid);
    await create(crdText(numberedKind(group)), PER_GROUP, group * PER_GROUP);
    await waitUntil("CRDs are served", async () => (await servedIn(client, groupName(group))) === PER_GROUP);
    spent.push(cpuMs(pid) - before);
  }
  if (groups > 0) await create(crdText(RULED_WEB, RULE), 1, 0);
  await waitUntil("the last CRD is served", async () => (await servedIn(client, WEB.group)) === (groups > 0 ? 2 : 1));
  await client.close(FILL);
  return spent;
}

async function servedIn(client: BenchContext["client"], group: string): Promise<number> {
  const request = { method: "GET", path: `/apis/${group}/${DEFINITION_VERSION}`, expectStatus: 200 };
  try {
    const { resources } = JSON.parse((await client.fetch(FILL, request)).body) as { resources: { name: string }[] };
    return resources.filter(({ name }) => !name.includes("/")).length;
  } catch {
    // The group does not exist before its first CRD is served.
    return 0;
  }
}

function creationRow(spent: readonly number[], definitions: number): Row {
  const each = spent.map((ms) => ms / PER_GROUP);
  const sampled = Math.min(SAMPLED_GROUPS, each.length);
  const [first, last] = [each.slice(0, sampled), each.slice(-sampled)];
  const pairs = first.map((floor, index): Pair => ({ floor, ours: last[index]! }));
  const what = (sampled * PER_GROUP).toLocaleString("en");
  const title = `create a CRD: the first ${what}, the last of ${definitions.toLocaleString("en")}`;
  return { id: "custom-define/embedded", title, unit: "CPU ms", ...compared(pairs) };
}

async function measureStarts(context: BenchContext, stores: Stores): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < Math.min(context.options.rounds, ROUNDS_MAX); round++) {
    const floor = await measureStart(stores.floor);
    rounds.push({ floor, ours: await measureStart(stores.ours) });
  }
  return rounds;
}

async function measureStart(dataDirectory: string): Promise<Started> {
  const inspectorPort = await freePort();
  const server = await withInspectorPort(inspectorPort, () => startServer({ core: undefined, dataDirectory }));
  try {
    const used = cpuMs(server.pid);
    await untilCollecting(server, NAMESPACE);
    await untilIdle(server);
    const resident = residentMb(server.pid);
    const heapMb = (await liveHeapBytes(server.pid, inspectorPort)) / 1e6;
    return { readyMs: server.readyMs, cpuMs: used, residentMb: resident, heapMb };
  } finally {
    await server.stop();
  }
}

/** Waits until the server uses little CPU time, because controllers start their watches only after it is ready. */
async function untilIdle({ pid }: RunningServer): Promise<void> {
  await waitUntil("the server is idle", async () => {
    const before = cpuMs(pid);
    await sleep(IDLE_LOOK_MS);
    return cpuMs(pid) - before < IDLE_LOOK_MS * IDLE_SHARE;
  });
}

function startRows(rounds: readonly Round[], definitions: number): Row[] {
  const pairs = (value: (started: Started) => number): Pair[] =>
    rounds.map(({ floor, ours }) => ({ floor: value(floor), ours: value(ours) }));
  const ready = compared(pairs(({ readyMs }) => readyMs));
  const each = (unit: string, value: (started: Started) => number): Pick<Row, "unit" | "ours" | "wall"> => {
    const { floor, ours } = compared(pairs(value));
    return {
      unit: "MB each",
      ours: figure(pairs(value).map((pair) => (pair.ours - pair.floor) / definitions)),
      wall: { unit, floor, ours, note: "one CRD, and all" },
    };
  };
  const resident = each("MB resident", (started) => started.residentMb);
  const what = `${definitions.toLocaleString("en")} CRDs`;
  return [
    {
      ...{ id: "custom-start/embedded", title: `start, ${what}`, unit: "CPU ms" },
      ...compared(pairs((started) => started.cpuMs)),
      wall: { unit: "ms to ready", floor: ready.floor, ours: ready.ours },
      target: atMost(ready.ours.median, READY_MS_MAX, `ready ≤ ${READY_MS_MAX / 1000} s`),
    },
    {
      ...{ id: "custom-memory/embedded", title: `memory of ${what}`, ...resident },
      target: atMost(resident.ours.median, DEFINITION_MB_MAX, `≤ ${DEFINITION_MB_MAX} MB`),
    },
    { id: "custom-heap/embedded", title: "  in the live heap", ...each("MB live heap", ({ heapMb }) => heapMb) },
  ];
}

async function kubectlRows(context: BenchContext, stores: Stores, definitions: number): Promise<Row[]> {
  const kubectl = newestKubectl();
  if (kubectl === undefined) return [];
  const runs = (dataDirectory: string): Promise<ColdRun[]> =>
    onServer(context, dataDirectory, async (server) => {
      await untilCollecting(server, NAMESPACE);
      await untilIdle(server);
      const done: ColdRun[] = [];
      for (let round = 0; round < context.options.rounds; round++)
        done.push(await runCold(kubectl, server, ["get", WEB.plural, "--namespace", NAMESPACE]));
      return done;
    });
  const [floor, ours] = [await runs(stores.floor), await runs(stores.ours)];
  const pairs = (value: (run: ColdRun) => number): Pair[] =>
    floor.map((run, round) => ({ floor: value(run), ours: value(ours[round]!) }));
  const time = compared(pairs(({ wallMs }) => wallMs));
  return [
    {
      id: "custom-kubectl/embedded",
      title: `${kubectl.name} get, cold cache, ${definitions.toLocaleString("en")} CRDs`,
      unit: "requests",
      ...compared(pairs(({ requests }) => requests)),
      wall: { unit: "ms", floor: time.floor, ours: time.ours, note: "one CRD, and all" },
    },
  ];
}
