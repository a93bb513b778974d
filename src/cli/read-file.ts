import { readFileSync } from "node:fs";
import { CommandFailure } from "./failure.ts";

export function readFile(file: string, what: string): string {
  return asUsable(() => readFileSync(file, "utf8"), `the ${what} ${file} cannot be read`);
}

/** What goes wrong ends the command with the sentence and the reason. */
export function asUsable<T>(work: () => T, sentence: string): T {
  try {
    return work();
  } catch (thrown) {
    throw new CommandFailure(`${sentence}: ${thrown instanceof Error ? thrown.message : String(thrown)}`, 1);
  }
}
