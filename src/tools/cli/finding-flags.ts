/** The flags of the commands that report findings, so that --ignore, --fail-on and -o mean the same everywhere. */
import { Option, type Command } from "commander";
import type { Severity, UpgradeFinding } from "../upgrade/finding.ts";
import { SEVERITIES, unmatchedIds } from "../upgrade/report/failing.ts";
import { commaList } from "./flags.ts";

export interface FindingFlags {
  readonly ignore?: readonly string[];
  readonly failOn: Severity;
  readonly output: "text" | "json";
}

export function withFindingFlags(command: Command): Command {
  return command
    .option("--ignore <ids>", "IDs of findings to ignore, as the report shows them in brackets", commaList)
    .addOption(
      new Option("--fail-on <severity>", "least severity of a finding that makes the exit code 1")
        .choices(SEVERITIES)
        .default("error"),
    )
    .addOption(new Option("-o, --output <format>", "output format").choices(["text", "json"]).default("text"));
}

/** An ID without a finding has no effect, which a user who misspelled it would not notice. */
export function noteUnmatchedIds(findings: readonly UpgradeFinding[], ignored: readonly string[]): void {
  const ids = unmatchedIds(findings, ignored);
  if (ids.length > 0) process.stderr.write(`evenkeel: --ignore has no effect for ${ids.join(", ")}: no such finding\n`);
}
