/** Starts an etcd for single rows, because records of the servers of an earlier cluster would remain in it. */
import { startEtcd, type EtcdProcess } from "../test/testing/storage/kv-etcd/start-etcd.ts";
import type { BenchContext } from "./bench-context.ts";
import { pin } from "./cores.ts";
import type { Row } from "./row.ts";

export async function onOwnEtcd(
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
