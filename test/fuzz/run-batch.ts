/** Runs the cases of a batch one after another on one server. A batch with the same seed has the same result. */
import { broken, checkResponse, shown } from "./response-checks.ts";
import { makeCase, type FuzzCase } from "./cases.ts";
import { runCase, type CaseReport, type Exchange } from "./run-case.ts";
import { openSubject, type Stopwatch, type Subject } from "./subject.ts";

export const CASES_PER_BATCH = 2_000;
/**
 * The releases of consecutive batches. Half of the batches use 1.36, the default release, because most new code is for
 * it.
 */
const RELEASES: readonly string[] = ["1.36", "1.31", "1.36", "1.28"];
/**
 * Virtual time that passes after every CASES_BETWEEN cases, so that a batch includes lease renewals, compactions and
 * event expiry.
 */
const PASSING_MS = 5_000;
const CASES_BETWEEN = 20;

export interface Failure {
  readonly seed: number;
  readonly release: string;
  readonly fuzzCase: FuzzCase;
  readonly report: CaseReport;
}

export interface Slowest {
  readonly ms: number;
  readonly caseNumber: number;
}

export interface BatchStats {
  readonly cases: number;
  readonly requests: number;
  /**
   * Number of attacks by response status; 0 counts cases without an attack, because the server rejected every body of
   * the victim.
   */
  readonly statuses: ReadonlyMap<number, number>;
  /** Kinds whose sample object the server rejects, with the reason. */
  readonly rejectedSamples: ReadonlyMap<string, string>;
  readonly slowest: Slowest;
}

export interface BatchOptions {
  readonly seed: number;
  /** Number of the first case, counted from 0. */
  readonly first: number;
  /** Number after the last case. All cases must belong to the same batch. */
  readonly end: number;
  readonly stopwatch: Stopwatch;
  readonly onCase?: (number: number) => void;
  readonly onFailure: (failure: Failure) => void;
  readonly shouldStop?: () => boolean;
  /** Opens the server under test. Tests of the checks replace it by a server with a bug. */
  readonly open?: typeof openSubject;
}

export function batchOf(caseNumber: number): number {
  return Math.floor(caseNumber / CASES_PER_BATCH);
}

export function releaseOf(caseNumber: number): string {
  return RELEASES[batchOf(caseNumber) % RELEASES.length]!;
}

export async function runBatch(options: BatchOptions): Promise<BatchStats> {
  const { seed, first, end, stopwatch, open = openSubject } = options;
  const release = releaseOf(first);
  await using subject = await open({ release, seed: seed * 1_000 + batchOf(first), stopwatch });
  const tally = new Tally();
  let number = first;
  for (; number < end && options.shouldStop?.() !== true; number++) {
    options.onCase?.(number);
    const fuzzCase = makeCase({ seed, number, targets: subject.targets, schemas: subject.schemas });
    const report = await runCase(subject, fuzzCase);
    tally.add(fuzzCase, report);
    if (report.findings.length > 0) options.onFailure({ seed, release, fuzzCase, report });
    if (number % CASES_BETWEEN === 0) await subject.pass(PASSING_MS);
  }
  if (number > first) await checkCollections(subject, { ...options, release, last: number - 1 });
  return tally.stats();
}

class Tally {
  #cases = 0;
  #requests = 0;
  #slowest: Slowest = { ms: 0, caseNumber: 0 };
  readonly #statuses = new Map<number, number>();
  readonly #refusedSamples = new Map<string, string>();

  add({ number, target, victims }: FuzzCase, { exchanges, status = 0 }: CaseReport): void {
    this.#cases++;
    this.#requests += exchanges.length;
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
    for (const { answer } of exchanges)
      if (answer.ms > this.#slowest.ms) this.#slowest = { ms: answer.ms, caseNumber: number };
    const last: Exchange | undefined = exchanges.at(-1);
    if (status === 0 && victims.length > 0 && last !== undefined)
      this.#refusedSamples.set(`${target.apiVersion} ${target.kind}`, last.answer.text);
  }

  stats(): BatchStats {
    return {
      ...{ cases: this.#cases, requests: this.#requests, slowest: this.#slowest },
      ...{ statuses: this.#statuses, rejectedSamples: this.#refusedSamples },
    };
  }
}

interface Ending extends Pick<BatchOptions, "seed" | "onFailure"> {
  readonly release: string;
  readonly last: number;
}

/** Lists and watches every resource at the end of a batch, with all objects that the cases left behind. */
async function checkCollections(subject: Subject, { seed, release, last, onFailure }: Ending): Promise<void> {
  const { targets, schemas } = subject;
  for (const target of targets.all.filter(({ verbs }) => verbs.includes("watch"))) {
    for (const query of ["", "?watch=1&resourceVersion=0"]) {
      const request = { method: "GET", target: listPath(target) + query, headers: {} };
      const response = await subject.call(request);
      if (response.status === 200 && checkResponse(request, response).length === 0) continue;
      const findings = [broken("collections can be listed and watched", shown(response))];
      const fuzzCase = { ...makeCase({ seed, number: last, targets, schemas }), target, request };
      onFailure({
        seed,
        release,
        fuzzCase,
        report: { findings, exchanges: [{ request, answer: response }], status: response.status },
      });
    }
  }
}

function listPath({ group, version, resource }: FuzzCase["target"]): string {
  return group === "" ? `/api/${version}/${resource}` : `/apis/${group}/${version}/${resource}`;
}
