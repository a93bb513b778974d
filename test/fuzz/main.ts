/** The command behind `npm run fuzz`. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { fuzz } from "./fuzz.ts";
import { describeExchange, describeFailure } from "./report.ts";
import { batchOf, CASES_PER_BATCH, runBatch, type Failure } from "./run-batch.ts";

const HELP = `Usage: npm run fuzz -- [options]

Sends random requests to in-process servers and checks the invariants of every response.

  --cases <n>     number of cases (default 100000)
  --minutes <n>   stop after this many minutes; without --cases, the number of cases is then unlimited
  --seed <n>      seed of the random cases (default 1)
  --case <n>      run only this case: alone and, if it passes, after the earlier cases of its batch; print its exchanges if it fails
  --jobs <n>      number of threads (default: number of CPU cores)
`;

interface Options {
  readonly seed: number;
  readonly cases: number;
  readonly minutes: number | undefined;
  readonly only: number | undefined;
  readonly jobs: number;
}

function readOptions(argv: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      cases: { type: "string" },
      minutes: { type: "string" },
      seed: { type: "string", default: "1" },
      case: { type: "string" },
      jobs: { type: "string", default: String(availableParallelism()) },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return undefined;
  const minutes = values.minutes === undefined ? undefined : wholeNumber("minutes", values.minutes);
  const cases = values.cases ?? (minutes === undefined ? "100000" : "2000000000");
  return {
    seed: wholeNumber("seed", values.seed),
    cases: wholeNumber("cases", cases),
    minutes,
    only: values.case === undefined ? undefined : wholeNumber("case", values.case),
    jobs: wholeNumber("jobs", values.jobs),
  };
}

function wholeNumber(name: string, text: string): number {
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : -1;
  if (number < (name === "case" ? 0 : 1) || number > 2_000_000_000)
    throw new Error(`--${name} must be a whole number, not ${text}`);
  return number;
}

/** Runs the case alone and, if it passes, after the cases that share its server. */
async function repeat(seed: number, only: number): Promise<number> {
  const start = batchOf(only) * CASES_PER_BATCH;
  for (const first of new Set([only, start])) {
    const failures: Failure[] = [];
    const onFailure = (failure: Failure): void => {
      if (failure.fuzzCase.number === only) failures.push(failure);
    };
    await runBatch({ seed, first, end: only + 1, stopwatch: () => performance.now(), onFailure });
    for (const failure of failures) {
      console.log(failure.report.exchanges.map(describeExchange).join("\n"));
      console.log(`\n${describeFailure(failure)}`);
    }
    if (failures.length > 0) return failures.length;
    console.log(first === only ? "the case passes alone" : `the case passes after ${only - start} others`);
  }
  return 0;
}

async function main(argv: readonly string[]): Promise<number> {
  const options = readOptions(argv);
  if (options === undefined) {
    process.stdout.write(HELP);
    return 0;
  }
  const { seed, cases, minutes, only, jobs } = options;
  if (only !== undefined) return (await repeat(seed, only)) === 0 ? 0 : 1;
  console.log(`seed ${seed}, ${jobs} threads`);
  const failures = await fuzz({ seed, cases, minutes, jobs, print: (line) => console.log(line) });
  return failures === 0 ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  console.error(thrown instanceof Error ? thrown.message : String(thrown));
  process.exitCode = 2;
}
