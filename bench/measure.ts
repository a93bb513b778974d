/** Measures the selected rows, one after the other. */
import { hostname } from "node:os";
import { createServingCertificate } from "../src/serving/http/node/serving-certificate.ts";
import { startEtcd, type EtcdProcess } from "../test/testing/storage/kv-etcd/start-etcd.ts";
import type { BenchContext } from "./bench-context.ts";
import { chooseCores, pin } from "./cores.ts";
import { LoadClient } from "./load-client.ts";
import type { BenchOptions } from "./options.ts";
import type { Row } from "./row.ts";
import { rowsAgainst } from "./measure-against.ts";
import { rowsWithoutServers } from "./measure-without-servers.ts";
import { accessRows } from "./rows-access.ts";
import { clusterRows } from "./rows-cluster.ts";
import { coldRows } from "./rows-cold.ts";
import { customRows } from "./rows-custom.ts";
import { crdGrowthRows, objectGrowthRows } from "./rows-growth.ts";
import { ifReadyTlsRows } from "./rows-if-ready.ts";
import { manyObjectsRows } from "./rows-memory.ts";
import { migrateRows } from "./rows-migrate.ts";
import { namespaceRows } from "./rows-namespace.ts";
import { ownerGraphRows } from "./rows-owner-graph.ts";
import { publishRows } from "./rows-publish.ts";
import { embeddedStartRows, etcdStartRows } from "./rows-start.ts";
import { withSubject } from "./rows-subject.ts";
import { startFloor } from "./servers.ts";
import { printLine, step } from "./step.ts";

export async function measureAll(options: BenchOptions): Promise<Row[]> {
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
  if (options.against !== undefined) return await rowsAgainst(context);
  const rows = await rowsWithoutServers(context);
  if (options.stores.has("embedded")) rows.push(...(await embeddedRows(context)));
  const etcd = options.stores.has("etcd") ? await startEtcd() : undefined;
  if (etcd !== undefined) {
    stack.defer(() => etcd.stop());
    rows.push(...(await etcdRows(context, etcd)), ...(await clusterRows(context)));
  } else if (options.stores.has("etcd")) printLine("etcd is not installed: skipping its rows");
  return rows;
}

async function embeddedRows(context: BenchContext): Promise<Row[]> {
  const { only } = context.options;
  return [
    ...(only.has("start") ? await step("start, embedded", () => embeddedStartRows(context)) : []),
    ...(only.has("if-ready") ? await step("If-Ready over TLS", () => ifReadyTlsRows(context)) : []),
    ...(only.has("publish") ? await step("publishing storage versions", () => publishRows(context)) : []),
    ...(only.has("cold") ? await step("first writes of new servers", () => coldRows(context)) : []),
    ...(await withSubject(context, undefined)),
    ...(only.has("memory") ? await step("memory of 100,000 objects", () => manyObjectsRows(context)) : []),
    ...(only.has("migrate") ? await step("storage migration", () => migrateRows(context)) : []),
    ...(only.has("namespace") ? await step("namespace deletion", () => namespaceRows(context)) : []),
    ...(only.has("owner-graph") ? await step("memory of the owner graph", () => ownerGraphRows(context)) : []),
    ...(only.has("custom") ? await step("custom resources", () => customRows(context)) : []),
    ...(only.has("access") ? await step("authorization", () => accessRows(context)) : []),
    ...(only.has("growth") ? [...(await objectGrowthRows(context)), ...(await crdGrowthRows(context))] : []),
  ];
}

async function etcdRows(context: BenchContext, etcd: EtcdProcess): Promise<Row[]> {
  const rows = context.options.only.has("start")
    ? await step("start, etcd", () => etcdStartRows(context, etcd.endpoint))
    : [];
  pin(context.cores?.others, etcd.pid);
  return [...rows, ...(await withSubject(context, etcd))];
}
