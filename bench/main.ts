/** npm run bench: what requests cost the server, next to what they cost a plain Node server. See --help. */
import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, hostname, loadavg } from "node:os";
import { join, relative } from "node:path";
import { createServingCertificate } from "../src/serving/http/node/serving-certificate.ts";
import { startEtcd, type EtcdProcess } from "../test/testing/storage/kv-etcd/start-etcd.ts";
import { fill, type BenchContext, type Subject } from "./bench-context.ts";
import { chooseCores, pin } from "./cores.ts";
import { LoadClient } from "./load-client.ts";
import { HELP, parseOptions, UsageError, type BenchOptions, type RowName } from "./options.ts";
import { residentMb } from "./process-usage.ts";
import { renderComparison, renderResult, type Result } from "./report.ts";
import { newestResult, readResult, writeResult } from "./results-directory.ts";
import type { Row } from "./row.ts";
import { accessRows } from "./rows-access.ts";
import { customRows } from "./rows-custom.ts";
import { deploymentRows } from "./rows-deployment.ts";
import { discoveryRows } from "./rows-discovery.ts";
import { filterRows, ifReadyRows, mergeRows } from "./rows-in-process.ts";
import { ifReadyTlsRows } from "./rows-if-ready.ts";
import { migrateRows } from "./rows-migrate.ts";
import { namespaceRows } from "./rows-namespace.ts";
import { ownerGraphRows } from "./rows-owner-graph.ts";
import { proxyRows } from "./rows-proxy.ts";
import { publishRows } from "./rows-publish.ts";
import { createRows, getRows, listRows } from "./rows-requests.ts";
import { embeddedStartRows, etcdStartRows } from "./rows-start.ts";
import { watchRows } from "./rows-watch.ts";
import { ROOT, startFloor, startServer, temporaryDirectory } from "./servers.ts";
import { figure } from "./statistics.ts";

const RESULTS = join(ROOT, "bench-results");
const USAGE_ERROR = 2;
/** Those that are measured on one filled server. */
const SUBJECT_ROWS: readonly RowName[] = ["get", "list", "create", "deployment", "watch", "memory"];

async function main(argv: readonly string[]): Promise<void> {
  const options = parseOptions(argv);
  if (options === undefined) {
    process.stdout.write(HELP);
    return;
  }
  const before =
    options.compareWith === undefined ? newestResult(RESULTS, options.scale) : readResult(options.compareWith);
  if (options.compareWith !== undefined && before === undefined)
    throw new UsageError(`${options.compareWith} is not a result of this benchmark`);
  const header = machine(options);
  const result: Result = { ...header, rows: await measureAll(options) };
  process.stdout.write(`\n${renderResult(result)}\n`);
  if (before !== undefined)
    process.stdout.write(`\n${renderComparison(result, before.result, relative(ROOT, before.file))}\n`);
  process.stdout.write(`\nWritten to ${relative(ROOT, writeResult(RESULTS, result))}\n`);
}

function machine(options: BenchOptions): Omit<Result, "rows"> {
  return {
    commit: git(["rev-parse", "HEAD"]) || "unknown",
    changed: git(["status", "--porcelain", "--", "src", "bin", "scripts", "package-lock.json"]) !== "",
    node: process.version.slice(1),
    cpu: cpus()[0]?.model ?? "unknown processor",
    cores: availableParallelism(),
    pinned: chooseCores() !== undefined,
    loadAverage: loadavg(),
    date: new Date().toISOString(),
    rounds: options.rounds,
    scale: options.scale,
  };
}

