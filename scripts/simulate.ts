/**
 * Runs seeds of the simulator. For each seed that fails, reports the violations and the command that replays the seed.
 */
import { parseArgs } from "node:util";
import type { GuaranteeViolation } from "../src/tools/simulator/checker.ts";
import { runSeed, type SeedOptions, type SeedReport } from "../test/simulator/run-seed.ts";

const HELP = `Usage: npm run sim -- [options]

  --seeds <n>     number of seeds to run (default 50; with --seed: 1)
  --seed <n>      first seed (default 1)
  --minutes <n>   virtual minutes per seed (default 10)
  --restores      also restore the store from backups
  --trace         print the full trace
`;

const LINES_SHOWN = 30;
const LINES_MAX = 1_000_000;

interface SimOptions {
  readonly first: number;
  readonly count: number;
  readonly minutes: number;
  readonly isTraced: boolean;
  readonly restores: boolean;
}

function readOptions(argv: readonly string[]): SimOptions | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: { type: "string" },
      seed: { type: "string" },
      minutes: { type: "string", default: "10" },
      trace: { type: "boolean", default: false },
      restores: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const first = wholeNumber("seed", values.seed ?? "1");
  const count = wholeNumber("seeds", values.seeds ?? (values.seed === undefined ? "50" : "1"));
  const minutes = wholeNumber("minutes", values.minutes);
  return { first, count, minutes, isTraced: values.trace, restores: values.restores };
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new Error(`--${name} must be a whole number above zero, not ${text}`);
  return Number(text);
}

function printFailure({ seed, swarm, violations, lines }: SeedReport, { minutes, restores }: SimOptions): void {
  console.log(`\nseed ${seed} failed with ${violations.length} violations: ${JSON.stringify(swarm)}`);
  for (const { checker, promise, what } of violations.slice(0, 5)) console.log(`  ${checker}: ${promise}\n    ${what}`);
  const broken = lines.findIndex((line) => line.includes("BROKEN"));
  const end = broken < 0 ? lines.length : broken + 1;
  console.log(lines.slice(Math.max(0, end - LINES_SHOWN), end).join("\n"));
  const more = restores ? " --restores" : "";
  console.log(`replay: npm run sim -- --seed ${seed} --minutes ${minutes}${more} --trace\n`);
}

/**
 * Runs a seed. An error that no code handles fails this seed: a seed that stands still may end in such an error, and the
 * other seeds must still run.
 */
async function runOne(options: SeedOptions): Promise<SeedReport> {
  const unhandled: GuaranteeViolation[] = [];
  const note = (thrown: unknown): void => {
    const what = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    unhandled.push({ checker: "simulation", promise: "Every error is handled.", what });
  };
  process.on("uncaughtException", note);
  try {
    const report = await runSeed(options);
    return { ...report, violations: [...report.violations, ...unhandled] };
  } finally {
    process.off("uncaughtException", note);
  }
}

async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (options === undefined) {
    process.stdout.write(HELP);
    return 0;
  }
  const { first, count, minutes, isTraced, restores } = options;
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const failed: number[] = [];
  for (let seed = first; seed < first + count; seed++) {
    const report = await runOne({ seed, minutes, restores, traceLinesMax: isTraced ? LINES_MAX : 10_000 });
    if (isTraced) console.log(report.lines.join("\n"));
    if (report.violations.length > 0) {
      failed.push(seed);
      printFailure(report, options);
    }
    const done = seed - first + 1;
    if (done % 10 === 0 && done < count) console.log(`${done} seeds, ${(done / seconds()).toFixed(2)} per second`);
  }
  const pace = (count / seconds()).toFixed(2);
  const which = failed.length === 0 ? "" : `: ${failed.slice(0, 20).join(", ")}`;
  console.log(`${count} seeds of ${minutes} virtual minutes, ${pace} per second, ${failed.length} failed${which}`);
  return failed.length === 0 ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  console.error(thrown instanceof Error ? thrown.message : String(thrown));
  process.exitCode = 2;
}
