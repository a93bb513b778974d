/** Runs many batches of cases in threads, and prints progress, speed and failures. */
import { Worker } from "node:worker_threads";
import { CASES_PER_BATCH, type BatchStats, type Slowest } from "./run-batch.ts";
import { count, repeatCommand } from "./report.ts";
import { CASE_SLOT, STOP_SLOT, type Message, type Task, type WorkerData } from "./worker.ts";

export interface FuzzOptions {
  readonly seed: number;
  readonly cases: number;
  readonly minutes: number | undefined;
  readonly jobs: number;
  readonly print: (line: string) => void;
}

/** Maximum time of a response; generous, so that no response fails because the machine is loaded. */
const RESPONSE_MS_MAX = 10_000;
const CASE_MS_MAX = 60_000;
const HEAP_GROWTH_BYTES_MAX = 100 * 1024 * 1024;
const PROGRESS_MS = 5_000;
/** Number of batches after which servers of every release have run and all code is compiled. */
const WARM_BATCHES = 8;
const SHOWN_PER_SIGNATURE = 2;
const SHOWN_MAX = 60;

/** Runs the cases and resolves to the number of failures. */
export async function fuzz(options: FuzzOptions): Promise<number> {
  const run = new Run(options);
  await Promise.all(Array.from({ length: options.jobs }, () => run.work()));
  return run.finish();
}

class Run {
  readonly #options: FuzzOptions;
  readonly #startedAt = performance.now();
  readonly #failures = new Map<string, number>();
  readonly #statuses = new Map<number, number>();
  readonly #refused = new Map<string, string>();
  #nextCase = 0;
  #cases = 0;
  #requests = 0;
  #known = 0;
  #cpuMs = 0;
  #slowest: Slowest = { ms: 0, caseNumber: 0 };
  #saidAt = performance.now();

  constructor(options: FuzzOptions) {
    this.#options = options;
  }

  /** Runs batches in a thread until all cases are done. If the thread hangs or crashes, another thread continues. */
  async work(): Promise<void> {
    while (this.#hasMore()) await this.#runThread();
  }

  #hasMore(): boolean {
    return this.#nextCase < this.#options.cases && !this.#isOver();
  }

