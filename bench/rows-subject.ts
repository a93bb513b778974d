/** The rows that are measured on one server with 5,000 objects: requests, watches and memory. */
import type { EtcdProcess } from "../test/testing/storage/kv-etcd/start-etcd.ts";
import { fill, type BenchContext, type Subject } from "./bench-context.ts";
import type { RowName } from "./options.ts";
import { residentMb } from "./process-usage.ts";
import type { Row } from "./row.ts";
import { againstRows } from "./rows-against.ts";
import { createWatchedRows } from "./rows-create-watched.ts";
import { deploymentRows } from "./rows-deployment.ts";
import { createRows, getRows, listRows } from "./rows-requests.ts";
import { watchRows } from "./rows-watch.ts";
import { startServer, temporaryDirectory } from "./servers.ts";
import { figure } from "./statistics.ts";
import { step } from "./step.ts";

/** Names of the rows that `withSubject` measures. */
const SUBJECT_ROWS: readonly RowName[] = ["get", "list", "create", "create-watched", "deployment", "watch", "memory"];

/** Starts one server, fills it with objects, and measures those of SUBJECT_ROWS that the options select. */
export async function withSubject(context: BenchContext, etcd: EtcdProcess | undefined): Promise<Row[]> {
  const { only, against } = context.options;
  if (against === undefined && !SUBJECT_ROWS.some((name) => only.has(name))) return [];
  const directory = temporaryDirectory();
  const server = await startServer({
    core: context.cores?.server,
    dataDirectory: directory.path,
    ...(etcd === undefined ? {} : { etcd: etcd.endpoint }),
  });
  try {
    const subject: Subject = { store: etcd === undefined ? "embedded" : "etcd", server, etcdPid: etcd?.pid };
    return against === undefined ? await subjectRows(context, subject) : await againstRows(context, subject, against);
  } finally {
    await server.stop();
    directory.remove();
  }
}

async function subjectRows(context: BenchContext, subject: Subject): Promise<Row[]> {
  const { only } = context.options;
  const { store } = subject;
  await step(`5,000 objects into ${store}`, () => fill(context, subject));
  const memory = [memoryRow(subject, "filled", "with 5,000 objects")];
  const rows: Row[] = [];
  if (only.has("get")) rows.push(...(await step(`GET, ${store}`, () => getRows(context, subject))));
  if (only.has("list")) {
    rows.push(...(await step(`LIST, ${store}`, () => listRows(context, subject))));
    memory.push(memoryRow(subject, "listed", "after the lists"));
  }
  if (only.has("create")) rows.push(...(await step(`create, ${store}`, () => createRows(context, subject))));
  if (only.has("create-watched"))
    rows.push(...(await step(`create with watchers, ${store}`, () => createWatchedRows(context, subject))));
  if (only.has("deployment"))
    rows.push(...(await step(`Deployments, ${store}`, () => deploymentRows(context, subject))));
  if (only.has("watch")) rows.push(...(await step(`watch, ${store}`, () => watchRows(context, subject))));
  return only.has("memory") ? [...rows, ...memory] : rows;
}

function memoryRow({ store, server }: Subject, id: string, title: string): Row {
  return {
    id: `memory-${id}/${store}`,
    title: `memory ${title}, ${store}`,
    unit: "MB resident",
    ours: figure([residentMb(server.pid)]),
  };
}
