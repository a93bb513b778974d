/** Decides from findings whether a command fails, so that `inspect`, `check` and `rehearse` fail for the same reasons. */
import { EXIT_CLEAN, EXIT_FINDINGS, type UpgradeFinding, type Severity } from "../finding.ts";

/** The most severe first. */
export const SEVERITIES: readonly Severity[] = ["error", "warning", "info"];

/** Removes the findings whose ID the user has passed to --ignore. */
export function withoutIgnored(
  findings: readonly UpgradeFinding[],
  ignored: readonly string[],
): readonly UpgradeFinding[] {
  const ids = new Set(ignored);
  return findings.filter(({ id }) => !ids.has(id));
}

/** The IDs passed to --ignore that no finding has. They may be misspelled, or the problem may be fixed. */
export function unmatchedIds(findings: readonly UpgradeFinding[], ignored: readonly string[]): readonly string[] {
  const ids = new Set(findings.map(({ id }) => id));
  return ignored.filter((id) => !ids.has(id));
}

/** EXIT_FINDINGS if any finding is at least as severe as `failOn`. */
export function exitCodeOf(
  findings: readonly UpgradeFinding[],
  failOn: Severity = "error",
): typeof EXIT_CLEAN | typeof EXIT_FINDINGS {
  const failing = new Set(SEVERITIES.slice(0, SEVERITIES.indexOf(failOn) + 1));
  return findings.some(({ severity }) => failing.has(severity)) ? EXIT_FINDINGS : EXIT_CLEAN;
}

/** The most severe findings first; findings of one severity keep their order. */
export function bySeverity(findings: readonly UpgradeFinding[]): readonly UpgradeFinding[] {
  return findings.toSorted((left, right) => SEVERITIES.indexOf(left.severity) - SEVERITIES.indexOf(right.severity));
}
