/** Measures the rows that need an etcd of their own: servers that call each other, and the growth of an etcd. */
import type { EtcdProcess } from "../test/testing/storage/kv-etcd/start-etcd.ts";
import type { BenchContext } from "./bench-context.ts";
import { onOwnEtcd } from "./own-etcd.ts";
import type { Row } from "./row.ts";
import { discoveryRows } from "./rows-discovery.ts";
import { objectGrowthRows, serverGrowthRows } from "./rows-growth.ts";
import { proxyRows } from "./rows-proxy.ts";
import { step } from "./step.ts";

export async function clusterRows(context: BenchContext): Promise<Row[]> {
  const { only } = context.options;
  return [
    ...(only.has("proxy") ? await step("GET through a peer", () => onOwnEtcd(context, proxyRows)) : []),
    ...(only.has("merge") ? await step("merged discovery", () => onOwnEtcd(context, discoveryRows)) : []),
    ...(only.has("growth") ? await onOwnEtcd(context, growthOnEtcd) : []),
    ...(only.has("growth") ? await onOwnEtcd(context, growthOfServers) : []),
  ];
}

function growthOnEtcd(context: BenchContext, { endpoint }: EtcdProcess): Promise<Row[]> {
  return objectGrowthRows(context, endpoint);
}

function growthOfServers(context: BenchContext, { endpoint }: EtcdProcess): Promise<Row[]> {
  return serverGrowthRows(context, endpoint);
}
