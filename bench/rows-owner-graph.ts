/**
 * Measures the memory of the owner graph of the garbage collector (the controller): the difference between the same
 * server with and without it, on the same store. The difference of the live heaps, after a forced collection of V8's
 * garbage, is the memory of the graph itself; that of the resident memory also includes uncollected garbage.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { BenchContext } from "./bench-context.ts";
import { liveHeapBytes, withInspectorPort } from "./live-heap.ts";
import { configMapText, namespaceText } from "./objects.ts";
import { residentMb } from "./process-usage.ts";
import { compared, type Row } from "./row.ts";
import { freePort, startServer, temporaryDirectory, TOKEN } from "./servers.ts";
import { figure } from "./statistics.ts";
import { untilCollecting } from "./until-collecting.ts";

const OBJECTS = 100_000;
const DEPENDENTS_PER_OWNER = 99;
const CONNECTIONS = 16;
const ROUNDS_MAX = 3;
/**
 * Time after which V8 has usually collected the garbage of the server's start and of the garbage collector's initial
 * lists.
 */
const SETTLE_MS = 5_000;
const NAMESPACE = "bench-owners";
const PATH = `/api/v1/namespaces/${NAMESPACE}/configmaps`;
const WITHOUT = ["--controllers=*,-garbage-collector-controller"];
const FILL = "fill";

interface Measured {
  readonly residentMb: number;
  readonly heapBytes: number;
}

interface Round {
  readonly floor: Measured;
  readonly ours: Measured;
}

export async function ownerGraphRows(context: BenchContext): Promise<Row[]> {
  const { scale, rounds: wanted } = context.options;
  const owners = Math.max(1, Math.round((OBJECTS * scale) / (DEPENDENTS_PER_OWNER + 1)));
  const directory = temporaryDirectory();
  try {
    await fillOwners(context, directory.path, owners);
    const rounds: Round[] = [];
    for (let round = 0; round < Math.min(wanted, ROUNDS_MAX); round++) {
      const floor = await measure(context, directory.path, "floor");
      rounds.push({ floor, ours: await measure(context, directory.path, "ours") });
    }
    return rowsOf(rounds, owners * (DEPENDENTS_PER_OWNER + 1));
  } finally {
    directory.remove();
  }
}

async function fillOwners(context: BenchContext, dataDirectory: string, owners: number): Promise<void> {
  const { client, cores } = context;
  const server = await startServer({ core: cores?.server, dataDirectory, flags: WITHOUT });
  try {
    const { port } = server;
    await client.open({ name: FILL, protocol: "http/1.1", port, connections: CONNECTIONS, token: TOKEN });
    const body = namespaceText(NAMESPACE);
    await client.fetch(FILL, { method: "POST", path: "/api/v1/namespaces", body, expectStatus: 201 });
    for (let owner = 0; owner < owners; owner++) {
      const name = `owner-${owner}`;
      const made = await client.fetch(FILL, { method: "POST", path: PATH, body: ownerText(name), expectStatus: 201 });
      const { metadata } = JSON.parse(made.body) as { metadata: { uid: string } };
      await client.run({
        name: FILL,
        request: { method: "POST", path: PATH, body: configMapText({ name, uid: metadata.uid }), expectStatus: 201 },
        count: DEPENDENTS_PER_OWNER,
        concurrency: CONNECTIONS,
        firstNumber: owner * DEPENDENTS_PER_OWNER,
        numbers: DEPENDENTS_PER_OWNER * owners,
      });
    }
    await client.close(FILL);
  } finally {
    await server.stop();
  }
}

function ownerText(name: string): string {
  return JSON.stringify({ kind: "ConfigMap", apiVersion: "v1", metadata: { name } });
}

async function measure(context: BenchContext, dataDirectory: string, side: keyof Round): Promise<Measured> {
  const inspectorPort = await freePort();
  const flags = side === "floor" ? WITHOUT : [];
  const server = await withInspectorPort(inspectorPort, () =>
    startServer({ core: context.cores?.server, dataDirectory, flags }),
  );
  try {
    if (side === "ours") await untilCollecting(server, NAMESPACE);
    await sleep(SETTLE_MS);
    const resident = residentMb(server.pid);
    return { residentMb: resident, heapBytes: await liveHeapBytes(server.pid, inspectorPort) };
  } finally {
    await server.stop();
  }
}

function rowsOf(rounds: readonly Round[], objects: number): Row[] {
  const added = (unit: string, value: (measured: Measured) => number): Pick<Row, "ours" | "wall"> => {
    const pairs = rounds.map(({ floor, ours }) => ({ floor: value(floor), ours: value(ours) }));
    const { floor, ours } = compared(pairs);
    return {
      ours: figure(pairs.map((pair) => pair.ours - pair.floor)),
      wall: { unit, floor, ours, note: "without and with the garbage collector" },
    };
  };
  const heap = added("MB live heap", ({ heapBytes }) => heapBytes / 1e6);
  const perObject = rounds.map(({ floor, ours }) => (ours.heapBytes - floor.heapBytes) / objects);
  return [
    {
      id: "owner-graph/embedded",
      title: `owner graph of ${objects.toLocaleString("en")} objects`,
      unit: "MB resident added",
      ...added("MB resident", ({ residentMb: resident }) => resident),
    },
    { id: "owner-graph-heap/embedded", title: "  in the live heap", unit: "MB added", ...heap },
    { id: "owner-graph-object/embedded", title: "  per object", unit: "bytes", ours: figure(perObject) },
  ];
}
