/** Runs a program to its end, and measures it from its first instruction to its last. */
import { fileURLToPath } from "node:url";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { Readable } from "node:stream";
import { Child } from "../child.ts";

export interface Usage {
  /** Of all threads, user and system. */
  readonly cpuMs: number;
  readonly peakMb: number;
}

export interface MeasuredRun extends Usage {
  readonly wallMs: number;
}

const REPORTER = new URL("usage-reporter.ts", import.meta.url).href;

/** Rejects if the program does not exit with one of the given codes. Its standard output is discarded. */
export async function runMeasured(args: readonly string[], exitCodes: readonly number[] = [0]): Promise<MeasuredRun> {
  const startedMs = performance.now();
  const child = new Child({
    command: [process.execPath, "--import", REPORTER, ...args],
    stdio: ["ignore", "ignore", "inherit", "pipe"],
  });
  const exited = once(child.process, "exit");
  const usage = text(child.process.stdio[3] as Readable);
  const [code] = (await exited) as [number | null];
  const wallMs = performance.now() - startedMs;
  if (code === null || !exitCodes.includes(code)) throw new Error(`${args.join(" ")} exited with ${code}`);
  return { ...(JSON.parse(await usage) as Usage), wallMs };
}

export function entry(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
