/** Measures GET, LIST and create in closed loops. */
import { createRequest, setFloorResponse, type BenchContext, type Subject } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { LIST_COUNT, LIST_NAMESPACE, NUMBER_MARK, WRITE_NAMESPACE } from "./objects.ts";
import { measureRounds, type MeasuredRounds, type RoundsOptions } from "./rounds.ts";
import { atMost, type Row } from "./row.ts";

const GET_RATIO_MAX = 2.5;
const LIST_RATIO_MAX = 2;
const CPU_UNIT = "CPU µs/request";

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
  return [
    {
      id: `list/${subject.store}`,
      title: `LIST 5,000 × 3 KB, ${subject.store}`,
      unit: CPU_UNIT,
      ...pick(measured),
      target,
    },
  ];
}

export async function createRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const request = createRequest(WRITE_NAMESPACE);
  // The floor returns the response for an object whose number no round uses.
  const taught = { ...request, body: request.body!.replaceAll(NUMBER_MARK, "99999999") };
  await setFloorResponse(context, subject, { request: taught, path: "create" });
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
