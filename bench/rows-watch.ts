/** Measures the cost of sending one change to a thousand watchers. */
import type { BenchContext, Subject } from "./bench-context.ts";
import type { FanOutResult, RequestShape } from "./client/protocol.ts";
import { LIST_NAMESPACE, touchText } from "./objects.ts";
import { cpuMs } from "./process-usage.ts";
import { latencies } from "./rounds.ts";
import { compared, type Row } from "./row.ts";
import { TOKEN } from "./servers.ts";
import { figure } from "./statistics.ts";

const WATCHERS = 1_000;
const EVENTS = 100;
/** Watches per connection over HTTP/2, as a controller manager has them. */
const SHARED = 20;
/**
 * Expected number of encodings per event: the whole object for the watchers. The garbage collector receives its
 * metadata as a value. Lease renewals add a little.
 */
const FORMS = 1;

interface Measured {
  readonly cpuUs: number;
  readonly encodingsPerEvent: number;
  readonly result: FanOutResult;
}

interface Side {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  /** The port for watches over HTTP/2. */
  readonly http2Port: number;
  readonly watchPath: string;
  readonly trigger: RequestShape;
  readonly encodings: () => Promise<number>;
}

export async function watchRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const { store } = subject;
  const own = await measureFanOut(context, subject, undefined);
  const shared = await measureFanOut(context, subject, SHARED);
  return [
    fanOutRow(own, { id: `watch/${store}`, title: `watch, 1 event to ${WATCHERS.toLocaleString("en")}, ${store}` }),
    encodingsRow(own, store),
    fanOutRow(shared, { id: `watch-h2/${store}`, title: `  over HTTP/2, ${SHARED} per connection` }),
  ];
}

interface Pair {
  readonly floor: Measured;
  readonly ours: Measured;
}

async function measureFanOut(
  context: BenchContext,
  subject: Subject,
  perConnection: number | undefined,
): Promise<readonly Pair[]> {
  const { floor, options } = context;
  const sides = { ours: ourSide(context, subject), floor: floorSide(context) };
  const events = Math.max(5, Math.round(EVENTS * options.scale));
  let sequence = 1;
  const run = async (side: Side, count: number): Promise<Measured> => {
    const measured = await measureSide(context, side, { events: count, firstNumber: sequence });
    sequence += count;
    return measured;
  };
  for (const side of Object.values(sides)) await open(context, side, perConnection);
  // The floor sends the bytes of an event that one of our watchers has received.
  const sample = await run(sides.ours, Math.min(events, 10));
  await floor.setEvent(sample.result.event);
  await run(sides.floor, Math.min(events, 10));
  const measured: Pair[] = [];
  for (let round = 0; round < options.rounds; round++)
    measured.push({ floor: await run(sides.floor, events), ours: await run(sides.ours, events) });
  for (const { name } of Object.values(sides))
    await Promise.all([context.client.close(`${name} watchers`), context.client.close(`${name} trigger`)]);
  return measured;
}

function fanOutRow(measured: readonly Pair[], row: Pick<Row, "id" | "title">): Row {
  const perEvent = ({ result }: Measured): number => result.p50Ms;
  return {
    ...row,
    unit: "CPU µs/delivery",
    ...compared(measured.map(({ floor, ours }) => ({ floor: floor.cpuUs, ours: ours.cpuUs }))),
    wall: {
      unit: "ms to the last watcher",
      floor: figure(measured.map(({ floor }) => perEvent(floor))),
      ours: figure(measured.map(({ ours }) => perEvent(ours))),
      note: latencies(measured.map(({ ours }) => ours.result)),
    },
  };
}

function encodingsRow(measured: readonly Pair[], store: string): Row {
  const encodings = figure(measured.map(({ ours }) => ours.encodingsPerEvent));
  return {
    id: `watch-encodings/${store}`,
    title: "  encodings per event",
    unit: "encodings",
    ours: encodings,
    target: { text: "1 a form", verdict: encodings.low >= FORMS && encodings.high < FORMS + 0.5 ? "met" : "missed" },
  };
}

function ourSide({ client }: BenchContext, { server }: Subject): Side {
  const name = "pod-00000000";
  return {
    name: "ours",
    pid: server.pid,
    port: server.port,
    http2Port: server.port,
    // Watches a single object and requests no initial events, so that each trigger sends exactly one event to every
    // watcher.
    watchPath: `/api/v1/namespaces/${LIST_NAMESPACE}/pods?watch=1&fieldSelector=metadata.name%3D${name}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=`,
    trigger: {
      method: "PATCH",
      path: `/api/v1/namespaces/${LIST_NAMESPACE}/pods/${name}`,
      body: touchText(),
      contentType: "application/merge-patch+json",
      expectStatus: 200,
    },
    async encodings() {
      const { body } = await client.fetch("ours trigger", { method: "GET", path: "/metrics", expectStatus: 200 });
      return Number(/^evenkeel_watch_encodings_total ([0-9]+)$/m.exec(body)?.[1] ?? "0");
    },
  };
}

function floorSide({ floor }: BenchContext): Side {
  const trigger: RequestShape = {
    method: "PATCH",
    path: "/emit",
    body: touchText(),
    contentType: "application/merge-patch+json",
    expectStatus: 200,
  };
  return {
    name: "floor",
    pid: floor.pid,
    port: floor.port,
    http2Port: floor.http2Port,
    watchPath: "/watch",
    trigger,
    encodings: () => Promise.resolve(0),
  };
}

/** Opens the watches of one server. They stay open for all rounds, because connecting takes longer than measuring. */
async function open(
  { client }: BenchContext,
  { name, port, http2Port, watchPath }: Side,
  perConnection: number | undefined,
): Promise<void> {
  await client.open({ name: `${name} trigger`, protocol: "http/1.1", port, connections: 1, token: TOKEN });
  const watches = { name: `${name} watchers`, token: TOKEN, path: watchPath, count: WATCHERS };
  await client.watch(
    perConnection === undefined ? { ...watches, port } : { ...watches, port: http2Port, perConnection },
  );
}

async function measureSide(
  { client }: BenchContext,
  side: Side,
  work: { events: number; firstNumber: number },
): Promise<Measured> {
  const before = { cpu: cpuMs(side.pid), encodings: await side.encodings() };
  const result = await client.fanOut({
    watchers: `${side.name} watchers`,
    trigger: `${side.name} trigger`,
    request: side.trigger,
    ...work,
  });
  const cpu = cpuMs(side.pid) - before.cpu;
  const encodings = (await side.encodings()) - before.encodings;
  return { cpuUs: (cpu * 1000) / (work.events * WATCHERS), encodingsPerEvent: encodings / work.events, result };
}
