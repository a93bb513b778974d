/** Measures the selected rows that start no server: parts of a server in one process, and commands. */
import type { BenchContext } from "./bench-context.ts";
import type { Row } from "./row.ts";
import { defaultsRows, encryptionRows, filterRows, ifReadyRows, mergeRows } from "./rows-in-process.ts";
import { inspectRows } from "./rows-inspect.ts";
import { step } from "./step.ts";

export async function rowsWithoutServers(context: BenchContext): Promise<Row[]> {
  const { only } = context.options;
  return [
    ...(only.has("filter") ? await step("peer proxy filter", () => filterRows(context)) : []),
    ...(only.has("encryption") ? await step("encryption at rest", () => encryptionRows(context)) : []),
    ...(only.has("if-ready") ? await step("If-Ready filter", () => ifReadyRows(context)) : []),
    ...(only.has("defaults") ? await step("defaults on read", () => defaultsRows(context)) : []),
    ...(only.has("inspect") ? await step("inspection of a snapshot", () => inspectRows(context)) : []),
    ...(only.has("merge") ? await step("discovery merge", () => mergeRows(context)) : []),
  ];
}
