/** A thread that runs batches, so that the main thread can detect that a case hangs. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { isKnown } from "./known-findings.ts";
import { runBatch, type BatchStats } from "./run-batch.ts";
import { describeFailure, repeatCommand, signatureOf } from "./report.ts";

export interface WorkerData {
  readonly seed: number;
  /** Shared with the main thread: the number of the running case, and whether to stop. */
  readonly shared: SharedArrayBuffer;
}

export const CASE_SLOT = 0;
export const STOP_SLOT = 1;

export interface Task {
  readonly first: number;
  readonly end: number;
  /** True to measure the heap after a garbage collection. */
  readonly isHeapMeasured: boolean;
}

export type Message =
  | { readonly kind: "failure"; readonly signature: string; readonly text: string }
  | { readonly kind: "known" }
  | {
      readonly kind: "done";
      readonly stats: BatchStats;
      readonly heapBytes: number | undefined;
      readonly cpuMs: number;
    };

function liveHeapBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Runs only in a worker thread: the main thread imports this file for its types. */
if (parentPort !== null) {
  const port = parentPort;
  const { seed, shared } = workerData as WorkerData;
  const slots = new Int32Array(shared);
  const say = (message: Message): void => port.postMessage(message);
  const onRejection = (reason: unknown): void => {
    const what = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    const caseNumber = Atomics.load(slots, CASE_SLOT);
    const text = `seed ${seed}, case ${caseNumber} or before: ${what}\n  again: ${repeatCommand(seed, caseNumber)}`;
    say({ kind: "failure", signature: `every promise rejection is handled (${what.split("\n")[0]})`, text });
  };
  process.on("unhandledRejection", onRejection);
  const play = async ({ first, end, isHeapMeasured }: Task): Promise<void> => {
    const cpuBefore = process.threadCpuUsage();
    const stats = await runBatch({
      ...{ seed, first, end, stopwatch: () => performance.now() },
      onCase: (number) => void Atomics.store(slots, CASE_SLOT, number),
      onFailure: (failure) =>
        say(
          isKnown(failure)
            ? { kind: "known" }
            : { kind: "failure", signature: signatureOf(failure), text: describeFailure(failure) },
        ),
      shouldStop: () => Atomics.load(slots, STOP_SLOT) === 1,
    });
    const { user, system } = process.threadCpuUsage(cpuBefore);
    const heapBytes = isHeapMeasured ? liveHeapBytes() : undefined;
    say({ kind: "done", stats, heapBytes, cpuMs: (user + system) / 1_000 });
  };
  port.on("message", (task: Task) => {
    void play(task).catch(onRejection);
  });
}
