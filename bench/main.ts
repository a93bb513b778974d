/** npm run bench: measures the cost of requests, compared with a plain Node server. See --help. */
import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, loadavg } from "node:os";
import { join, relative } from "node:path";
import { chooseCores } from "./cores.ts";
import { renderGrowth } from "./growth-chart.ts";
import { measureAll } from "./measure.ts";
import { HELP, parseOptions, type BenchOptions } from "./options.ts";
import { renderComparison, renderResult, type Result } from "./report.ts";
import { newestResult, readResult, writeResult, writeText } from "./results-directory.ts";
import { ROOT } from "./servers.ts";
import { printLine } from "./step.ts";
import { UsageError } from "./usage-error.ts";

const RESULTS = join(ROOT, "bench-results");
const USAGE_ERROR = 2;

async function main(argv: readonly string[]): Promise<void> {
  const options = parseOptions(argv);
  if (options === undefined) {
    process.stdout.write(HELP);
    return;
  }
  const before = earlierResult(options);
  if (options.compareWith !== undefined && before === undefined)
    throw new UsageError(`${options.compareWith} is not a result of this benchmark`);
  const header = machine(options);
  const result: Result = { ...header, rows: await measureAll(options) };
  process.stdout.write(`\n${renderResult(result)}\n`);
  if (before !== undefined)
    process.stdout.write(`\n${renderComparison(result, before.result, relative(ROOT, before.file))}\n`);
  if (options.against !== undefined) return;
  const chart = renderGrowth(result.rows, `commit ${result.commit.slice(0, 12)}, ${result.cpu}, ${result.date}`);
  if (chart !== undefined)
    process.stdout.write(`\nDrawn in ${relative(ROOT, writeText(RESULTS, "growth.html", chart))}\n`);
  process.stdout.write(`\nWritten to ${relative(ROOT, writeResult(RESULTS, result))}\n`);
}

/** Without --compare, a result against another server is not compared, because its floor is another one. */
function earlierResult({ compareWith, scale, against }: BenchOptions): ReturnType<typeof readResult> {
  if (compareWith !== undefined) return readResult(compareWith);
  return against === undefined ? newestResult(RESULTS, scale) : undefined;
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
    ...(options.against === undefined ? {} : { against: options.against.url }),
  };
}

function git(args: readonly string[]): string {
  try {
    return execFileSync("git", [...args], { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return "";
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(130));
try {
  await main(process.argv.slice(2));
} catch (thrown) {
  const isUsage = thrown instanceof UsageError;
  printLine(
    `bench: ${isUsage ? `${thrown.message}; see --help` : thrown instanceof Error ? thrown.stack : String(thrown)}`,
  );
  // Also stops the child processes: see child.ts.
  process.exit(isUsage ? USAGE_ERROR : 1);
}
