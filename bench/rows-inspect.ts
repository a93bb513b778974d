/**
 * Measures how long the inspection of a large snapshot takes, and its memory. Its floor is a process that reads and
 * hashes the same file once.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { BenchContext } from "./bench-context.ts";
import { entry, runMeasured, type MeasuredRun } from "./inspect/measured-process.ts";
import { writeSyntheticSnapshot } from "./inspect/synthetic-snapshot.ts";
import { atMost, compared, type Row } from "./row.ts";
import { ROOT, temporaryDirectory } from "./servers.ts";
import { step } from "./step.ts";

const KEYS = 1_000_000;
const ROUNDS_MAX = 5;
const RATIO_MAX = 3;
const PEAK_MB_MAX = 300;
const COMMAND = join(ROOT, "dist", "cli.js");

/** A program that reads a snapshot. */
interface Subject {
  readonly id: string;
  readonly title: string;
  readonly args: (file: string) => readonly string[];
  /** The codes with which the program may exit. */
  readonly exitCodes: readonly number[];
}

const SUBJECTS: readonly Subject[] = [
  {
    id: "walk",
    title: "all keys of a snapshot",
    args: (file) => [entry("walk-snapshot.ts"), file],
    exitCodes: [0],
  },
  {
    id: "command",
    title: "evenkeel inspect",
    args: (file) => [COMMAND, "inspect", "--etcd-snapshot", file, "--from", "1.35", "--to", "1.36", "-o", "json"],
    exitCodes: [0, 1],
  },
];

export async function inspectRows(context: BenchContext): Promise<Row[]> {
  const { scale, rounds } = context.options;
  const keys = Math.max(100, Math.round(KEYS * scale));
  const directory = temporaryDirectory();
  try {
    const file = join(directory.path, "snapshot.db");
    await step(`writing a snapshot of ${keys} keys`, async () => writeSyntheticSnapshot(file, keys));
    const rows: Row[] = [];
    for (const subject of SUBJECTS) {
      const pairs = await measure(file, subject, Math.min(rounds, ROUNDS_MAX));
      rows.push(...rowsOf(subject, `${keys} keys, ${(statSync(file).size / 1e9).toFixed(2)} GB`, pairs));
    }
    return rows;
  } finally {
    directory.remove();
  }
}

interface Round {
  readonly floor: MeasuredRun;
  readonly ours: MeasuredRun;
}

/** The file is in the page cache for both, because it has just been written or read. */
async function measure(file: string, { args, exitCodes }: Subject, rounds: number): Promise<readonly Round[]> {
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const floor = await runMeasured([entry("read-and-hash.ts"), file]);
    measured.push({ floor, ours: await runMeasured(args(file), exitCodes) });
  }
  return measured;
}

function rowsOf({ id, title }: Subject, size: string, rounds: readonly Round[]): Row[] {
  const pairs = (value: (run: MeasuredRun) => number): ReturnType<typeof compared> =>
    compared(rounds.map(({ floor, ours }) => ({ floor: value(floor), ours: value(ours) })));
  const cpu = pairs(({ cpuMs }) => cpuMs);
  const peak = pairs(({ peakMb }) => peakMb);
  const wall = pairs(({ wallMs }) => wallMs);
  return [
    {
      id: `inspect/${id}`,
      title: `${title}, ${size}`,
      unit: "CPU ms",
      ...cpu,
      wall: { unit: "ms", floor: wall.floor, ours: wall.ours },
      target: atMost(cpu.ratio.median, RATIO_MAX, `≤ ${RATIO_MAX}× floor`),
    },
    {
      id: `inspect/${id}-memory`,
      title: `memory of that, ${size}`,
      unit: "MB peak",
      ...peak,
      target: atMost(peak.ours.median, PEAK_MB_MAX, `≤ ${PEAK_MB_MAX} MB`),
    },
  ];
}
