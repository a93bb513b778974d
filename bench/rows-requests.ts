/** Measures GET, LIST and create in closed loops. */
import { setTimeout as sleep } from "node:timers/promises";
import { createRequest, setFloorResponse, type BenchContext, type Subject } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { LIST_COUNT, LIST_NAMESPACE, NUMBER_MARK, WRITE_NAMESPACE } from "./objects.ts";
import { cpuMs } from "./process-usage.ts";
import { measureRounds, type MeasuredRounds, type RoundsOptions } from "./rounds.ts";
import { atMost, type Row } from "./row.ts";
import { TOKEN } from "./servers.ts";
import { figure, quantile } from "./statistics.ts";

const GET_RATIO_MAX = 2.5;
const LIST_RATIO_MAX = 2;
const CPU_UNIT = "CPU µs/request";
const LISTS_PER_SECOND = 1_000;
const LISTS_MS = 4_000;

type Load = Pick<RoundsOptions, "connections" | "concurrency" | "count" | "warmUp" | "numbers"> & {
  readonly protocol?: "h2";
};

async function rounds(
  context: BenchContext,
  subject: Subject,
  what: { request: RequestShape; path: string; load: Load },
): Promise<MeasuredRounds> {
  const { request, path, load } = what;
  const { client, floor, options } = context;
  await setFloorResponse(context, subject, what);
  const scaled = (count: number): number => Math.max(1, Math.round(count * options.scale));
  return measureRounds({
    client,
    rounds: options.rounds,
    protocol: "http/1.1",
    ...load,
    count: scaled(load.count),
    warmUp: scaled(load.warmUp),
    floor: {
      pids: [floor.pid],
      port: load.protocol === "h2" ? floor.http2Port : floor.port,
      request: { ...request, path: `/${path}/${NUMBER_MARK}` },
    },
    ours: {
      pids: [subject.server.pid],
      port: subject.server.port,
      request,
      ...(subject.etcdPid === undefined ? {} : { helperPid: subject.etcdPid }),
    },
  });
}

export async function getRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const request: RequestShape = {
    method: "GET",
    path: `/api/v1/namespaces/${LIST_NAMESPACE}/pods/pod-${NUMBER_MARK}`,
    expectStatus: 200,
  };
  const load = { connections: 32, concurrency: 32, count: 20_000, warmUp: 10_000, numbers: LIST_COUNT };
  const http1 = await rounds(context, subject, { request, path: "get", load });
  const target = atMost(http1.ratio.median, GET_RATIO_MAX, `≤ ${GET_RATIO_MAX}×`);
  const { store } = subject;
  const first: Row = { id: `get/${store}`, title: `GET 3 KB, ${store}`, unit: CPU_UNIT, ...pick(http1), target };
  if (store === "etcd") return [first, helperRow(`get/${store}/etcd`, "  CPU of etcd", http1)];
  const http2 = await rounds(context, subject, {
    request,
    path: "get",
    load: { ...load, protocol: "h2", connections: 4 },
  });
  return [first, { id: `get-h2/${store}`, title: "GET 3 KB, HTTP/2", unit: CPU_UNIT, ...pick(http2) }];
}

export async function listRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const request: RequestShape = { method: "GET", path: `/api/v1/namespaces/${LIST_NAMESPACE}/pods`, expectStatus: 200 };
  const measured = await rounds(context, subject, {
    request,
    path: "list",
    load: { connections: 2, concurrency: 2, count: 60, warmUp: 20 },
  });
  const target = atMost(measured.ratio.median, LIST_RATIO_MAX, `≤ ${LIST_RATIO_MAX}×`);
  const { store } = subject;
  return [
    { id: `list/${store}`, title: `LIST 5,000 × 3 KB, ${store}`, unit: CPU_UNIT, ...pick(measured), target },
    ...(store === "etcd" ? await consistentListRows(context, subject) : []),
  ];
}

/** Small consistent lists at a fixed rate: concurrent ones share a quorum read of etcd. */
async function consistentListRows({ client, options }: BenchContext, subject: Subject): Promise<Row[]> {
  const { server, etcdPid } = subject;
  const name = "paced lists";
  const request: RequestShape = { method: "GET", path: "/api/v1/namespaces", expectStatus: 200 };
  await client.open({ name, protocol: "http/1.1", port: server.port, connections: 32, token: TOKEN });
  const found: { readonly cpuUs: number; readonly etcdUs: number; readonly sorted: number[] }[] = [];
  for (let round = 0; round <= options.rounds; round++) {
    const before = { own: cpuMs(server.pid), etcd: cpuMs(etcdPid!) };
    await client.beginPace({ name, request, perSecond: LISTS_PER_SECOND, numbers: 1 });
    await sleep(LISTS_MS * options.scale);
    const { latenciesMs } = await client.endPace(name);
    const perList = (ms: number): number => (ms * 1000) / latenciesMs.length;
    const sorted = latenciesMs.toSorted((left, right) => left - right);
    // The first round is the warm-up.
    if (round > 0)
      found.push({
        cpuUs: perList(cpuMs(server.pid) - before.own),
        etcdUs: perList(cpuMs(etcdPid!) - before.etcd),
        sorted,
      });
  }
  await client.close(name);
  const latency = (share: number) => figure(found.map(({ sorted }) => quantile(sorted, share)));
  return [
    {
      ...{
        id: "list-paced/etcd",
        title: `LIST of namespaces, ${LISTS_PER_SECOND.toLocaleString("en")} per second, etcd`,
      },
      ...{ unit: CPU_UNIT, ours: figure(found.map(({ cpuUs }) => cpuUs)) },
      wall: { unit: "ms (median)", ours: latency(0.5), note: `p99 ${latency(0.99).median.toFixed(1)} ms` },
    },
    {
      ...{ id: "list-paced/etcd/etcd", title: "  CPU of etcd", unit: CPU_UNIT },
      ours: figure(found.map(({ etcdUs }) => etcdUs)),
    },
  ];
}

export async function createRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const request = createRequest(WRITE_NAMESPACE);
  // The floor returns, and stores, the response for an object whose number no round uses.
  const taught = { ...request, body: request.body!.replaceAll(NUMBER_MARK, "99999999") };
  await setFloorResponse(context, subject, { request: taught, path: "create", isWrite: true });
  const { client, floor, options } = context;
  const measured = await measureRounds({
    client,
    rounds: options.rounds,
    protocol: "http/1.1",
    connections: 16,
    concurrency: 16,
    count: Math.round(4_000 * options.scale),
    warmUp: Math.round(2_000 * options.scale),
    floor: { pids: [floor.pid], port: floor.port, request: { ...request, path: "/create" } },
    ours: {
      pids: [subject.server.pid],
      port: subject.server.port,
      request,
      ...(subject.etcdPid === undefined ? {} : { helperPid: subject.etcdPid }),
    },
  });
  const { store } = subject;
  const row: Row = { id: `create/${store}`, title: `create 3 KB, ${store}`, unit: CPU_UNIT, ...pick(measured) };
  return store === "etcd" ? [row, helperRow(`create/${store}/etcd`, "  CPU of etcd", measured)] : [row];
}

function pick({ floor, ours, ratio, wall }: MeasuredRounds): Pick<MeasuredRounds, "floor" | "ours" | "ratio" | "wall"> {
  return { floor, ours, ratio, wall };
}

function helperRow(id: string, title: string, { helperCpuUs }: MeasuredRounds): Row {
  return { id, title, unit: CPU_UNIT, ours: helperCpuUs };
}
