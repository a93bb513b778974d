/**
 * Reads and writes the results of runs: one file per commit, with separate files for a changed working tree and for
 * runs at a smaller scale.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "./report.ts";

export interface StoredResult {
  readonly file: string;
  readonly result: Result;
}

/** Undefined if the file is not a result. */
export function readResult(file: string): StoredResult | undefined {
  try {
    const result = JSON.parse(readFileSync(file, "utf8")) as Result;
    return Array.isArray(result.rows) && typeof result.date === "string" ? { file, result } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * The result with the newest recorded date; undefined if there is none. Only results with the same `scale` are
 * considered.
 */
export function newestResult(directory: string, scale: number): StoredResult | undefined {
  if (!existsSync(directory)) return undefined;
  const results = readdirSync(directory)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => readResult(join(directory, name)) ?? []);
  return results
    .filter(({ result }) => result.scale === scale)
    .sort((left, right) => left.result.date.localeCompare(right.result.date))
    .at(-1);
}

export function writeResult(directory: string, result: Result): string {
  const name = `${result.commit}${result.changed ? "-changed" : ""}${result.scale === 1 ? "" : "-quick"}.json`;
  return writeText(directory, name, `${JSON.stringify(result, null, 2)}\n`);
}

export function writeText(directory: string, name: string, text: string): string {
  mkdirSync(directory, { recursive: true });
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}
