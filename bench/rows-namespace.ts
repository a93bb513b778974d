/** Measures the deletion of a namespace full of objects on the embedded store: its duration and CPU cost. */
import type { BenchContext } from "./bench-context.ts";
import { openHttp1, type Requester } from "./client/http1.ts";
import { configMapText, namespaceText } from "./objects.ts";
import { cpuMs } from "./process-usage.ts";
import type { Row } from "./row.ts";
import { startServer, temporaryDirectory, TOKEN, type RunningServer } from "./servers.ts";
import { figure } from "./statistics.ts";
import { waitUntil } from "./wait-until.ts";

const OBJECTS = 10_000;
const CONNECTIONS = 16;
const FILL = "fill";
const NOT_FOUND = 404;

interface Round {
  readonly emptyMs: number;
  readonly goneMs: number;
  readonly emptyCpuMs: number;
  readonly goneCpuMs: number;
}

export async function namespaceRows(context: BenchContext): Promise<Row[]> {
  const objects = Math.max(1, Math.round(OBJECTS * context.options.scale));
  const directory = temporaryDirectory();
  const server = await startServer({ core: context.cores?.server, dataDirectory: directory.path });
  try {
    const rounds: Round[] = [];
    for (let round = 0; round < context.options.rounds; round++) {
      const namespace = `bench-doomed-${round}`;
      await fillNamespace(context, server, { namespace, objects });
      rounds.push(await deleteNamespace(server, namespace));
    }
    return rowsOf(rounds, objects);
  } finally {
    await server.stop();
    directory.remove();
  }
}

async function fillNamespace(
  { client }: BenchContext,
  { port }: RunningServer,
  { namespace, objects }: { readonly namespace: string; readonly objects: number },
): Promise<void> {
  await client.open({ name: FILL, protocol: "http/1.1", port, connections: CONNECTIONS, token: TOKEN });
  const body = namespaceText(namespace);
  await client.fetch(FILL, { method: "POST", path: "/api/v1/namespaces", body, expectStatus: 201 });
  await client.run({
    name: FILL,
    request: { method: "POST", path: contentPath(namespace), body: configMapText(), expectStatus: 201 },
    count: objects,
    concurrency: CONNECTIONS,
    firstNumber: 0,
    numbers: objects,
  });
  await client.close(FILL);
}

function contentPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/configmaps`;
}

async function deleteNamespace({ port, pid }: RunningServer, namespace: string): Promise<Round> {
  const requester = await openHttp1({ port }, TOKEN);
  try {
    const path = `/api/v1/namespaces/${namespace}`;
    const cpuBefore = cpuMs(pid);
    const began = performance.now();
    await requester.fetch({ method: "DELETE", path, expectStatus: 200 }, 0);
    await waitUntil("a namespace that is being deleted is empty", () => isEmpty(requester, namespace));
    const empty = { emptyMs: performance.now() - began, emptyCpuMs: cpuMs(pid) - cpuBefore };
    await waitUntil("an empty namespace is removed", async () => {
      const { status } = await requester.send({ method: "GET", path, expectStatus: NOT_FOUND }, 0);
      return status === NOT_FOUND;
    });
    return { ...empty, goneMs: performance.now() - began, goneCpuMs: cpuMs(pid) - cpuBefore };
  } finally {
    requester.close();
  }
}

async function isEmpty(requester: Requester, namespace: string): Promise<boolean> {
  const path = `${contentPath(namespace)}?limit=1`;
  const { body } = await requester.fetch({ method: "GET", path, expectStatus: 200 }, 0);
  return (JSON.parse(body) as { items: unknown[] }).items.length === 0;
}

function rowsOf(rounds: readonly Round[], objects: number): Row[] {
  const of = (value: (round: Round) => number) => figure(rounds.map(value));
  return [
    {
      id: "namespace/embedded",
      title: `namespace of ${objects.toLocaleString("en")} objects deleted, embedded`,
      unit: "s to 404",
      ours: of(({ goneMs }) => goneMs / 1000),
      wall: {
        unit: "s until empty",
        ours: of(({ emptyMs }) => emptyMs / 1000),
        note: "the controller keeps it for at least 5 s",
      },
    },
    {
      id: "namespace-cpu/embedded",
      title: "  CPU of the server",
      unit: "CPU ms to 404",
      ours: of(({ goneCpuMs }) => goneCpuMs),
      wall: { unit: "CPU ms until empty", ours: of(({ emptyCpuMs }) => emptyCpuMs) },
    },
  ];
}
