/** Alternates rounds of requests between our server and the floor, and measures the CPU time of each. */
import type { Endpoint, RequestShape, RunResult } from "./client/protocol.ts";
import type { LoadClient } from "./load-client.ts";
import { cpuMs } from "./process-usage.ts";
import { compared, type Row } from "./row.ts";
import { figure } from "./statistics.ts";
import { TOKEN } from "./servers.ts";

export interface Side extends Endpoint {
  /**
   * All processes that serve a request together, such as two servers of which one proxies. Without any, the CPU time is
   * not known.
   */
  readonly pids: readonly number[];
  /** Default: the token of the options. */
  readonly token?: string;
  readonly request: RequestShape;
  /** Another process whose CPU time is reported separately, such as etcd. */
  readonly helperPid?: number;
}

export interface RoundsOptions {
  readonly client: LoadClient;
  readonly floor: Side;
  readonly ours: Side;
  readonly protocol: "http/1.1" | "h2";
  readonly connections: number;
  readonly concurrency: number;
  readonly rounds: number;
  /** Requests per round. */
  readonly count: number;
  /** Requests before the first round, so that both servers are warmed up. */
  readonly warmUp: number;
  /** How many different objects the requests address; if undefined, every request addresses another one. */
  readonly numbers?: number;
  /** Default: the administrator's token. */
  readonly token?: string;
}

interface Measured {
  readonly cpuUs: number;
  readonly helperCpuUs: number;
  readonly result: RunResult;
}

type Comparison = Required<Pick<Row, "floor" | "ours" | "ratio">>;

export interface MeasuredRounds extends Comparison {
  readonly wall: NonNullable<Row["wall"]>;
  readonly helperCpuUs: ReturnType<typeof figure>;
  /** The median latency of each round, in ms. */
  readonly latency: Comparison;
}

export async function measureRounds(options: RoundsOptions): Promise<MeasuredRounds> {
  const numbers = { floor: 0, ours: 0 };
  const measured: { floor: Measured; ours: Measured }[] = [];
  const runSide = async (name: "floor" | "ours", count: number): Promise<Measured> => {
    const firstNumber = options.numbers === undefined ? numbers[name] : 0;
    numbers[name] += count;
    return measureSide(options, options[name], { count, firstNumber });
  };
  await runSide("floor", options.warmUp);
  await runSide("ours", options.warmUp);
  for (let round = 0; round < options.rounds; round++) {
    const order = round % 2 === 0 ? (["floor", "ours"] as const) : (["ours", "floor"] as const);
    const first = await runSide(order[0], options.count);
    const second = await runSide(order[1], options.count);
    measured.push(order[0] === "floor" ? { floor: first, ours: second } : { floor: second, ours: first });
  }
  const perSecond = ({ result }: Measured): number => (options.count / result.wallMs) * 1000;
  return {
    ...compared(measured.map(({ floor, ours }) => ({ floor: floor.cpuUs, ours: ours.cpuUs }))),
    helperCpuUs: figure(measured.map(({ ours }) => ours.helperCpuUs)),
    latency: compared(measured.map(({ floor, ours }) => ({ floor: floor.result.p50Ms, ours: ours.result.p50Ms }))),
    wall: {
      unit: "/s",
      floor: figure(measured.map(({ floor }) => perSecond(floor))),
      ours: figure(measured.map(({ ours }) => perSecond(ours))),
      note: latencies(measured.map(({ ours }) => ours.result)),
    },
  };
}

export function latencies(results: readonly RunResult[]): string {
  const p50 = figure(results.map(({ p50Ms }) => p50Ms)).median;
  const p99 = figure(results.map(({ p99Ms }) => p99Ms)).median;
  return `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)} ms`;
}

/** Where a side listens, and its token if it has its own. */
export function credentialsOf({ host, port, trust, token }: Omit<Side, "request">): Endpoint & Pick<Side, "token"> {
  return {
    port,
    ...(host !== undefined && { host }),
    ...(trust !== undefined && { trust }),
    ...(token !== undefined && { token }),
  };
}

async function measureSide(
  options: RoundsOptions,
  side: Side,
  work: { count: number; firstNumber: number },
): Promise<Measured> {
  const { client, protocol, connections, concurrency } = options;
  const name = "rounds";
  await client.open({ name, protocol, connections, token: options.token ?? TOKEN, ...credentialsOf(side) });
  const helper = (): number => (side.helperPid === undefined ? 0 : cpuMs(side.helperPid));
  const own = (): number => (side.pids.length === 0 ? NaN : side.pids.reduce((sum, pid) => sum + cpuMs(pid), 0));
  const before = { own: own(), helper: helper() };
  const result = await client.run({
    name,
    request: side.request,
    concurrency,
    numbers: options.numbers ?? work.count,
    ...work,
  });
  const perRequest = (ms: number): number => (ms * 1000) / work.count;
  const measured = {
    cpuUs: perRequest(own() - before.own),
    helperCpuUs: perRequest(helper() - before.helper),
    result,
  };
  await client.close(name);
  return measured;
}