function git(args: readonly string[]): string {
  try {
    return execFileSync("git", [...args], { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}

async function measureAll(options: BenchOptions): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const cores = chooseCores();
  const certificate = createServingCertificate({
    hosts: ["localhost", "127.0.0.1"],
    commonName: hostname(),
    nowMs: Date.now(),
  });
  const client = new LoadClient(cores?.others);
  stack.defer(() => client.stop());
  const floor = await startFloor(certificate, cores?.server);
  stack.defer(() => floor.stop());
  const context: BenchContext = { options, cores, certificate, client, floor };
  const rows = await inProcessRows(context);
  if (options.stores.has("embedded")) rows.push(...(await embeddedRows(context)));
  const etcd = options.stores.has("etcd") ? await startEtcd() : undefined;
  if (etcd !== undefined) {
    stack.defer(() => etcd.stop());
    rows.push(...(await etcdRows(context, etcd)), ...(await clusterRows(context)));
  } else if (options.stores.has("etcd")) say("etcd is not installed: its rows are left out");
  return rows;
}

async function inProcessRows(context: BenchContext): Promise<Row[]> {
  const { only } = context.options;
  return [
    ...(only.has("filter") ? await step("peer proxy filter", () => filterRows(context)) : []),
    ...(only.has("if-ready") ? await step("If-Ready filter", () => ifReadyRows(context)) : []),
    ...(only.has("merge") ? await step("merge of discovery", () => mergeRows(context)) : []),
  ];
}

async function clusterRows(context: BenchContext): Promise<Row[]> {
  const { only } = context.options;
  return [
    ...(only.has("proxy") ? await step("GET through a peer", () => onOwnEtcd(context, proxyRows)) : []),
    ...(only.has("merge") ? await step("merged discovery", () => onOwnEtcd(context, discoveryRows)) : []),
  ];
}

async function onOwnEtcd(
  context: BenchContext,
  rows: (context: BenchContext, etcd: EtcdProcess) => Promise<Row[]>,
): Promise<Row[]> {
  const etcd = await startEtcd();
  if (etcd === undefined) return [];
  try {
    pin(context.cores?.others, etcd.pid);
    return await rows(context, etcd);
  } finally {
    await etcd.stop();
  }
}

async function embeddedRows(context: BenchContext): Promise<Row[]> {
  const { only } = context.options;
  return [
    ...(only.has("start") ? await step("start, embedded", () => embeddedStartRows(context)) : []),
    ...(only.has("if-ready") ? await step("If-Ready over TLS", () => ifReadyTlsRows(context)) : []),
    ...(only.has("publish") ? await step("publishing storage versions", () => publishRows(context)) : []),
    ...(await withSubject(context, undefined)),
    ...(only.has("migrate") ? await step("storage migration", () => migrateRows(context)) : []),
    ...(only.has("namespace") ? await step("namespace deletion", () => namespaceRows(context)) : []),
    ...(only.has("owner-graph") ? await step("memory of the owner graph", () => ownerGraphRows(context)) : []),
    ...(only.has("custom") ? await step("custom resources", () => customRows(context)) : []),
    ...(only.has("access") ? await step("authorization", () => accessRows(context)) : []),
  ];
}

async function etcdRows(context: BenchContext, etcd: EtcdProcess): Promise<Row[]> {
  const rows = context.options.only.has("start")
    ? await step("start, etcd", () => etcdStartRows(context, etcd.endpoint))
    : [];
  pin(context.cores?.others, etcd.pid);
  return [...rows, ...(await withSubject(context, etcd))];
}

/** One server for all rows that send requests, with the objects they need. */
async function withSubject(context: BenchContext, etcd: EtcdProcess | undefined): Promise<Row[]> {
  const { only } = context.options;
  if (!SUBJECT_ROWS.some((name) => only.has(name))) return [];
  const directory = temporaryDirectory();
  const server = await startServer({
    core: context.cores?.server,
    dataDirectory: directory.path,
    ...(etcd === undefined ? {} : { etcd: etcd.endpoint }),
  });
  try {
    return await subjectRows(context, { store: etcd === undefined ? "embedded" : "etcd", server, etcdPid: etcd?.pid });
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

async function step<Value>(title: string, work: () => Promise<Value>): Promise<Value> {
  const started = performance.now();
  const value = await work();
  say(`${title}: done in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return value;
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
try {
  await main(process.argv.slice(2));
} catch (thrown) {
  const isUsage = thrown instanceof UsageError;
  say(`bench: ${isUsage ? `${thrown.message}; see --help` : thrown instanceof Error ? thrown.stack : String(thrown)}`);
  // Ends what was started, too: see child.ts.
  process.exit(isUsage ? USAGE_ERROR : 1);
}
