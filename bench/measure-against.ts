/** Measures our server on each store beside another API server. */
import type { BenchContext } from "./bench-context.ts";
import { onOwnEtcd } from "./own-etcd.ts";
import type { Row } from "./row.ts";
import { AGAINST_ROWS } from "./rows-against.ts";
import { withSubject } from "./rows-subject.ts";
import { UsageError } from "./usage-error.ts";

export async function rowsAgainst(context: BenchContext): Promise<Row[]> {
  const rows: Row[] = [];
  const { stores, only } = context.options;
  if (!AGAINST_ROWS.some((name) => only.has(name)))
    throw new UsageError(`with --against, --only accepts ${AGAINST_ROWS.join(", ")}`);
  if (stores.has("embedded")) rows.push(...(await withSubject(context, undefined)));
  if (stores.has("etcd")) rows.push(...(await onOwnEtcd(context, withSubject)));
  return rows;
}
