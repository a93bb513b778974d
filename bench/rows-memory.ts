/**
 * Measures the memory of many objects: the growth of the resident memory per object of 3 KB, and what remains of the
 * growth through a burst of lists. Both are read when the server has been idle for a while, because V8 returns memory
 * to the system about half a minute after the work has ended.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createRequest, fill, type BenchContext } from "./bench-context.ts";
import { LIST_COUNT, LIST_NAMESPACE, WRITE_NAMESPACE } from "./objects.ts";
import { residentMb } from "./process-usage.ts";
import { atMost, type Row } from "./row.ts";
import { startServer, temporaryDirectory, TOKEN, type RunningServer } from "./servers.ts";
import { figure } from "./statistics.ts";

const OBJECTS = 100_000;
const CONNECTIONS = 16;
const SETTLE_MS = 45_000;
/** Each list has 5,000 objects, about 17 MB. */
const LISTS = 50;
const BYTES_PER_MB = 1e6;
/** The goal per object: a share of its size, for the copy in the watch cache, and a fixed cost. */
const SIZE_SHARE_MAX = 1.3;
const FIXED_BYTES_MAX = 200;
/** The share of the memory before the burst that may remain in addition. */
const REMAINING_SHARE_MAX = 1.1;

export async function manyObjectsRows(context: BenchContext): Promise<Row[]> {
  const directory = temporaryDirectory();
  const server = await startServer({ core: context.cores?.server, dataDirectory: directory.path });
  try {
    return await rows(context, server);
  } finally {
    await server.stop();
    directory.remove();
  }
}

async function rows(context: BenchContext, server: RunningServer): Promise<Row[]> {
  const { client, options } = context;
  const settled = async (): Promise<number> => {
    await sleep(SETTLE_MS);
    return residentMb(server.pid);
  };
  await fill(context, { store: "embedded", server, etcdPid: undefined });
  const before = await settled();
  const name = "many";
  const run = { name, concurrency: CONNECTIONS, firstNumber: 0 };
  await client.open({ name, protocol: "http/1.1", port: server.port, connections: CONNECTIONS, token: TOKEN });
  const count = Math.max(1, Math.round(OBJECTS * options.scale));
  await client.run({ ...run, request: createRequest(WRITE_NAMESPACE), count, numbers: count });
  const filled = await settled();
  const list = { method: "GET", path: `/api/v1/namespaces/${LIST_NAMESPACE}/pods`, expectStatus: 200 };
  const { body } = await client.fetch(name, list);
  const size = body.length / LIST_COUNT;
  const lists = Math.max(1, Math.round(LISTS * options.scale));
  await client.run({ ...run, request: list, count: lists, numbers: lists });
  const burst = residentMb(server.pid);
  const after = await settled();
  await client.close(name);
  const perObject = ((filled - before) * BYTES_PER_MB) / count;
  const goal = SIZE_SHARE_MAX * size + FIXED_BYTES_MAX;
  return [
    {
      id: "memory-object/embedded",
      title: `memory per object of ${Math.round(size)} B, ${count} objects`,
      unit: "bytes resident",
      ours: figure([perObject]),
      target: atMost(perObject, goal, `≤ 1.3 × its size + 200 B`),
    },
    {
      id: "memory-burst/embedded",
      title: `memory after ${lists} lists of ${LIST_COUNT} objects, when idle`,
      unit: "MB resident",
      ours: figure([after]),
      wall: {
        unit: "MB resident at the end of the lists",
        ours: figure([burst]),
        note: `${Math.round(filled)} before`,
      },
      target: atMost(after, filled * REMAINING_SHARE_MAX, "≤ 1.1 × before the lists"),
    },
  ];
}