  #isOver(): boolean {
    const { minutes } = this.#options;
    return minutes !== undefined && performance.now() - this.#startedAt >= minutes * 60_000;
  }

  async #runThread(): Promise<void> {
    const shared = new SharedArrayBuffer(8);
    const data: WorkerData = { seed: this.#options.seed, shared };
    const worker = new Worker(new URL("./worker.ts", import.meta.url), { workerData: data });
    const heap = new HeapRecord();
    const slots = new Int32Array(shared);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    let batches = 0;
    const next = (): void => {
      if (!this.#hasMore()) return end();
      worker.postMessage(this.#takeTask(batches++), []);
    };
    worker.on("message", (message: Message) => {
      if (message.kind === "failure") return this.#addFailure(message);
      if (message.kind === "known") return void this.#known++;
      this.#add(message.stats, message.cpuMs);
      heap.add(message.heapBytes, batches);
      next();
    });
    worker.on("error", (error: Error) => {
      this.#addFailure({ signature: `the process does not crash (${error.message})`, text: String(error.stack) });
      end();
    });
    const watchdog = this.#watch(slots, end);
    next();
    await ended;
    clearInterval(watchdog);
    await worker.terminate();
    const growth = heap.growth();
    if (growth > HEAP_GROWTH_BYTES_MAX)
      this.#addFailure({ signature: "memory does not grow", text: `the heap grew by ${count(growth / 1024)} KiB` });
    if (growth !== 0) this.#options.print(`heap after a garbage collection: ${heap.describe()}`);
  }

  #takeTask(batches: number): Task {
    const first = this.#nextCase;
    const end = Math.min(first + CASES_PER_BATCH, this.#options.cases);
    this.#nextCase = end;
    return { first, end, isHeapMeasured: batches >= WARM_BATCHES && batches % WARM_BATCHES === 0 };
  }

  /** Monitors a thread from outside, because a thread that hangs cannot report anything. */
  #watch(slots: Int32Array, end: () => void): NodeJS.Timeout {
    let seen = -1;
    let since = performance.now();
    return setInterval(() => {
      this.#sayHowFar();
      if (this.#isOver()) Atomics.store(slots, STOP_SLOT, 1);
      const current = Atomics.load(slots, CASE_SLOT);
      if (current !== seen) [seen, since] = [current, performance.now()];
      if (performance.now() - since < CASE_MS_MAX) return;
      const text = `case ${current} hangs\n  again: ${repeatCommand(this.#options.seed, current)}`;
      this.#addFailure({ signature: "every case finishes", text });
      end();
    }, 500);
  }

  #add(stats: BatchStats, cpuMs: number): void {
    this.#cases += stats.cases;
    this.#requests += stats.requests;
    this.#cpuMs += cpuMs;
    for (const [status, times] of stats.statuses) this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + times);
    for (const [kind, text] of stats.rejectedSamples) this.#refused.set(kind, text);
    if (stats.slowest.ms > this.#slowest.ms) this.#slowest = stats.slowest;
    if (stats.slowest.ms > RESPONSE_MS_MAX) {
      const { caseNumber, ms } = stats.slowest;
      const text = `${ms.toFixed(0)} ms in case ${caseNumber}\n  again: ${repeatCommand(this.#options.seed, caseNumber)}`;
      this.#addFailure({ signature: "every request gets a response in time", text });
    }
  }

  #addFailure({ signature, text }: { readonly signature: string; readonly text: string }): void {
    const times = (this.#failures.get(signature) ?? 0) + 1;
    this.#failures.set(signature, times);
    if (times <= SHOWN_PER_SIGNATURE && this.#failures.size <= SHOWN_MAX) this.#options.print(`\n${text}\n`);
  }

  #failureCount(): number {
    return [...this.#failures.values()].reduce((sum, times) => sum + times, 0);
  }

  #sayHowFar(): void {
    if (performance.now() - this.#saidAt < PROGRESS_MS) return;
    this.#saidAt = performance.now();
    const { cases, minutes } = this.#options;
    const of = minutes === undefined ? ` of ${count(cases)}` : "";
    this.#options.print(`${count(this.#cases)}${of} cases, ${this.#pace()}, ${count(this.#failureCount())} failed`);
  }

  #pace(): string {
    const perSecond = this.#cases / ((performance.now() - this.#startedAt) / 1_000);
    return `${count(perSecond)} per second, ${count(this.#cases / (this.#cpuMs / 1_000 || 1))} per second of CPU`;
  }

  finish(): number {
    const { print, seed } = this.#options;
    const { ms, caseNumber } = this.#slowest;
    const statuses = [...this.#statuses].sort(([left], [right]) => left - right);
    print(
      `responses to attacks: ${statuses.map(([status, times]) => `${status || "none"} ${count(times)}`).join(", ")}`,
    );
    for (const [kind, text] of this.#refused) print(`sample rejected: ${kind} ${text.slice(0, 400)}`);
    for (const [signature, times] of [...this.#failures].sort(([, left], [, right]) => right - left))
      print(`failed ${count(times)} times: ${signature}`);
    if (this.#known > 0) print(`known findings, not counted: ${count(this.#known)}, see test/fuzz/known-findings.ts`);
    print(`slowest response: ${ms.toFixed(0)} ms, in case ${caseNumber}`);
    const failures = this.#failureCount();
    print(
      `seed ${seed}: ${count(this.#cases)} cases, ${count(this.#requests)} requests, ${this.#pace()}, ${count(failures)} failed`,
    );
    return failures;
  }
}

/** Heap sizes after garbage collections: the first one after warm-up, and the last one. */
class HeapRecord {
  #first: number | undefined;
  #last: number | undefined;
  #batches = 0;

  add(bytes: number | undefined, batches: number): void {
    if (bytes === undefined) return;
    this.#first ??= bytes;
    this.#last = bytes;
    this.#batches = batches;
  }

  growth(): number {
    return (this.#last ?? 0) - (this.#first ?? 0);
  }

  describe(): string {
    const mebibytes = (bytes = 0): string => `${count(bytes / 1024 / 1024)} MiB`;
    return `${mebibytes(this.#first)} when warm, ${mebibytes(this.#last)} after ${this.#batches} batches`;
  }
}
