/** The rows that measure single functions, without sockets or stores. */
import { fileURLToPath } from "node:url";
import type { BenchContext } from "./bench-context.ts";
import { Child } from "./child.ts";
import { pinned } from "./cores.ts";
import type {
  DefaultsSamples,
  Difference,
  EncryptionSamples,
  IfReadySamples,
  Measurement,
  Samples,
} from "./in-process/protocol.ts";
import { atMost, compared, type Row } from "./row.ts";
import { figure } from "./statistics.ts";

const FILTER_NS_MAX = 1_000;
const MERGE_MS_MAX = 20;
const IF_READY_NS_MAX = 500;
const ENCRYPTION_NS_MAX = 60_000;
/** The noise of the measurement: without the flag, the server does not wrap its store. */
const ENCRYPTION_OFF_NS_MAX = 1_000;

export async function filterRows(context: BenchContext): Promise<Row[]> {
  const { rounds, scale } = context.options;
  const ours = figure(await measured(context, { kind: "filter", rounds, count: Math.round(2_000_000 * scale) }));
  return [
    {
      id: "filter",
      title: "peer proxy, served locally, 2 peers",
      unit: "CPU ns/request",
      ours,
      target: atMost(ours.median, FILTER_NS_MAX, "≤ 1 µs"),
    },
  ];
}

/** The cost of the filter for X-Kubernetes-If-Ready around a handler that does nothing. */
export async function ifReadyRows(context: BenchContext): Promise<Row[]> {
  const { rounds, scale } = context.options;
  const count = Math.round(1_000_000 * scale);
  const samples = await measured<IfReadySamples>(context, { kind: "if-ready", rounds, count });
  return Object.entries(samples).map(([name, ofCase]) => {
    const ours = figure(ofCase);
    const target = atMost(ours.median, IF_READY_NS_MAX, "≤ 0.5 µs");
    return { id: `if-ready/${name}`, title: `If-Ready ${name}`, unit: "CPU ns/request", ours, target };
  });
}

/** The cost of encryption at rest for one value of 1 KiB, by operation and provider. */
export async function encryptionRows(context: BenchContext): Promise<Row[]> {
  const { rounds, scale } = context.options;
  const count = Math.round(4_000 * scale);
  const samples = await measured<EncryptionSamples>(context, { kind: "encryption", rounds, count });
  return Object.entries(samples).map(([name, ofCase]) => {
    const ours = figure(ofCase);
    const max = name.endsWith(", off") ? ENCRYPTION_OFF_NS_MAX : ENCRYPTION_NS_MAX;
    const target = atMost(Math.abs(ours.median), max, `≤ ${max / 1_000} µs`);
    return { id: `encryption/${name}`, title: `Encryption ${name}`, unit: "CPU ns/value", ours, target };
  });
}

/** The cost of defaults on read, beside the same server without them. */
export async function defaultsRows(context: BenchContext): Promise<Row[]> {
  const { rounds, scale } = context.options;
  const count = Math.max(1, Math.round(6 * scale));
  const samples = await measured<DefaultsSamples>(context, { kind: "defaults", rounds, count });
  return Object.entries(samples).map(([name, pairs]) => ({
    id: `defaults/${name}`,
    title: `defaults on read: ${name}`,
    unit: "CPU µs",
    ...compared(pairs),
  }));
}

export async function mergeRows(context: BenchContext): Promise<Row[]> {
  const { rounds, scale } = context.options;
  const row = async (documents: Difference, title: string): Promise<Row> => {
    const count = Math.max(1, Math.round(50 * scale));
    const ours = figure(await measured(context, { kind: "merge", rounds, count, documents }));
    const target = atMost(ours.median, MERGE_MS_MAX, `≤ ${MERGE_MS_MAX} ms`);
    return { id: `merge/${documents}`, title, unit: "CPU ms/merge", ours, target };
  };
  return [
    await row("some", "merge 100 servers, 4 × 1,000 versions"),
    await row("all", "  every group version differs"),
  ];
}

async function measured<T = Samples>({ cores }: BenchContext, measurement: Measurement): Promise<T> {
  const file = fileURLToPath(new URL("in-process/main.ts", import.meta.url));
  const child = new Child({
    command: pinned(cores?.server, [process.execPath, file]),
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  try {
    return await child.ask<T>(measurement);
  } finally {
    await child.stop();
  }
}
