/** Measures how watchers of a resource delay the responses to its writes. */
import type { BenchContext, Subject } from "./bench-context.ts";
import type { RequestShape, RunResult } from "./client/protocol.ts";
import { LoadClient } from "./load-client.ts";
import { NUMBER_MARK, WRITE_NAMESPACE } from "./objects.ts";
import { cpuMs } from "./process-usage.ts";
import { latencies } from "./rounds.ts";
import type { Row } from "./row.ts";
import { TOKEN } from "./servers.ts";
import { figure } from "./statistics.ts";
import { untilIdle } from "./until-idle.ts";

/** A server accepts 10,000 connections. */
const WATCHERS: readonly number[] = [0, 1, 1_000, 9_000];
const CONCURRENCY = 16;
/** Requests per round without watchers. With watchers, a round has fewer, so that it has about as many deliveries. */
const COUNT_MAX = 1_000;
const COUNT_MIN = 32;
const DELIVERIES = 100_000;

const PATH = `/api/v1/namespaces/${WRITE_NAMESPACE}/configmaps`;
const WATCH_PATH = `${PATH}?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=`;

interface Round {
  readonly cpuUs: number;
  readonly single: RunResult;
  readonly several: RunResult;
}

export async function createWatchedRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const rows: Row[] = [];
  let sequence = 0;
  for (const watchers of WATCHERS) {
    const count = Math.max(COUNT_MIN, Math.min(COUNT_MAX, Math.round(DELIVERIES / Math.max(1, watchers))));
    const scaled = Math.max(COUNT_MIN, Math.round(count * context.options.scale));
    const rounds: Round[] = [];
    await watched(context, subject, watchers, async () => {
      // The first round warms up.
      for (let round = 0; round <= context.options.rounds; round++) {
        rounds.push(await measureRound(context, subject, { count: scaled, firstNumber: sequence }));
        sequence += 2 * scaled;
      }
    });
    rows.push(rowOf(subject, watchers, { rounds: rounds.slice(1), count: scaled }));
  }
  return rows;
}

/** The watchers have a load generator of their own, because it would delay the responses that are measured. */
async function watched(
  { cores }: BenchContext,
  { server }: Subject,
  count: number,
  work: () => Promise<void>,
): Promise<void> {
  const client = new LoadClient(cores?.others);
  try {
    if (count > 0) await client.watch({ name: "watchers", port: server.port, token: TOKEN, path: WATCH_PATH, count });
    await work();
  } finally {
    await client.stop();
  }
}

async function measureRound(
  { client }: BenchContext,
  { server }: Subject,
  { count, firstNumber }: { readonly count: number; readonly firstNumber: number },
): Promise<Round> {
  const name = "create watched";
  const before = cpuMs(server.pid);
  const run = async (concurrency: number, first: number): Promise<RunResult> => {
    const connections = concurrency;
    await client.open({ name, protocol: "http/1.1", port: server.port, connections, token: TOKEN });
    const result = await client.run({ name, request: REQUEST, count, concurrency, firstNumber: first, numbers: count });
    await client.close(name);
    await untilIdle(server.pid);
    return result;
  };
  const single = await run(1, firstNumber);
  const several = await run(CONCURRENCY, firstNumber + count);
  return { cpuUs: ((cpuMs(server.pid) - before) * 1000) / (2 * count), single, several };
}

function rowOf(
  { store }: Subject,
  watchers: number,
  { rounds, count }: { readonly rounds: readonly Round[]; readonly count: number },
): Row {
  const perSecond = rounds.map(({ several }) => (count / several.wallMs) * 1000);
  const single = latencies(rounds.map((round) => round.single));
  const several = latencies(rounds.map((round) => round.several));
  return {
    id: `create-watched-${watchers}/${store}`,
    title: `create ConfigMap, ${watchers.toLocaleString("en")} watchers, ${store}`,
    unit: "CPU µs/request",
    ours: figure(rounds.map(({ cpuUs }) => cpuUs)),
    wall: { unit: "/s", ours: figure(perSecond), note: `alone ${single}; ${CONCURRENCY} at once ${several}` },
  };
}

const REQUEST: RequestShape = {
  method: "POST",
  path: PATH,
  body: JSON.stringify({ metadata: { name: `watched-${NUMBER_MARK}` }, data: { payload: "x".repeat(500) } }),
  expectStatus: 201,
};
